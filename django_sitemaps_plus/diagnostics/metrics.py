"""Metrics: the dashboard's numbers as OpenMetrics text, for Prometheus and others."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Sized
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import Any, TypeAlias

from .problems import problems_of
from .status import EngineStatus, SectionStatus, SiteStatus
from .words import age_of

#: The prefix of all names.
PREFIX = "sitemaps_plus_"

#: The last words of names that are units.
UNITS = ("seconds", "bytes")

#: The subject of a metric.
Status: TypeAlias = SiteStatus | SectionStatus | EngineStatus


@dataclass(frozen=True, slots=True)
class Metric:
    """A number of each site, section or engine.

    All are gauges: what they are counted from is pruned, so each of them may fall.
    """

    of: type[Status]
    name: str
    meaning: str
    read: Callable[[Any], Any]  # a number, a time or things to count; None to leave out


#: Each metric by its name without the prefix: what it means, and how it is read.
_READ: dict[type[Status], dict[str, tuple[str, str | Callable[[Any], Any]]]] = {
    SiteStatus: {
        "site_ok": (
            "Whether nothing is known that needs a person",
            lambda it: all(problem.level != "error" for problem in problems_of(it)),
        ),
        "site_known": ("Whether it is known that Django answers, or not", "is_known"),
        "audit_findings": (
            "Findings of the last audit",
            lambda it: None if it.findings is None else sum(it.findings.values()),
        ),
    },
    SectionStatus: {
        "entries": ("URLs that are listed", "entries"),
        "pages": ("Pages with entries", "pages"),
        "dirty_pages": ("Pages to be built", "dirty"),
        "building_pages": ("Pages that builders are at work on", "building"),
        "parked_pages": ("Pages that failed often, tried again rarely", "parked"),
        "failed_pages": ("Other dirty pages whose last build failed", "failed"),
        "section_held": ("Whether the guard holds it", lambda it: bool(it.hold_reason)),
        "skipped_rows": ("Rows that cannot be listed", "skipped"),
        "dropped_values": ("Values left out of their entry", "dropped"),
        "waiting_changes": ("Changes whose pages are not known yet", "changes"),
        "oldest_change_age_seconds": ("Age of the oldest change to be built", "oldest"),
        "last_build_age_seconds": ("Time since the last build", "last_build_at"),
        "plain_bytes": ("Size of the pages before compression", "plain_size"),
        "gzip_bytes": ("Size of the pages in storage", "gzip_size"),
    },
    EngineStatus: {
        "waiting_deliveries": ("URLs and feeds to be submitted", "waiting"),
        "resting_deliveries": ("Those among them whose time has not come", "resting"),
        "rejected_deliveries": ("URLs and feeds that the engine rejected", "dead"),
        "recently_accepted_deliveries": ("Accepted in the last 24 hours", "accepted"),
        "recently_failed_deliveries": ("Failed in the last 24 hours", "failed"),
        "oldest_delivery_age_seconds": ("Age of the oldest change to submit", "oldest"),
        "parked_hosts": ("Hosts for which the engine is not notified", "parked"),
        "failing_hosts": ("Hosts for which its last request failed", "failing"),
    },
}
METRICS = [
    Metric(
        of,
        f"{PREFIX}{name}",
        meaning,
        attrgetter(read) if isinstance(read, str) else read,
    )
    for of, metrics in _READ.items()
    for name, (meaning, read) in metrics.items()
]


def exposition(statuses: Sequence[SiteStatus]) -> str:
    """Return the metrics of sites in the format of OpenMetrics 1.0.

    But for its last line it is the older text format of Prometheus as well, for which
    that line is a comment.
    """
    rows: list[tuple[Status, str]] = []  # each with its labels
    for site in statuses:
        label = _label("site", site.site.name)
        rows.append((site, label))
        for section in site.sections:
            if not section.live:  # else there are no pages to count
                rows.append((section, f"{label},{_label('section', section.section)}"))
        rows += [(it, f"{label},{_label('engine', it.engine)}") for it in site.engines]

    lines = []
    for metric in METRICS:
        name, unit = metric.name, metric.name.rpartition("_")[2]
        lines.append(f"# TYPE {name} gauge")
        if unit in UNITS:
            lines.append(f"# UNIT {name} {unit}")
        lines.append(f"# HELP {name} {metric.meaning}.")
        for status, labels in rows:
            value = metric.read(status) if isinstance(status, metric.of) else None
            if isinstance(value, datetime):
                value = age_of(value)
            elif isinstance(value, Sized):
                value = len(value)
            if value is not None:
                number = round(value, 3) if isinstance(value, float) else int(value)
                lines.append(f"{name}{{{labels}}} {number}")
    return "\n".join([*lines, "# EOF", ""])


def _label(name: str, text: str) -> str:
    text = text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
    return f'{name}="{text}"'
