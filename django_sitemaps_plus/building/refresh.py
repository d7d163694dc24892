"""A refresh: what has changed is noticed, built and published; the rest stays."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import TypeVar

from django.db import Error
from django.db.models import F, Max, Q
from django.db.models.functions import Now
from django.utils import timezone

from django_sitemaps_plus.conf import Site, get_settings, get_site
from django_sitemaps_plus.exceptions import BuildError
from django_sitemaps_plus.executors.local import share
from django_sitemaps_plus.models import INDEX, Hold, Page, Section, State
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.signals import build_finished
from django_sitemaps_plus.sources import rendering
from django_sitemaps_plus.storage import get_storage
from django_sitemaps_plus.tracking.fingerprint import check_fingerprint
from django_sitemaps_plus.tracking.noticing import notice

from . import publications
from .guard import judge, note_peak
from .index import MISSING_GRACE, may_publish_index
from .loop import Counts, Work, merge_counts
from .lost import mark_lost
from .planning import is_broken, may_break, plan_section
from .report import BuildReport, SectionReport, section_report
from .reshape import begin_replan, finish_replan, merge_small

logger = logging.getLogger(__name__)

T = TypeVar("T")

#: Pages that an audit marks at once, before it looks at the clock.
AUDIT_PAGES = 64

#: How often one refresh builds what its own decisions (the guard's, merges) made dirty.
MAX_ROUNDS = 5

#: Told of each page that was built: its section, pages done and pages to do.
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How a refresh is to go about it.

    Attributes:
        full: render every page, and store those whose bytes differ.
        replan: make new plans first.
        allow_shrink: let the guard pass everything.
        workers: local processes that build.
        progress: told of each page.
    """

    full: bool = False
    replan: bool = False
    allow_shrink: bool = False
    workers: int = 1
    progress: Progress | None = None


def refresh(names: Iterable[str] = (), options: Options | None = None) -> BuildReport:
    """Bring the pages of sections up to date.

    Args:
        names: sections; none for all of the registry.
        options: how.

    Raises:
        NotRegistered: a section that does not exist.
        ConfigurationError: no origin, or no storage.
        BuildError: a source, the storage or the database failed. What was published
            before stays.
    """
    names = list(names) or list(registry)
    for name in names:
        registry.get(name)
    get_storage()
    try:
        report = _Refresh(get_site(), names, options or Options()).run()
    except Error as error:  # InterfaceError is no DatabaseError
        raise BuildError(
            f"the database failed: {type(error).__name__}: {error}"
        ) from error
    build_finished.send_robust(sender=BuildReport, report=report)
    logger.info(
        "Refreshed %s sections in %.1f s",
        len(report.sections),
        report.seconds,
        extra={"action": "build_finished"},
    )
    return report


