"""Rows without keys: pages are positions, counted from 0."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Any

from django_sitemaps_plus.core.key_ranges import EVERYTHING, KeyRange
from django_sitemaps_plus.exceptions import SourceError, StalePlanError

#: Rows of a source that is paged by position; a generator without end has more.
MAX_POSITIONS = 10_000_000


def at_positions(rows: Iterable[Any], key_range: KeyRange) -> Iterator[Any]:
    """Return the rows whose positions are in the range; raise if there is no end."""
    low = position(key_range.low or "0")
    if key_range.high is not None:
        return islice(rows, low, position(key_range.high))
    remaining = iter(rows)
    most = max(low, MAX_POSITIONS)
    return chain(islice(remaining, low, most), _end_of(remaining))


def _end_of(rows: Iterator[Any]) -> Iterator[Any]:
    """Yield nothing, and raise if there are more rows."""
    for _ in rows:
        raise SourceError(
            f"there are more than {MAX_POSITIONS:,} rows without keys. Does the "
            "generator end? So many rows need a model and its key."
        )
    yield from ()


def position(bound: str) -> int:
    """Return the position that a bound of a plan names."""
    if not (bound.isascii() and bound.isdecimal()):
        raise StalePlanError(
            f"{bound!r} is not a position: the section was paged by key when the plan "
            "was made"
        )
    return int(bound)


def positions(
    rows: Iterable[Any], step: int, key_range: KeyRange = EVERYTHING
) -> Iterator[str]:
    """Yield the position of each ``step``-th row of a range, as text."""
    first = position(key_range.low or "0")
    for number, _ in enumerate(at_positions(rows, key_range)):
        if number % step == 0:
            yield str(first + number)
