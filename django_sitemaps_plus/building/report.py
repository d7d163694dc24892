"""Reports: what a build did, or what a dry run would do."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass, field
from shlex import quote

from django.db import Error
from django.utils.translation import gettext_noop

from django_sitemaps_plus.models import (
    INDEX,
    MAX_ATTEMPTS,
    MAX_DEATHS,
    Figure,
    Page,
    Section,
)
from django_sitemaps_plus.publishing.sync import page_name
from django_sitemaps_plus.sites import get_site

logger = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class SectionReport:
    """The work of a build on a section, and how the section is after it."""

    section: str
    pages: int = 0  # with entries
    entries: int = 0
    plain_size: int = 0  # bytes before compression
    gzip_size: int = 0  # bytes in storage
    skipped: int = 0  # rows of all pages that could not be listed
    dropped: int = 0  # values left out of their entries
    rendered: int = 0  # pages that this build rendered
    stored: int = 0  # new objects; pages whose bytes are as before need none
    dirty: int = 0  # pages that are still to be built
    unplanned: int = 0  # pages of a new plan that are still to be built
    is_left: bool = False  # to another version of the project, which builds it
    hold_reason: str = ""  # why nothing more is published
    problems: list[str] = field(default_factory=list)  # rows left out, by name
    errors: list[str] = field(default_factory=list)  # pages that were not built
    seconds: float = 0.0  # of all processes together

    def add(self, other: SectionReport) -> None:
        """Add what another process did."""
        self.is_left |= other.is_left
        self.rendered += other.rendered
        self.stored += other.stored
        self.problems += other.problems
        self.errors += other.errors
        self.seconds += other.seconds

    def read_totals(self, section: Section) -> None:
        """Read the totals of the section, and what is still to be built."""
        for _planned, *numbers in Section.objects.totals(section=section.pk):
            self.pages, self.entries, self.skipped, self.dropped = numbers[:4]
            self.plain_size, self.gzip_size, self.dirty, self.unplanned = numbers[4:]

    def record(self) -> None:
        """Record what the build did, as figures."""
        kind = Figure.Kind
        added: dict[Figure.Kind, float] = {
            kind.ENTRIES: self.entries,
            kind.PAGES: self.pages,
            kind.SKIPPED: self.skipped,
        }
        if self.rendered and self.pages and self.seconds:
            entries = self.entries / self.pages * self.rendered
            added[kind.RATE] = entries / self.seconds
        try:
            Figure.objects.add(get_site().name, self.section, added)
        except Error as error:  # the build has published, and that counts
            logger.warning("The figures of %s are lost: %s", self.section, error)


@dataclass(slots=True, kw_only=True)
class BuildReport:
    """The work of a build, or what a dry run would do."""

    sections: list[SectionReport] = field(default_factory=list)  # as asked for
    #: Pages in the published index; None where it is rendered on request, since some
    #: section is, or where it was left as it was, since some was never built.
    index_pages: int | None = None
    index_errors: list[str] = field(default_factory=list)  # why it is not up to date
    missing: list[str] = field(default_factory=list)  # not registered, but have pages
    live: list[str] = field(default_factory=list)  # left out: their source is live
    unfinished: list[str] = field(default_factory=list)  # had no time for all pages
    seconds: float = 0.0  # from begin to end
    is_dry_run: bool = False  # nothing was stored

    @property
    def problems(self) -> list[str]:
        """Why not all that was asked for is published."""
        problems = []
        for section in self.sections:
            name = section.section
            if section.hold_reason:
                words = f"{name}: it waits for your approval: {section.hold_reason}"
                problems.append(words)
            elif section.skipped and not section.entries:
                problems.append(
                    f"{name}: it lists none of its {section.skipped:,} rows: each is "
                    f"left out. Run build_sitemaps {quote(name)} --full, which "
                    "names them, and fix the source"
                )
            problems += [f"{name}: {error}" for error in section.errors]
            if section.unplanned and not section.is_left:
                problems.append(
                    f"{name}: {section.unplanned} pages of its new plan are not built, "
                    "so the old plan is served. Fix what keeps them from being built, "
                    f"then run build_sitemaps {quote(name)} --replan"
                )
            is_said = section.is_left or section.hold_reason or section.errors
            if section.dirty and not is_said:
                problems.append(
                    f"{name}: {section.dirty} pages are still to be built; "
                    "see sitemap_status"
                )
        return problems + self.index_errors


def index_problems(pages: Iterable[Page]) -> list[tuple[str, str]]:
    """Return file and error of indexes that are not up to date, nor being built."""
    return [
        (f"{page_name(INDEX, page.number)}.xml", page.error)
        for page in pages
        if page.wanted > page.built
        and (page.error or page.attempts >= MAX_ATTEMPTS or page.deaths >= MAX_DEATHS)
    ]


#: Why an index is not built that has no error.
DEADLY = gettext_noop(
    "builds were interrupted again and again. Find out what ends them, then run "
    "build_sitemaps --full"
)
