"""A build: detect changes, render dirty pages, publish them and the index."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

from django.db import Error
from django.db.models import F
from django.utils import timezone

from django_sitemaps_plus.conf import get_settings, get_site
from django_sitemaps_plus.exceptions import BuildError, StoreError
from django_sitemaps_plus.models import INDEX, Page
from django_sitemaps_plus.models.claims import BATCH_PAGES, UNTRIED
from django_sitemaps_plus.models.sections import is_well, take_namespace, take_origin
from django_sitemaps_plus.models.transactions import as_django_errors
from django_sitemaps_plus.outages import in_one_line
from django_sitemaps_plus.publishing import sync
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.section import OpenSection, open_section
from django_sitemaps_plus.signals import build_finished
from django_sitemaps_plus.sites import in_force
from django_sitemaps_plus.storage import get_storage
from django_sitemaps_plus.tracking import deploys
from django_sitemaps_plus.tracking.schedule import notice

from .guard import is_peak_old, look_again, note_peak
from .index import may_publish_index, note_failure, note_missing
from .plan.replan import begin_replan, plan_section, renew_plan
from .pool import reason_against
from .report import BuildReport, index_problems
from .settle import mark_damaged, mark_unchecked, settle
from .state import Build
from .worker import help_with, work

logger = logging.getLogger(__name__)

#: How often one build renders what its own decisions (the guard's, merges) made dirty.
MAX_ROUNDS = 5


def build(names: Iterable[str] = (), **options: Any) -> BuildReport:
    """Bring pages of the site up to date; the options are attributes of Build.

    Raises:
        NotRegistered: a section that does not exist.
        ConfigurationError: no origin, or not that of what is stored; or no storage.
        BuildError: the storage or the database failed. Published pages stay.
    """
    site = get_site()
    with in_force(site):
        registry.must_be_whole()
        names = list(names) or list(registry)
        for name in names:
            registry.get(name)
        get_storage()
        try:
            with as_django_errors():
                report = _run(Build(names=names, site=site, **options))
        except StoreError as error:
            note_failure(error)
            raise
        except Error as error:  # InterfaceError is no DatabaseError
            is_well()  # it closes a connection that broke: the next build opens another
            raise BuildError(f"the database failed: {in_one_line(error)}") from error
        build_finished.send_robust(sender=BuildReport, report=report)
        numbers, extra = (len(names), report.seconds), {"action": "build_finished"}
        logger.info("Built %s section(s) in %.1f s", *numbers, extra=extra)
        return report


def _run(state: Build) -> BuildReport:
    """Notice changes, build pages and publish the index."""
    planned = _begin(state)
    sections = [it for it in planned if not state.is_left(it)]
    if state.call_help is not None:
        pages = Page.objects.claimable().filter(section__in=[it.row for it in sections])
        if (total := pages.count()) > BATCH_PAGES:
            state.call_help([it.name for it in sections], total)

    _build(state, sections)
    if state.audits:
        _audit(state, sections)
    missing = note_missing()
    indexes = _publish_index(state)
    if indexes is not None and sync.look_after(
        state.site, indexes, was_behind=bool(state.was_behind)
    ):
        _build(state, sections)
        indexes = _publish_index(state)
        sync.repair(state.site)  # an index that was hidden has its name again

    return _report(state, planned, indexes, missing)


def _begin(state: Build) -> list[OpenSection]:
    """Open the sections that have a plan, or get one, and mark what has changed."""
    take_origin(has_moved=state.move_origin)
    planned = []
    for name in state.names:
        section = open_section(name)
        with state.attempt(section):
            plan_section(section)
            planned.append(section)
            state.opened[section.row.pk] = section
    if state.waits:
        state.since = min([it.row.now for it in planned], default=None)
    if state.new_namespace or not all([it.row.namespace for it in planned]):
        take_namespace(state.new_namespace)
    if not state.notices:
        return planned

    for section in planned:
        with state.attempt(section):
            _prepare(state, section)
    mark_damaged()
    if state.full or state.new_namespace:
        index_pages = Page.objects.of(state.site.name, INDEX)
        index_pages.update(wanted=F("wanted") + 1, **UNTRIED)
    return planned


def _prepare(state: Build, section: OpenSection) -> None:
    """Mark what has changed in a section, and have it looked at anew if it is held."""
    row, current = section.row, deploys.fingerprint(section)
    state.fingerprints[row.pk] = current
    is_forced = state.full or state.move_origin
    if not is_forced and deploys.is_replaced(row, current):
        state.leave(section.name)
        return
    if renew_plan(section, current):
        return  # changes are located in the next plan
    notice(section)
    if state.replan:
        begin_replan(section)
    if row.hold_reason:
        look_again(row, at_once=state.waits)
    if state.full or state.new_namespace:
        pages = row.pages.planned()
        pages.update_locked([row.pk], wanted=F("wanted") + 1, **UNTRIED)


def _build(state: Build, sections: list[OpenSection]) -> None:
    for _ in range(MAX_ROUNDS):
        _work(state, sections)
        if not any([settle(state, section) for section in sections]):
            return
    _work(state, sections)  # what merges of the last round have left dirty


def _work(state: Build, sections: list[OpenSection]) -> None:
    """Build the dirty pages, in local processes if asked for."""
    if state.progress is not None:
        for section in sections:
            known = state.reports.get(section.name)
            done = 0 if known is None else known.rendered
            state.expected[section.name] = done + section.row.pages.dirty().count()

    ids, helpers = [section.row.pk for section in sections], state.helpers
    if helpers is not None:
        pages = Page.objects.claimable(state.since).filter(section__in=ids)
        if len(pages.values_list("pk")[: BATCH_PAGES + 1]) <= BATCH_PAGES:
            helpers = None  # no more than this process takes at once
        elif reason := reason_against():
            extra = {"action": "help_refused"}
            logger.warning("One process builds, since %s", reason, extra=extra)
            helpers = None
    if helpers is None:
        work(state, ids)
        return

    # Helpers run the code that is on disk by now, so they look for themselves for
    # whom pages are marked. Only this process waits for others.
    elsewhere = replace(
        state,
        reports={},
        fingerprints={},
        opened={},
        helpers=None,
        progress=None,
        call_help=None,
        waits=False,
    )
    names = {section.row.pk: section.name for section in sections}
    _, *others = helpers.share(partial(help_with, names), state, elsewhere)
    for other in others:
        for name, report in other.reports.items():
            state.report(name).add(report)
        state.small |= other.small
        state.stale |= other.stale


def _audit(state: Build, sections: list[OpenSection]) -> None:
    """Compare the pages longest unchecked, for a bounded time."""
    end = time.monotonic() + get_settings().audit_budget_seconds
    # When the build is over, nothing that is marked would be built.
    while time.monotonic() < end and not state.is_over:
        # Leave out a section that was left, or would be as soon as it is built.
        sections = [
            section
            for section in sections
            if not state.is_left(section)
            and (state.notices or not state.is_of_others(section.row))
        ]
        if not mark_unchecked([section.row for section in sections]):
            break
        _build(state, sections)


def _publish_index(state: Build) -> list[Page] | None:
    """Publish the indexes; return their rows, None where it is too early."""
    pages: list[Page] = Page.objects.indexes(site=state.site.name)
    if state.audits:  # old indexes may be damaged
        age = timedelta(seconds=get_settings().audit_interval_seconds)
        since = timezone.now() - age
        old = [it.pk for it in pages if it.checked_at and it.checked_at < since]
        Page.objects.raise_wanted(False, pages=old)
        if old:
            pages = Page.objects.indexes(site=state.site.name)
    if any([page.wanted > page.built for page in pages]):
        if state.was_behind is None:  # other processes have built pages
            state.was_behind = True
        is_published = any([page.built for page in pages])
        if not is_published and not may_publish_index():
            return None
        take_origin(has_moved=False)  # it may have moved meanwhile
        # Also when the time is over: it lists what was published in time.
        work(replace(state, seconds=None), [pages[0].section_id])
        pages = Page.objects.indexes(site=state.site.name)
    return pages


def _report(
    state: Build,
    planned: list[OpenSection],
    indexes: list[Page] | None,
    missing: list[str],
) -> BuildReport:
    """Report what was done, and how the sections are now."""
    is_asked = state.waits or build_finished.has_listeners()
    for section in planned:
        row, report = section.row, state.report(section.name)
        report.hold_reason = row.hold_reason
        # A page that the guard holds at first is rendered again.
        report.problems = [*dict.fromkeys(report.problems)]
        if is_asked or report.rendered or is_peak_old(row):
            report.read_totals(row)
            if state.is_through:  # what builds of other sites mark is for the next
                report.dirty = 0
            note_peak(row, report.entries)
        if report.rendered:
            report.record()

    sections = [it for it in planned if state.is_over and not state.is_left(it)]
    return BuildReport(
        sections=[state.report(name) for name in state.names],
        index_pages=None if indexes is None else sum([i.entries for i in indexes]),
        index_errors=index_problems(indexes or ()),
        missing=missing,
        unfinished=[it.name for it in sections if it.row.pages.claimable().exists()],
        seconds=time.monotonic() - state.began,
    )
