"""What waits until the dirty pages of a section are built: merges, plans, the guard."""

from __future__ import annotations

from django_sitemaps_plus.models import Hold, Page, Section, State
from django_sitemaps_plus.tracking.deploys import is_of_other_code

from .flip import take_new_changes
from .guard import forget_peak, judge, plan_reason
from .plan.merge import merge_small
from .plan.replan import begin_replan, finish_replan, next_plan
from .state import Build


def settle(build: Build, section: Section) -> bool:
    """Decide what waits for all pages of a section; return if some are dirty again."""
    is_stale = section.name in build.stale
    if not (build.small or is_stale or Section.objects.unsettled(section=section.pk)):
        return False
    section.refresh_from_db()
    if is_of_other_code(section, build.site, build.fingerprints):
        return False  # the process that builds its last page decides
    is_dirty = False
    if build.small and not section.pages.filter(state=State.NEXT).exists():
        is_dirty = merge_small(section, build.site, build.small)
    if not build.waits:  # another process may build the last page, and decide
        is_being_built = Page.objects.is_being_built([section.pk])
        if is_being_built or section.pages.claimable().exists():
            return is_dirty
    return _decide(build, section) or is_dirty


def _decide(build: Build, section: Section) -> bool:
    """Put the next plan in force, or replace a stale one; then judge what is held."""
    plan, reason, is_dirty = next_plan(section), "", False
    may_shrink = build.allow_shrink or section.may_shrink
    if may_shrink:
        forget_peak(section)
    elif plan:
        reason = plan_reason(section, plan)
    if plan and not reason:
        take_new_changes(section, build.site)
        is_dirty = finish_replan(section, build.site)
    elif section.name in build.stale and not plan:
        is_dirty = begin_replan(section, build.site, is_broken=True)
    build.stale.discard(section.name)
    held = section.pages.filter(state=State.ACTIVE, hold=Hold.HELD)
    if section.hold_reason or reason or held.exists():
        judge(section, allow_shrink=may_shrink, of_plan=reason)
        is_dirty |= not section.hold_reason
    return is_dirty
