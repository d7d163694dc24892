"""A build: every page of the sections asked for, then the index."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from django.db import Error

from django_sitemaps_plus.conf import Site, get_site
from django_sitemaps_plus.core.limits import LimitExceededError
from django_sitemaps_plus.core.plan import KeyRange
from django_sitemaps_plus.exceptions import BuildError, StalePlanError
from django_sitemaps_plus.executors.local import run
from django_sitemaps_plus.models import Page, Section
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.storage import get_storage

from .index import may_publish_index, publish_index
from .page import BuiltPage, PageJob, build_page
from .plans import Plan, first_plan, smaller_plan
from .publisher import flip

logger = logging.getLogger(__name__)

#: Told after each page: the section, pages done so far, pages in all.
Progress = Callable[[str, int, int], None]


@dataclass(slots=True, kw_only=True)
class SectionReport:
    """What a build did for one section."""

    section: str
    pages: int = 0  # with entries
    entries: int = 0
    plain_size: int = 0  # bytes before compression
    gzip_size: int = 0  # bytes in storage
    stored: int = 0  # new objects; pages whose bytes are as before need none
    skipped: int = 0  # rows that could not be listed
    dropped: int = 0  # values left out of their entry
    seconds: float = 0.0
    problems: list[str] = field(default_factory=list)  # the first of each page


@dataclass(slots=True, kw_only=True)
class BuildReport:
    """What a build did.

    Attributes:
        sections: one report each, in the order built.
        index_pages: pages in the published index; None where it was not published,
            since another section was never built.
        seconds: from begin to end.
        is_dry_run: whether everything was rendered and nothing stored.
    """

    sections: list[SectionReport] = field(default_factory=list)
    index_pages: int | None = None
    seconds: float = 0.0
    is_dry_run: bool = False


def build(
    names: Iterable[str] = (),
    *,
    workers: int = 1,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> BuildReport:
    """Bring the pages of sections up to date.

    Args:
        names: sections; none for all of the registry.
        workers: local processes that render.
        dry_run: render and report, store and publish nothing.
        progress: told after each page.

    Raises:
        NotRegistered: a section that does not exist.
        ConfigurationError: no origin, or no storage.
        BuildError: a source, the storage or the database failed, or another build
            was faster. What was published before stays.
    """
    began = time.monotonic()
    names = list(names) or list(registry)
    for name in names:
        registry.get(name)
    site = get_site()
    get_storage()
    report = BuildReport(is_dry_run=dry_run)
    try:
        for name in names:
            task = _SectionBuild(name, site, workers, dry_run, progress)
            report.sections.append(task.run())
        if not dry_run and may_publish_index(site):
            report.index_pages = publish_index(site)
    except Error as error:  # InterfaceError is no DatabaseError
        raise BuildError(
            f"the database failed: {type(error).__name__}: {error}"
        ) from error
    report.seconds = time.monotonic() - began
    logger.info(
        "Built %s sections in %.1f s",
        len(report.sections),
        report.seconds,
        extra={"action": "build_finished"},
    )
    return report


@dataclass(slots=True)
class _SectionBuild:
    """The build of one section."""

    name: str
    site: Site
    workers: int
    is_dry: bool
    progress: Progress | None

    def run(self) -> SectionReport:
        began = time.monotonic()
        row = self._row()
        pages = list(row.pages.order_by("number")) if row.pk else []
        known = {page.number: page for page in pages}
        plan = self._stored_plan([KeyRange(page.low, page.high) for page in pages])
        built = self._build_pages(plan, known)
        if not self.is_dry:
            flip(row, built)
        return self._report(built, time.monotonic() - began)

    def _row(self) -> Section:
        site, name = self.site.name, self.name
        if self.is_dry:
            found = Section.objects.filter(site=site, name=name).first()
            return found or Section(site=site, name=name)
        return Section.objects.get_or_create(site=site, name=name)[0]

    def _stored_plan(self, ranges: list[KeyRange]) -> Plan:
        if not ranges:
            return first_plan(self.name, self.site)
        step = registry.get(self.name).rows_per_page
        return Plan(ranges, step, is_empty=False, is_fresh=False)

    def _build_pages(self, plan: Plan, known: dict[int, Page]) -> list[BuiltPage]:
        while True:
            try:
                return self._try(plan, known)
            except (LimitExceededError, StalePlanError) as error:
                logger.info("Section %r is planned afresh: %s", self.name, error)
                plan = smaller_plan(self.name, self.site, plan)

    def _try(self, plan: Plan, known: dict[int, Page]) -> list[BuiltPage]:
        jobs = [
            self._job(number, key_range, known.get(number))
            for number, key_range in enumerate(plan.ranges, 1)
        ]
        built = []
        for page in run(build_page, jobs, self.workers):
            built.append(page)
            if self.progress is not None:
                self.progress(self.name, len(built), len(jobs))
        return sorted(built, key=lambda page: page.number)

    def _job(self, number: int, key_range: KeyRange, row: Page | None) -> PageJob:
        return PageJob(
            section=self.name,
            number=number,
            key_range=key_range,
            site=self.site,
            known_hash=row.plain_hash if row else "",
            known_object=row.object if row else "",
            known_size=row.gzip_size if row else 0,
            is_stored=not self.is_dry,
        )

    def _report(self, built: list[BuiltPage], seconds: float) -> SectionReport:
        def total(name: str) -> int:
            return sum([getattr(page, name) for page in built])

        return SectionReport(
            section=self.name,
            pages=len([page for page in built if page.entries]),
            stored=len([page for page in built if page.object]),
            entries=total("entries"),
            plain_size=total("plain_size"),
            gzip_size=total("gzip_size"),
            skipped=total("skipped"),
            dropped=total("dropped"),
            seconds=seconds,
            problems=[problem for page in built for problem in page.problems],
        )
