"""History: what the last hours and days came to, for the plots of the dashboard."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from django.db.models import Q, Sum
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.models import INDEX, Figure, Section

from .engine_status import quantile

#: Sections that have a line of their own; the rest are one more line.
MAX_LINES = 10

#: The name of that line, which no section can have.
OTHERS = ""

Kind = Figure.Kind

#: A number for each step; None where none is known.
Values: TypeAlias = list[float | None]

#: Numbers of one step, by kind and bucket.
Step: TypeAlias = Counter[tuple[str, int]]


@dataclass(frozen=True, slots=True)
class Range:
    """How far a history goes back, in steps that divide a day."""

    words: Any
    span: timedelta
    step: timedelta


#: None has more than 168 steps.
RANGES = {
    "24h": Range(_("24 hours"), timedelta(hours=24), timedelta(hours=1)),
    "7d": Range(_("7 days"), timedelta(days=7), timedelta(hours=1)),
    "30d": Range(_("30 days"), timedelta(days=30), timedelta(hours=6)),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """What each step of a range came to, the present one included."""

    times: list[datetime]  # when each step began, the oldest first
    sections: list[str]  # those of the site that have pages, by name
    #: At the end of each step, by section: the largest first, and OTHERS last.
    entries: dict[str, Values]
    pages: Values  # rendered by a build of a section, on average
    seconds: Values  # the same, of all processes together
    accepted: Values  # targets, by all engines
    rejected: Values
    failed: Values  # targets of requests that are made again
    #: Seconds from the commit of a change until an engine had accepted it.
    delay_median: Values
    delay_p95: Values


def read_history(site: Site, name: str, section: str = "") -> History:
    """Return the history of a site in one of RANGES, by three queries.

    With a section, entries and builds are those of it alone; engines know no sections.
    """
    times = _times(RANGES[name])
    rows = Section.objects.filter(site=site.name).exclude(name=INDEX).planned()
    sections = sorted(rows.values_list("name", flat=True))
    steps = _steps(site, times, section)
    return History(
        times=times,
        sections=sections,
        entries=_largest(_entries(site, times, section, sections)),
        pages=[_per_build(step, Kind.PAGES) for step in steps],
        seconds=[_per_build(step, Kind.SECONDS) for step in steps],
        accepted=[sum(_delays(step).values()) for step in steps],
        rejected=[step[Kind.REJECTED, 0] for step in steps],
        failed=[step[Kind.FAILED, 0] for step in steps],
        delay_median=[quantile(_delays(step), 0.5) for step in steps],
        delay_p95=[quantile(_delays(step), 0.95) for step in steps],
    )


def _times(asked: Range) -> list[datetime]:
    hour = timezone.now().replace(minute=0, second=0, microsecond=0)
    last = hour - timedelta(hours=hour.hour) % asked.step
    return [last - asked.step * n for n in reversed(range(asked.span // asked.step))]


def _position(hour: datetime, times: list[datetime]) -> int:
    """Return the step that an hour is in; -1 before the first."""
    passed = (hour - times[0]) // (times[1] - times[0])
    return max(-1, min(passed, len(times) - 1))  # another clock may be ahead


def _steps(site: Site, times: list[datetime], section: str) -> list[Step]:
    """Return the sums of all figures but entries, by step."""
    of_engines = Q(kind__in=[Kind.ACCEPTED, Kind.REJECTED, Kind.FAILED])
    of_sections = Q(kind__in=[Kind.BUILDS, Kind.PAGES, Kind.SECONDS])
    if section:
        of_sections &= Q(name=section)
    rows = Figure.objects.since(times[0]).filter(site=site.name).order_by()
    rows = rows.filter(of_engines | of_sections)
    sums: Any = rows.values_list("hour", "kind", "bucket").annotate(Sum("value"))
    found = [Step() for _ in times]
    for hour, kind, bucket, value in sums:
        found[_position(hour, times)][kind, bucket] += value
    return found


def _per_build(step: Step, kind: Figure.Kind) -> float | None:
    if (kind, 0) not in step:
        return None
    # Without a build they are of one that began in the step before.
    return step[kind, 0] / max(step[Kind.BUILDS, 0], 1)


def _delays(step: Step) -> dict[int, int]:
    return {bucket: n for (kind, bucket), n in step.items() if kind == Kind.ACCEPTED}


def _entries(
    site: Site, times: list[datetime], section: str, sections: Collection[str]
) -> dict[str, Values]:
    """Return the entries of each section, the largest first."""
    rows = Figure.objects.filter(site=site.name, kind=Kind.ENTRIES).order_by("hour")
    if section:
        rows = rows.filter(name=section)
    known = defaultdict[str, dict[int, float]](dict)  # by name and step
    for name, hour, value in rows.values_list("name", "hour", "value"):
        known[name][_position(hour, times)] = value
    sizes = {name: numbers[max(numbers)] for name, numbers in known.items()}
    return {
        name: _carried(known[name], len(times), has_ended=name not in sections)
        for name in sorted(known, key=lambda name: (-sizes[name], name))
    }


def _carried(known: Mapping[int, float], count: int, *, has_ended: bool) -> Values:
    """Return a number for each step: the last one that is known."""
    last, found = known.get(-1), []
    end = max(known) if has_ended else count
    for position in range(count):
        last = known.get(position, last)
        found.append(last if position <= end else None)
    return found


def _largest(lines: dict[str, Values]) -> dict[str, Values]:
    """Return the first lines, and one that is the sum of the others."""
    names = [
        name for name, values in lines.items() if any(v is not None for v in values)
    ]
    found = {name: lines[name] for name in names[:MAX_LINES]}
    if others := [lines[name] for name in names[MAX_LINES:]]:
        found[OTHERS] = [_sum(values) for values in zip(*others, strict=True)]
    return found


def _sum(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
