"""Settling: decide, once pages are built, about the guard, merges, plans, audits."""

from __future__ import annotations

import logging
from collections.abc import Collection
from contextlib import suppress

from django.db.models import F

from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.exceptions import LostObjectError, StoreError
from django_sitemaps_plus.models import Hold, Page, Section, State
from django_sitemaps_plus.models.pages import damaged_pages, forget_damaged
from django_sitemaps_plus.section import OpenSection
from django_sitemaps_plus.storage import delete_object, read_object
from django_sitemaps_plus.tracking.schedule import AUDIT_PAGES, early_pages, end_grace

from .flip import take_new_changes
from .guard import WELL, forget_peak, judge, plan_reason
from .plan.merge import merge_small
from .plan.replan import begin_replan, finish_replan, next_plan
from .state import Build

logger = logging.getLogger(__name__)


def settle(build: Build, section: OpenSection) -> bool:
    """Decide what waits for all pages of a section; return if some are dirty again."""
    row = section.row
    if not (section.name in build.reports or row.has_next or row.hold_reason):
        return False
    is_stale, is_dirty = section.name in build.stale, False
    with build.attempt(section):
        if not (build.small or is_stale or Section.objects.unsettled(section=row.pk)):
            return False
        row.refresh_from_db()
        if build.is_of_others(row):
            return False  # the process that builds its last page decides
        if build.small and not row.pages.filter(state=State.NEXT).exists():
            is_dirty = merge_small(section, build.small)
        if not build.waits:  # another process may build the last page, and decide
            is_being_built = Page.objects.is_being_built([row.pk])
            if is_being_built or row.pages.claimable().exists():
                return is_dirty
        is_dirty |= _decide(build, section)
    return is_dirty


def _decide(build: Build, section: OpenSection) -> bool:
    """Put the next plan in force, or replace a stale one; then judge what is held."""
    row = section.row
    plan, reason, is_dirty = next_plan(row), WELL, False
    may_shrink = build.allow_shrink or row.may_shrink
    if may_shrink:
        forget_peak(row)
    elif plan:
        reason = plan_reason(row, plan)
    if plan and not reason.words:
        take_new_changes(section)
        is_dirty = finish_replan(section)
    elif section.name in build.stale and not plan:
        is_dirty = begin_replan(section, is_broken=True)
    build.stale.discard(section.name)
    held = row.pages.filter(state=State.ACTIVE, hold=Hold.HELD)
    if row.hold_reason or reason.words or held.exists():
        judge(row, allow_shrink=may_shrink, of_plan=reason)
        is_dirty |= not row.hold_reason
    return is_dirty


def mark_unchecked(sections: Collection[Section]) -> bool:
    """Make pages dirty that were not compared for long; return if there were any.

    Large sections that are new, or were deployed of late, come first.
    """
    pages: dict[int, int] = {}  # and their sections
    for section in sections:  # those whose grace ends are compared once more
        if (early := early_pages(section)) is None:
            continue
        rows = early.exclude(is_dirty=1).order_by("checked_at")[:AUDIT_PAGES]
        if pages := dict(rows.values_list("pk", "section_id")):
            break
        end_grace(section)
    if not pages:
        ids = tuple([section.pk for section in sections])
        age = get_settings().audit_interval_seconds
        pages = dict(Page.objects.unchecked(ids, age, AUDIT_PAGES))
    if pages:
        marked = Page.objects.filter(pk__in=pages)
        marked.update_locked(pages.values(), wanted=F("wanted") + 1)
    return bool(pages)


def mark_damaged(*, forgets: bool = True) -> None:
    """Make the pages dirty whose objects views have found damaged or missing.

    A process that does not build them itself goes on to know which they are, and
    leaves those that are dirty by now.
    """
    noted = damaged_pages()
    if not noted:
        return
    damaged = []
    for page in noted:
        if not page.object or (not forgets and page.wanted > page.built):
            continue
        try:
            read_object(page.object, page.gzip_hash)
        except LostObjectError as error:
            logger.error("%s is stored again: %s", page, error)
            with suppress(StoreError):
                delete_object(page.object)  # else its name would pass for a good one
        except StoreError as error:
            logger.error("%s is stored again, if it is gone: %s", page, error)
        else:
            continue
        damaged.append(page)
    rows = Page.objects.filter(pk__in=[page.pk for page in damaged])
    rows.update_locked([page.section_id for page in damaged], wanted=F("wanted") + 1)
    if forgets:
        forget_damaged()
