"""Planning: the first key ranges of a section, made from its rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, replace
from itertools import islice
from shlex import quote
from typing import Any, TypeVar

from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.core.key_ranges import EVERYTHING, KeyRange, key_ranges
from django_sitemaps_plus.core.limits import LimitExceededError
from django_sitemaps_plus.exceptions import SourceError
from django_sitemaps_plus.models.claims import heartbeat
from django_sitemaps_plus.section import OpenSection
from django_sitemaps_plus.sources import Reader, Tally
from django_sitemaps_plus.sources.lines import CHUNK_ROWS

T = TypeVar("T")

# More than a section can have.
_ANY_ROWS = 10**15

# Findings about rows, by their query, while sections share them.
_found: ContextVar[dict[Any, list[Any]] | None] = ContextVar("found", default=None)


@dataclass(frozen=True, slots=True)
class Plan:
    """The key ranges of a section; page n has the n-th."""

    ranges: list[KeyRange]  # in order; they part the whole key space
    step: int  # rows that each was given when the plan was made


def first_plan(section: OpenSection, step: int | None = None) -> Plan:
    """Make a plan as :func:`bounded_plan` does, of all rows.

    Without rows its one range awaits the first.
    """
    plan = bounded_plan(section, _ANY_ROWS, step) or Plan([], 1)
    return replace(plan, ranges=plan.ranges or [EVERYTHING])


def bounded_plan(
    section: OpenSection, rows: int, step: int | None = None
) -> Plan | None:
    """Make a plan from the rows as they are; None for more rows than ``rows``.

    Reading stops as soon as there are too many. A section without rows gets no ranges.
    Without a step, a page gets as many rows as fit, by its entries and its bytes.
    """
    with section.reading():
        reader = section.planned_by = section.reader
        most = max(1, min(step or reader.planned_rows, rows))

        def make() -> Plan | None:
            plan = _plan_within(reader, rows, most)
            if step is None and plan is not None and len(plan.ranges) > 1:
                fitting = _fitting_rows(section, reader, most)
                if fitting < most:
                    plan = _plan_within(reader, rows, fitting)
            return plan

        # Languages and locations alone make no entry so large that fewer rows fit.
        what = ("plan", rows, most, step, *sorted(reader.extensions))
        return found_once(reader, what, make)


@contextmanager
def sharing() -> Iterator[None]:
    """Let sections over the same rows share what is found of them, as their plan."""
    token = _found.set({})
    try:
        yield
    finally:
        _found.reset(token)


def found_once(reader: Reader[Any], what: object, find: Callable[[], T]) -> T:
    """Return what is found of the rows of a reader, once for all within sharing()."""
    found, cell = _found.get(), list[T]()
    if found is not None and reader.first and (query := reader.first.identity()):
        with suppress(TypeError):  # a value without a hash
            cell = found.setdefault((what, *query), cell)
    if not cell:
        cell.append(find())
    return cell[0]


def remedy_of_size(section: OpenSection) -> str:
    """Return what to do about a section with too many rows to be served live."""
    if section.source.live is True:
        return "Raise LIVE_MAX_ROWS, or take live = True from its source"
    return f"Run: manage.py build_sitemaps {quote(section.name)}"


def _plan_within(reader: Reader[Any], rows: int, step: int) -> Plan | None:
    pages = -(-rows // step)
    keys = []
    for key in islice(reader.first_keys(step), pages + 1):
        heartbeat()
        keys.append(key)
    if len(keys) > pages:
        return None
    return Plan(key_ranges(keys[1:]) if keys else [], step)


def _fitting_rows(section: OpenSection, reader: Reader[Any], step: int) -> int:
    """Return how many rows a page takes, judged by the bytes of the first ones."""
    if reader.key_space() is None:
        return step  # a sample would walk all entries
    sample, size = min(step, CHUNK_ROWS), 1
    with suppress(SourceError, LimitExceededError), section.reading():
        _, end = islice(reader.first_keys(sample), 2)
        tally = Tally(section.name, most=0)  # the page names them
        lines = reader.chunks(KeyRange(None, end), tally)
        size = sum([len(chunk.encode()) for chunk in lines]) or 1
    most = get_settings().max_bytes * 9 // 10
    return max(1, min(step, most * sample // size))
