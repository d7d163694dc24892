"""What waits until the dirty pages of a section are built: merges, plans, the guard."""

from __future__ import annotations

from django_sitemaps_plus.models import Hold, Page, Section, State
from django_sitemaps_plus.section import OpenSection
from django_sitemaps_plus.tracking.deploys import is_of_other_code

from .flip import take_new_changes
from .guard import forget_peak, judge, plan_reason
from .plan.merge import merge_small
from .plan.replan import begin_replan, finish_replan, next_plan
from .state import Build


def settle(build: Build, section: OpenSection) -> bool:
    """Decide what waits for all pages of a section; return if some are dirty again."""
    row, is_stale = section.row, section.name in build.stale
    if not (build.small or is_stale or Section.objects.unsettled(section=row.pk)):
        return False
    row.refresh_from_db()
    if is_of_other_code(row, build.fingerprints):
        return False  # the process that builds its last page decides
    is_dirty = False
    if build.small and not row.pages.filter(state=State.NEXT).exists():
        is_dirty = merge_small(section, build.small)
    if not build.waits:  # another process may build the last page, and decide
        is_being_built = Page.objects.is_being_built([row.pk])
        if is_being_built or row.pages.claimable().exists():
            return is_dirty
    return _decide(build, section) or is_dirty


def _decide(build: Build, section: OpenSection) -> bool:
    """Put the next plan in force, or replace a stale one; then judge what is held."""
    row = section.row
    plan, reason, is_dirty = next_plan(row), "", False
    may_shrink = build.allow_shrink or row.may_shrink
    if may_shrink:
        forget_peak(row)
    elif plan:
        reason = plan_reason(row, plan)
    if plan and not reason:
        take_new_changes(row, section)
        is_dirty = finish_replan(section)
    elif section.name in build.stale and not plan:
        is_dirty = begin_replan(section, is_broken=True)
    build.stale.discard(section.name)
    held = row.pages.filter(state=State.ACTIVE, hold=Hold.HELD)
    if row.hold_reason or reason or held.exists():
        judge(row, allow_shrink=may_shrink, of_plan=reason)
        is_dirty |= not row.hold_reason
    return is_dirty
