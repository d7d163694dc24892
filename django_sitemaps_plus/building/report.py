"""What a build did, for people and programs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Count, Q, QuerySet, Sum

from django_sitemaps_plus.models import INDEX, MAX_ATTEMPTS, Page, Section, State
from django_sitemaps_plus.models.prepared import fetch
from django_sitemaps_plus.publishing.sync import page_name

from .guard import is_peak_old, note_peak
from .worker import Counts


@dataclass(slots=True, kw_only=True)
class SectionReport:
    """A section after a build."""

    section: str
    pages: int = 0  # with entries
    entries: int = 0
    plain_size: int = 0  # bytes before compression
    gzip_size: int = 0  # bytes in storage
    skipped: int = 0  # rows of all pages that could not be listed
    dropped: int = 0  # values of them left out
    rendered: int = 0  # pages that this build rendered
    stored: int = 0  # new objects; pages whose bytes are as before need none
    dirty: int = 0  # pages that are still to be built
    unplanned: int = 0  # pages of a new plan that are still to be built
    hold_reason: str = ""  # why nothing more is published
    problems: list[str] = field(default_factory=list)  # rows left out, by name
    errors: list[str] = field(default_factory=list)  # pages that were not built
    seconds: float = 0.0


@dataclass(slots=True, kw_only=True)
class BuildReport:
    """What a build did.

    Attributes:
        sections: one report each, in the order asked for.
        index_pages: pages in the published index; None where it was left as it was,
            since some section has never been built.
        index_errors: why the index is not as the pages are.
        missing: sections with pages whose source is no longer registered.
        unfinished: sections for whose last pages no time was left.
        seconds: from begin to end.
        is_dry_run: whether everything was rendered and nothing stored.
    """

    sections: list[SectionReport] = field(default_factory=list)
    index_pages: int | None = None
    index_errors: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    unfinished: list[str] = field(default_factory=list)
    seconds: float = 0.0
    is_dry_run: bool = False

    @property
    def problems(self) -> list[str]:
        """What was asked for and did not happen, in words."""
        found = [
            f"{s.section} is held: {s.hold_reason}"
            for s in self.sections
            if s.hold_reason
        ]
        for section in self.sections:
            found += [f"{section.section}: {error}" for error in section.errors]
            if section.unplanned:
                found.append(
                    f"{section.section}: {section.unplanned} pages of its new plan are "
                    "not built, so the old plan is served. Mend what keeps them, then "
                    f"run build_sitemaps {section.section} --replan"
                )
            if section.dirty and not section.hold_reason and not section.errors:
                found.append(
                    f"{section.section}: {section.dirty} pages are still to be built; "
                    "see sitemap_status"
                )
        return found + self.index_errors


def section_report(
    section: Section, counts: Counts, *, sums: bool = True
) -> SectionReport:
    """Return the state of a section, and what was done to it.

    Args:
        section: its row.
        counts: what was done.
        sums: whether anybody asks for sums over its pages, which may be many. Without,
            they are 0, unless the shrink guard needs to know its entries.
    """
    sums = sums or counts.grew or is_peak_old(section)
    report = _report(section, counts, sums=sums)
    if sums:
        note_peak(section, report.entries)
    return report


def _report(section: Section, counts: Counts, *, sums: bool) -> SectionReport:
    totals = {
        state: [int(number) for number in numbers]  # some databases sum to decimals
        for state, *numbers in (fetch(_totals, section=section.pk) if sums else ())
    }
    nothing = [0] * 8
    *active, _ = totals.get(State.ACTIVE, nothing)
    pages, entries, plain_size, gzip_size, skipped, dropped, dirty = active
    return SectionReport(
        section=section.name,
        pages=pages,
        entries=entries,
        plain_size=plain_size,
        gzip_size=gzip_size,
        skipped=skipped,
        dropped=dropped,
        dirty=dirty,
        unplanned=totals.get(State.NEXT, nothing)[-1],
        rendered=counts.rendered,
        stored=counts.stored,
        hold_reason=section.hold_reason,
        problems=counts.problems,
        errors=counts.errors,
        seconds=counts.seconds,
    )


def _totals(section: Any) -> QuerySet[Page, Any]:
    return (
        Page.objects.planned()
        .filter(section=section)
        .values("state")
        .annotate(
            listed=Count("pk", filter=Q(entries__gt=0)),
            all_entries=Sum("entries"),
            plain=Sum("plain_size"),
            gzipped=Sum("gzip_size"),
            all_skipped=Sum("skipped"),
            all_dropped=Sum("dropped"),
            dirty=Count("pk", filter=Q(is_dirty=1)),
            unbuilt=Count("pk", filter=Q(built=0)),
        )
    )


def index_problems(pages: Iterable[Page]) -> list[str]:
    """Return why indexes do not list what is published.

    An index that a builder at work has made dirty is not a problem.
    """
    return [
        f"{page_name(INDEX, page.number)}.xml is not built: {page.error or _PARKED}"
        for page in pages
        if page.wanted > page.built and (page.error or page.attempts >= MAX_ATTEMPTS)
    ]


_PARKED = (
    f"{MAX_ATTEMPTS} builds were interrupted. Find out what ends them, then run "
    "build_sitemaps --full"
)
