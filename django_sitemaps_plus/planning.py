"""Planning: the first key ranges of a section, made from its rows."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.core.key_ranges import KeyRange, key_ranges
from django_sitemaps_plus.models.lease import heartbeat
from django_sitemaps_plus.rendering import reading
from django_sitemaps_plus.sources import reader_of


@dataclass(frozen=True, slots=True)
class Plan:
    """The key ranges of a section; page n has the n-th."""

    ranges: list[KeyRange]  # in order; they part the whole key space
    step: int  # rows that each was given when the plan was made


def first_plan(section: str, site: Site, step: int | None = None) -> Plan:
    """Make a plan from the rows as they are, by default as many a page as fit.

    Without rows its one range awaits the first.
    """
    with reading(section, site) as source:
        reader = reader_of(source)
        step = reader.planned_rows if step is None else step
        keys = list(reader.first_keys(step, site))
    return Plan(key_ranges(keys[1:]), step)


def bounded_plan(section: str, site: Site, rows: int) -> Plan | None:
    """Make a plan as :func:`first_plan` does; None where it takes pages for more rows.

    No more is read than it takes to find that out.
    """
    with reading(section, site) as source:
        reader = reader_of(source)
        step = max(1, min(reader.planned_rows, rows))
        pages = -(-rows // step)
        keys = []
        for key in islice(reader.first_keys(step, site), pages + 1):
            heartbeat()
            keys.append(key)
    if len(keys) > pages:
        return None
    return Plan(key_ranges(keys[1:]), step)