@dataclass(slots=True)
class _Refresh:
    """One refresh of some sections of a site."""

    site: Site
    names: list[str]
    options: Options
    since: datetime | None = None
    counts: dict[str, Counts] = field(default_factory=dict)

    def run(self) -> BuildReport:
        began = time.monotonic()
        planned = [found for name in self.names if (found := self._plan(name))]
        sections = [section for section, _ in planned]
        self.since = min([now for _, now in planned], default=None)
        for section in sections:
            self._guarded(section.name, partial(self._prepare, section))
        mark_lost()
        if self.options.full:
            Page.objects.of(self.site.name, INDEX).update(wanted=F("wanted") + 1)
        self._build(sections)
        self._audit(sections)
        missing = note_missing(self.site)
        index = self._index(missing)
        publications.tell()
        return BuildReport(
            sections=self._reports(sections),
            index_pages=index,
            missing=missing,
            seconds=time.monotonic() - began,
        )

    def _plan(self, name: str) -> tuple[Section, datetime] | None:
        return self._guarded(name, lambda: plan_section(name, self.site))

    def _guarded(self, name: str, step: Callable[[], T]) -> T | None:
        """Do something for a section; one whose source fails keeps back no other."""
        try:
            return step()
        except Exception as error:  # a source is the user's code
            if isinstance(error, Error) or isinstance(error.__cause__, Error):
                raise
            logger.exception("Section %s cannot be built", name)
            counts = self.counts.setdefault(name, Counts())
            counts.errors.append(f"{type(error).__name__}: {error}")
            return None

    def _prepare(self, section: Section) -> None:
        """Mark what has changed, and have a held section looked at anew."""
        source = registry.get(section.name)
        with rendering(self.site):
            was_deployed = check_fingerprint(section, source, self.site)
            asks = may_break(section, was_deployed=was_deployed)
        if asks and is_broken(section):
            logger.warning("The plan of %s is broken, so it gets a new one", section)
            begin_replan(section, self.site)
            return
        notice(section, source, self.site)
        if self.options.replan:
            begin_replan(section, self.site)
        if section.held:
            section.pages.filter(hold=Hold.HELD).update(hold=Hold.NONE)
        if self.options.full:
            pages = section.pages.planned()
            pages.update(wanted=F("wanted") + 1, attempts=0)

    def _build(self, sections: list[Section]) -> None:
        for _ in range(MAX_ROUNDS):
            touched = self._work(sections)
            again = [
                self._guarded(s.name, partial(self._settle, s))
                for s in sections
                if s.name in touched or s.held
            ]
            if not any(again):
                return
        self._work(sections)  # what merges of the last round have left dirty

    def _work(self, sections: list[Section]) -> set[str]:
        """Run the loop; return the sections that it has built pages of."""
        told = _Told(self.options.progress)
        if self.options.progress:
            told.expect(sections)
        ids = [section.pk for section in sections]
        here = Work(self.site, ids, self.since, told)
        elsewhere = Work(self.site, ids, self.since)
        results = share(Work.run, here, elsewhere, self.options.workers)
        for counts in results:
            merge_counts(self.counts, counts)
        return {name for counts in results for name in counts}

    def _settle(self, section: Section) -> bool:
        """Decide what waits for all pages; return whether some are dirty again."""
        section.refresh_from_db()
        coming = section.pages.filter(state=State.COMING)
        counts = self.counts.get(section.name, Counts())
        again = False
        if coming.exists():
            again = finish_replan(section)
        elif counts.stale:
            again = begin_replan(section, self.site) > 0
        counts.stale = False
        if section.held or section.pages.filter(hold=Hold.HELD).exists():
            section.held = judge(section, allow_shrink=self.options.allow_shrink)
            again |= not section.held
        if counts.shrank and not coming.exists():
            again |= merge_small(section, self.site) > 0
        note_peak(section)
        return again

    def _audit(self, sections: list[Section]) -> None:
        """Compare the pages longest unchecked, for a bounded time."""
        configured = get_settings()
        end = time.monotonic() + configured.audit_seconds
        old = Q(checked_at__lt=Now() - timedelta(seconds=configured.audit_every))
        due = Page.objects.filter(old, section__in=[s.pk for s in sections])
        due = due.filter(wanted=F("built"), state=State.ACTIVE).order_by("checked_at")
        while time.monotonic() < end:
            pages = list(due.values_list("pk", flat=True)[:AUDIT_PAGES])
            if not pages:
                return
            Page.objects.filter(pk__in=pages).update(wanted=F("wanted") + 1)
            self._build(sections)

    def _index(self, missing: list[str]) -> int | None:
        rows = Page.objects.of(self.site.name, INDEX)
        pages = list(rows.only("wanted", "built", "entries", "section_id"))
        if missing and forget_missing(self.site):
            pages = list(rows.only("wanted", "built", "entries", "section_id"))
        if any(page.wanted > page.built for page in pages):
            if not may_publish_index(self.site):
                return None
            Work(self.site, [pages[0].section_id], self.since).run()
            pages = list(rows.only("entries"))
        return sum(page.entries for page in pages)

    def _reports(self, sections: list[Section]) -> list[SectionReport]:
        rows = {section.name: section for section in sections}
        unplanned = [name for name in self.names if name not in rows]
        return [
            *[section_report(s, self.counts.get(s.name, Counts())) for s in sections],
            *[
                SectionReport(section=name, errors=self.counts[name].errors)
                for name in unplanned
            ],
        ]


@dataclass(slots=True)
class _Told:
    """Counts the pages of each section for who wants to see how far a build is."""

    progress: Progress | None
    done: dict[str, int] = field(default_factory=dict)
    total: dict[str, int] = field(default_factory=dict)

    def expect(self, sections: list[Section]) -> None:
        """Count the pages that are to be built."""
        for section in sections:
            self.total[section.name] = section.pages.dirty().count()

    def __call__(self, name: str) -> None:
        if self.progress is None:
            return
        done = self.done[name] = self.done.get(name, 0) + 1
        total = self.total[name] = max(done, self.total.get(name, 0))
        self.progress(name, done, total)


def note_missing(site: Site) -> list[str]:
    """Note since when sections with pages are no longer registered.

    Returns:
        Their names. They stay listed for a while, and are served until they are pruned.
    """
    rows = Section.objects.filter(site=site.name).exclude(name=INDEX)
    missing = rows.exclude(name__in=list(registry))
    names = list(missing.values_list("name", flat=True))
    if names and missing.filter(missing_since=None).update(
        missing_since=timezone.now()
    ):
        logger.error(
            "Sections %s are no longer registered; they leave the index in 24 hours",
            ", ".join(names),
            extra={"action": "section_missing"},
        )
    return names


def forget_missing(site: Site) -> bool:
    """Have the index rendered again without sections that are missing too long.

    Returns:
        Whether there are any that it may still list.
    """
    now = timezone.now()
    gone = Section.objects.filter(
        site=site.name, missing_since__lte=now - MISSING_GRACE
    )
    last = gone.aggregate(last=Max("missing_since"))["last"]
    if last is None:
        return False
    rows = Page.objects.of(site.name, INDEX).filter(checked_at__lt=last + MISSING_GRACE)
    return bool(rows.update(wanted=F("wanted") + 1))
