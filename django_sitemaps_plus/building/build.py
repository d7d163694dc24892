"""One build: detect changes, render dirty pages, publish them and the index."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any

from django.db import Error
from django.db.models import F

from django_sitemaps_plus.conf import Site, get_settings, get_site
from django_sitemaps_plus.exceptions import BuildError, StoreError
from django_sitemaps_plus.models import INDEX, Page, Section
from django_sitemaps_plus.models.page_claims import BATCH_PAGES, UNTRIED
from django_sitemaps_plus.models.sections import take_namespace, take_origin
from django_sitemaps_plus.models.transactions import (
    as_django_errors,
    is_well,
    update_pages,
)
from django_sitemaps_plus.outages import in_one_line
from django_sitemaps_plus.publishing import sync
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.rendering import reading
from django_sitemaps_plus.signals import build_finished
from django_sitemaps_plus.sites import in_force
from django_sitemaps_plus.storage import get_storage
from django_sitemaps_plus.tracking import deploys
from django_sitemaps_plus.tracking.detect import notice

from .audit import mark_damaged, mark_old, mark_unchecked
from .figures import record
from .guard import is_peak_old, look_again, note_peak
from .index import may_publish_index, note_failure, note_missing
from .plan.replan import begin_replan, plan_section, renew_plan
from .pool import Helpers, reason_against
from .report import BuildReport, SectionReport, index_problems
from .settle import settle
from .worker import help_with, work

logger = logging.getLogger(__name__)

#: How often one build renders what its own decisions (the guard's, merges) made dirty.
MAX_ROUNDS = 5

#: Called after each page: its section, pages done and pages to do.
Progress = Callable[[str, int, int], None]


def build(names: Iterable[str] = (), **options: Any) -> BuildReport:
    """Bring pages of the site up to date; the options are attributes of Build.

    Raises:
        NotRegistered: a section that does not exist.
        ConfigurationError: no origin, or not that of what is stored; or no storage.
        BuildError: the storage or the database failed. What was published stays.
    """
    site = get_site()
    with in_force(site):
        registry.must_be_whole()
        names = list(names) or list(registry)
        for name in names:
            registry.get(name)
        get_storage()
        return _run(Build(names=names, site=site, **options))


def _run(made: Build) -> BuildReport:
    try:
        with as_django_errors():
            report = made.run()
    except StoreError as error:
        note_failure(made.site, error)
        raise
    except Error as error:  # InterfaceError is no DatabaseError
        is_well()  # it closes a connection that broke: the next build opens another
        raise BuildError(f"the database failed: {in_one_line(error)}") from error
    build_finished.send_robust(sender=BuildReport, report=report)
    numbers, extra = (len(made.names), report.seconds), {"action": "build_finished"}
    logger.info("Built %s section(s) in %.1f s", *numbers, extra=extra)
    return report


@dataclass(slots=True, kw_only=True)
class Build:
    """One build of some sections of a site: what is asked for, and what was done."""

    names: list[str]
    site: Site
    full: bool = False  # render every page, and store those whose bytes differ
    replan: bool = False  # make new plans first
    allow_shrink: bool = False  # let the guard pass everything
    move_origin: bool = False  # take over what was built for another origin
    #: Where to store all objects anew, apart from those of the database that this was
    #: copied from; "" for where they are.
    new_namespace: str = ""
    helpers: Helpers | None = None  # other processes that build, if there is enough
    progress: Progress | None = None
    #: Look for changes first, rather than build only what is known.
    notices: bool = True
    #: Compare the pages longest unchecked too, for a bounded time.
    audits: bool = True
    #: Return when all is published, by whichever process, and take over claims made
    #: before; else leave to others what they are at.
    waits: bool = True
    seconds: float | None = None  # after which no more pages are begun
    #: Called with the sections and the number of pages to build, if they are many.
    call_help: Callable[[list[str], int], None] | None = None

    since: datetime | None = None  # claims made before this time are taken over
    reports: dict[str, SectionReport] = field(default_factory=dict)  # by section
    stale: set[str] = field(default_factory=set)  # whose plan fits the source no more
    small: set[int] = field(default_factory=set)  # pages that may merge
    #: Of the sources of this process, by the key of their section.
    fingerprints: dict[int, str] = field(default_factory=dict)
    #: When it was last noted that sections are built, by the monotonic clock.
    noted_at: dict[int, float] = field(default_factory=dict)
    #: Whether public names may have been wrong before the first page was built; None
    #: until then.
    was_behind: bool | None = None
    #: Whether no page was dirty when the last one was built.
    is_through: bool = False
    began: float = field(default_factory=time.monotonic)
    expected: dict[str, int] = field(default_factory=dict)  # pages to build

    def report(self, name: str) -> SectionReport:
        """Return the report of a section, to add to it."""
        return self.reports.setdefault(name, SectionReport(section=name))

    @property
    def is_over(self) -> bool:
        """Whether no more pages are to be begun."""
        passed = time.monotonic() - self.began
        return self.seconds is not None and passed >= self.seconds

    @property
    def waits_for_others(self) -> bool:
        """Whether to wait for pages that others are at work on; not for the dead."""
        return self.waits and not (self.helpers and self.helpers.have_died)

    def run(self) -> BuildReport:
        """Notice changes, build pages and publish the index."""
        take_origin(self.site, has_moved=self.move_origin)
        sections = self._plan()
        if self.new_namespace or not all([it.namespace for it in sections]):
            take_namespace(self.site, self.new_namespace)
        if self.notices:
            self._notice(sections)
        known, sections = sections, [it for it in sections if not self._is_left(it)]
        self._call_help(sections)
        self._build(sections)
        if self.audits:
            self._audit(sections)
        missing = note_missing(self.site)
        indexes = self._publish_index()
        if indexes is not None and sync.look_after(
            self.site, indexes, was_behind=bool(self.was_behind)
        ):
            self._build(sections)
            indexes = self._publish_index()
            sync.repair(self.site)  # an index that was hidden has its name again
        self._read_totals(known)
        return BuildReport(
            sections=[self.report(name) for name in self.names],
            index_pages=None if indexes is None else sum([i.entries for i in indexes]),
            index_errors=index_problems(indexes or ()),
            missing=missing,
            unfinished=[
                section.name
                for section in sections
                if self.is_over
                and not self._is_left(section)
                and section.pages.claimable().exists()
            ],
            seconds=time.monotonic() - self.began,
        )

    @contextmanager
    def _attempt(self, name: str) -> Iterator[None]:
        """Do something for a section; one whose source fails keeps back no other."""
        try:
            with reading(name, self.site):
                yield
        except BuildError as error:
            extra = {"action": "section_failed"}
            logger.exception("Section %s cannot be built", name, extra=extra)
            self.report(name).errors.append(str(error))

    def _plan(self) -> list[Section]:
        """Return the rows of the sections, each with a plan."""
        sections = []
        for name in self.names:
            with self._attempt(name):
                sections.append(plan_section(name, self.site))
        if self.waits:
            self.since = min([section.now for section in sections], default=None)
        return sections

    def _notice(self, sections: list[Section]) -> None:
        for section in sections:
            with self._attempt(section.name):
                self._prepare(section)
        mark_damaged()
        if self.full or self.new_namespace:
            index_pages = Page.objects.of(self.site.name, INDEX)
            index_pages.update(wanted=F("wanted") + 1, **UNTRIED)

    def _prepare(self, section: Section) -> None:
        """Mark what has changed, and have a held section looked at anew."""
        current = deploys.fingerprint(registry.get(section.name), self.site)
        self.fingerprints[section.pk] = current
        is_forced = self.full or self.move_origin
        if not is_forced and deploys.is_replaced(section, current):
            self.leave(section.name)
            return
        if renew_plan(section, self.site, current):
            return  # changes are located in the next plan
        notice(section, self.site)
        if self.replan:
            begin_replan(section, self.site)
        if section.hold_reason:
            look_again(section, at_once=self.waits)
        if self.full or self.new_namespace:
            pages = section.pages.planned()
            update_pages(pages, [section.pk], wanted=F("wanted") + 1, **UNTRIED)

    def leave(self, name: str) -> None:
        """Leave a section to builders of another version of the project."""
        logger.warning("Section %s is left to builders with other code", name)
        self.report(name).is_left = True

    def _is_left(self, section: Section) -> bool:
        return section.name in self.reports and self.reports[section.name].is_left

    def note_at_work(self, section: int) -> None:
        """Note now and then, while a build takes long, that this version builds."""
        now, interval = time.monotonic(), deploys.note_interval().total_seconds()
        if now > self.noted_at.get(section, self.began) + interval:
            self.noted_at[section] = now
            deploys.note_build(section, self.fingerprints.get(section, ""))

    def _call_help(self, sections: list[Section]) -> None:
        pages = Page.objects.claimable().filter(section__in=sections)
        if self.call_help is not None and (total := pages.count()) > BATCH_PAGES:
            self.call_help([section.name for section in sections], total)

    def _build(self, sections: list[Section]) -> None:
        for _ in range(MAX_ROUNDS):
            self._work(sections)
            if not any([self._settle(section) for section in sections]):
                return
        self._work(sections)  # what merges of the last round have left dirty

    def _work(self, sections: list[Section]) -> None:
        """Build the dirty pages, in local processes if asked for."""
        if self.progress is not None:
            for section in sections:
                known = self.reports.get(section.name)
                done = 0 if known is None else known.rendered
                self.expected[section.name] = done + section.pages.dirty().count()
        ids = [section.pk for section in sections]
        if self.helpers is None or not self._is_worth_help(ids):
            work(self, ids)
            return
        # Helpers run the code that is on disk by now, so they look for themselves for
        # whom pages are marked. Only this process waits for others.
        elsewhere = replace(
            self, reports={}, fingerprints={}, helpers=None, waits=False
        )
        elsewhere.progress = elsewhere.call_help = None
        names = {section.pk: section.name for section in sections}
        _, *others = self.helpers.share(partial(help_with, names), self, elsewhere)
        for other in others:
            for name, report in other.reports.items():
                self.report(name).add(report)
            self.small |= other.small
            self.stale |= other.stale

    def _is_worth_help(self, ids: list[int]) -> bool:
        """Return whether there is more to build than this process takes at once."""
        pages = Page.objects.claimable(self.since).filter(section__in=ids)
        if len(pages.values_list("pk")[: BATCH_PAGES + 1]) <= BATCH_PAGES:
            return False
        reason = reason_against()
        if reason:
            extra = {"action": "help_refused"}
            logger.warning("One process builds, since %s", reason, extra=extra)
        return not reason

    def show_progress(self, report: SectionReport) -> None:
        """Say that a page of a section was built."""
        if self.progress is not None:
            total = max(report.rendered, self.expected.get(report.section, 0))
            self.progress(report.section, report.rendered, total)

    def _settle(self, section: Section) -> bool:
        """Decide what waits for all pages; return whether some are dirty again."""
        if section.name in self.reports or section.has_next or section.hold_reason:
            with self._attempt(section.name):
                return settle(self, section)
        return False

    def _audit(self, sections: list[Section]) -> None:
        """Compare the pages longest unchecked, for a bounded time."""
        end = time.monotonic() + get_settings().audit_budget_seconds
        # When the build is over nothing that is marked would be built.
        while time.monotonic() < end and not self.is_over:
            sections = [it for it in sections if not self._is_of_others(it)]
            if not mark_unchecked(sections):
                break
            self._build(sections)

    def _is_of_others(self, section: Section) -> bool:
        """Return whether a section was left, or would be as soon as it is built."""
        return self._is_left(section) or (
            not self.notices
            and deploys.is_of_other_code(section, self.site, self.fingerprints)
        )

    def _publish_index(self) -> list[Page] | None:
        """Publish the indexes; return their rows, None where it is too early."""
        pages: list[Page] = Page.objects.indexes(site=self.site.name)
        if self.audits and mark_old(pages):
            pages = Page.objects.indexes(site=self.site.name)
        if any([page.wanted > page.built for page in pages]):
            if self.was_behind is None:  # other processes have built pages
                self.was_behind = True
            is_published = any([page.built for page in pages])
            if not is_published and not may_publish_index(self.site):
                return None
            take_origin(self.site, has_moved=False)  # it may have moved meanwhile
            # Also when the time is over: it lists what was published in time.
            work(replace(self, seconds=None), [pages[0].section_id])
            pages = Page.objects.indexes(site=self.site.name)
        return pages

    def _read_totals(self, sections: list[Section]) -> None:
        """Add to the reports how the sections are."""
        is_asked = self.waits or build_finished.has_listeners()
        for section in sections:
            report = self.report(section.name)
            report.hold_reason = section.hold_reason
            # A page that the guard holds at first is rendered again.
            report.problems = [*dict.fromkeys(report.problems)]
            if is_asked or report.rendered or is_peak_old(section):
                report.read_totals(section)
                if self.is_through:  # what builds of other sites mark is for the next
                    report.dirty = 0
                note_peak(section, report.entries)
            if report.rendered:
                record(self.site, report)
