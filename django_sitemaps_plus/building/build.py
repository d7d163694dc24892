"""A build: detect changes, render dirty pages, publish them and the index."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

from django.db import Error
from django.db.models import F, Q
from django.utils import timezone

from django_sitemaps_plus.conf import get_settings, in_force
from django_sitemaps_plus.core.limits import LimitExceededError
from django_sitemaps_plus.exceptions import BuildError, StoreError
from django_sitemaps_plus.models import INDEX, Page, Section
from django_sitemaps_plus.models.base import as_django_errors, atomic
from django_sitemaps_plus.models.claims import BATCH_PAGES, UNTRIED
from django_sitemaps_plus.models.sections import is_well, take_namespace, take_origin
from django_sitemaps_plus.outages import in_one_line
from django_sitemaps_plus.planning import first_plan
from django_sitemaps_plus.publishing import sync
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.section import OpenSection, open_section
from django_sitemaps_plus.signals import build_finished
from django_sitemaps_plus.sites import get_site
from django_sitemaps_plus.storage import get_storage
from django_sitemaps_plus.tracking import deploys
from django_sitemaps_plus.tracking.schedule import notice

from .guard import held_because, is_peak_old, look_again, note_peak
from .index import may_publish_index, note_failure, note_missing
from .plan import replan
from .plan.split import split_ranges
from .pool import reason_against
from .report import DEADLY, BuildReport, SectionReport, index_problems
from .settle import mark_damaged, mark_unchecked, settle
from .state import Build
from .store import BuiltPage, build_page
from .worker import build_dirty_pages, help_with

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
        numbers = len(report.sections), report.seconds
        extra = {"action": "build_finished"}
        logger.info("Built %s section(s) in %.1f s", *numbers, extra=extra)
        return report


def _run(build: Build) -> BuildReport:
    """Notice changes, build pages and publish the index."""
    planned = _begin(build)
    sections = [it for it in planned if not build.is_left(it)]
    if build.call_help is not None:
        pages = Page.objects.claimable().filter(section__in=[it.row for it in sections])
        if (total := pages.count()) > BATCH_PAGES:
            build.call_help([it.name for it in sections], total)

    _build_rounds(build, sections)
    if build.audits:
        _audit(build, sections)
    missing = note_missing()
    indexes = _publish_index(build)
    # An index that is never built does not tell whether a builder was killed.
    was_behind = bool(build.was_behind) and indexes is not None
    if sync.look_after(indexes or (), was_behind=was_behind):
        # Objects were lost, and their pages are dirty.
        _build_rounds(build, sections)
        indexes = _publish_index(build)
        sync.repair()  # an index that was hidden has its name again

    return _report(build, planned, indexes, missing)


def _begin(build: Build) -> list[OpenSection]:
    """Open the sections that have a plan, or get one, and mark what has changed."""
    take_origin(has_moved=build.move_origin)
    planned = []
    for name in build.names:
        section = open_section(name)
        with build.attempt(section):
            if section.source.live is True:
                _leave_live(build, name)
                continue
            replan.plan_section(section)
            planned.append(section)
            build.opened[section.row.pk] = section
    build.names = [name for name in build.names if name not in build.live]
    if build.waits:
        build.since = min([it.row.now for it in planned], default=None)
    if build.new_namespace or not all([it.row.namespace for it in planned]):
        take_namespace(build.new_namespace)
    if not build.notices:
        return planned

    for section in planned:
        with build.attempt(section):
            _prepare(build, section)
    mark_damaged()
    if build.full or build.new_namespace:
        index_pages = Page.objects.of(build.site.name, INDEX)
        index_pages.update(wanted=F("wanted") + 1, **UNTRIED)
    return planned


def _leave_live(build: Build, name: str) -> None:
    """Leave out a section whose source is live, without pages and faults from before.

    Where it cannot be served live, its pages stay as they are, and the report says why.
    """
    is_known = Q(next_number__gt=1) | ~Q(fault="")
    if Section.objects.filter(is_known, site=build.site.name, name=name).exists():
        replan.serve_live([name])
        extra = {"action": "section_live"}
        logger.info("Section %s is rendered on request from now on", name, extra=extra)
    build.live.append(name)


def _prepare(build: Build, section: OpenSection) -> None:
    """Mark what has changed in a section, and have it looked at anew if it is held."""
    row, current = section.row, deploys.fingerprint(section)
    build.fingerprints[row.pk] = current
    is_forced = build.full or build.move_origin
    if not is_forced and deploys.is_replaced(row, current):
        build.leave(section.name)
        return
    if replan.renew_plan(section, current, looks=build.full or build.replan):
        return  # settle() or a later build takes changes: this plan is about to go
    notice(section)
    if build.replan:
        replan.begin_replan(section)
    if row.hold_reason:
        look_again(row, at_once=build.waits)
    if build.full or build.new_namespace:
        row.pages.planned().demand(row.pk)


def _build_rounds(build: Build, sections: list[OpenSection]) -> None:
    for _ in range(MAX_ROUNDS):
        _build_round(build, sections)
        are_dirty = [settle(build, section) for section in sections]  # each of them
        if not any(are_dirty):
            return
    # Merges, and pages that the guard let pass, have left pages dirty.
    _build_round(build, sections)


def _build_round(build: Build, sections: list[OpenSection]) -> None:
    """Build the dirty pages once, with helper processes where there are many."""
    if build.progress is not None:
        for section in sections:
            known = build.reports.get(section.name)
            done = 0 if known is None else known.rendered
            build.expected[section.name] = done + section.row.pages.dirty().count()

    ids, helpers = [section.row.pk for section in sections], build.helpers
    if helpers is not None:
        pages = Page.objects.claimable(build.since).filter(section__in=ids)
        if len(pages.values_list("pk")[: BATCH_PAGES + 1]) <= BATCH_PAGES:
            helpers = None  # no more than this process takes at once
        elif reason := reason_against():
            extra = {"action": "help_refused"}
            logger.warning("One process builds, since %s", reason, extra=extra)
            helpers = None
    if helpers is None:
        build_dirty_pages(build, ids)
        return

    # Helpers run the code that is on disk by now, so they look for themselves for
    # whom pages are marked. Only this process waits for others.
    elsewhere = replace(
        build,
        reports={},
        fingerprints={},
        opened={},
        helpers=None,
        progress=None,
        call_help=None,
        waits=False,
    )
    names = {section.row.pk: section.name for section in sections}
    # Our own work is in this build already.
    _, *others = helpers.share(partial(help_with, names), build, elsewhere)
    for other in others:
        for name, report in other.reports.items():
            build.report(name).add(report)
        build.small |= other.small
        build.stale |= other.stale


def _audit(build: Build, sections: list[OpenSection]) -> None:
    """Compare the pages longest unchecked, for a bounded time."""
    end = time.monotonic() + get_settings().audit_budget_seconds
    # When the build is over, nothing that is marked would be built.
    while time.monotonic() < end and not build.is_out_of_time:
        # Leave out a section that was left, or would be as soon as it is built.
        sections = [
            section
            for section in sections
            if not build.is_left(section)
            and (build.notices or not build.is_of_others(section.row))
        ]
        if not mark_unchecked([section.row for section in sections]):
            break
        _build_rounds(build, sections)


def _publish_index(build: Build) -> list[Page] | None:
    """Publish the indexes; return their rows.

    None where they are served live, or where it is too early.
    """
    pages: list[Page] = Page.objects.indexes(site=build.site.name)
    if registry.live():
        if any([it.built or it.error or it.attempts for it in pages]):
            replan.withdraw_indexes(build.site.name)
        return None
    if build.audits:  # old indexes may be damaged
        age = timedelta(seconds=get_settings().audit_interval_seconds)
        since = timezone.now() - age
        old = [it.pk for it in pages if it.checked_at and it.checked_at < since]
        Page.objects.raise_wanted(False, pages=old)  # by no edit: to be compared
        if old:
            pages = Page.objects.indexes(site=build.site.name)
    if any([page.wanted > page.built for page in pages]):
        if build.was_behind is None:  # other processes have built pages
            build.was_behind = True
        is_published = any([page.built for page in pages])
        if not is_published and not may_publish_index():
            return None
        take_origin(has_moved=False)  # it may have moved meanwhile
        # Also when the time is over: it lists what was published in time.
        build_dirty_pages(
            replace(build, seconds=None, ends=None), [pages[0].section_id]
        )
        pages = Page.objects.indexes(site=build.site.name)
    return pages


def _report(
    build: Build,
    planned: list[OpenSection],
    indexes: list[Page] | None,
    missing: list[str],
) -> BuildReport:
    """Report what was done, and how the sections are now."""
    is_asked = build.waits or build_finished.has_listeners()
    for section in planned:
        row, report = section.row, build.report(section.name)
        report.hold_reason = held_because(row)
        # A page that the guard holds at first is rendered again.
        report.problems = [*dict.fromkeys(report.problems)]
        if is_peak_old(row):
            with atomic():
                Section.objects.lock([row.pk])
                Section.objects.recount(row.pk)  # somebody may have edited rows
        if is_asked or report.rendered or is_peak_old(row):
            report.read_totals(row)
            if build.is_through:  # marked since then, it is for the next build
                report.dirty = 0
            note_peak(row, report.entries)
        if report.rendered:
            report.record()
        # Only a build that looks for changes has read the source of each section.
        has_read = build.notices and not report.is_left
        if row.fault and has_read and section.name not in build.faulty:
            rows = Section.objects.filter(pk=row.pk, fault=row.fault)
            rows.update(fault="", fault_since=None)

    late = (
        [it for it in planned if not build.is_left(it)] if build.is_out_of_time else []
    )
    return BuildReport(
        sections=[build.report(name) for name in build.names],
        index_pages=None if indexes is None else sum([i.entries for i in indexes]),
        index_errors=[
            f"{name} is not built: {error or DEADLY}"
            for name, error in index_problems(indexes or ())
        ],
        missing=missing,
        live=build.live,
        unfinished=[it.name for it in late if it.row.pages.claimable().exists()],
        seconds=time.monotonic() - build.began,
    )


def dry_run(names: Iterable[str] = ()) -> BuildReport:
    """Render every page of sections, and report what a full build would do."""
    began = time.monotonic()
    registry.must_be_whole()
    names = list(names) or list(registry)
    for name in names:
        registry.get(name)
    live = [name for name in registry.live() if name in names]
    reports = []
    for name in [it for it in names if it not in live]:
        section, section_began = open_section(name), time.monotonic()
        report = SectionReport(section=name)
        own = {"site": section.site.name, "name": name}
        row = Section.objects.filter(**own).first() or Section(**own)
        # Numbers outlive the pages of a section that was pruned.
        pages = replan.active_plan(row) if row.next_number > 1 else []
        if not pages:
            ranges = first_plan(section).ranges
            pages = [
                Page(section=row, number=0, low=it.low, high=it.high) for it in ranges
            ]
        for page in pages:
            for new in _render(page, section):
                report.pages += bool(new.entries)
                report.rendered += 1
                report.stored += new.is_changed and bool(new.object)
                report.entries += new.entries
                report.plain_size += new.plain_size
                report.gzip_size += new.gzip_size
                report.skipped += new.skipped
                report.dropped += new.dropped
                report.problems += map(str, new.problems)
        report.seconds = time.monotonic() - section_began
        reports.append(report)
    seconds = time.monotonic() - began
    return BuildReport(sections=reports, live=live, seconds=seconds, is_dry_run=True)


def _render(page: Page, section: OpenSection) -> Iterator[BuiltPage]:
    """Render a page; in pieces, where it has outgrown its limits."""
    try:
        yield build_page(page, section, stores=False)
    except LimitExceededError:
        ways = split_ranges(page, section)
        # The end of the last page holds a whole page, unless its rows are large.
        pieces = next(ranges for ranges in ways if len(ranges) > 1)
        for bounds in pieces:
            piece = Page(section=page.section, low=bounds.low, high=bounds.high)
            yield from _render(piece, section)
