"""Plans: ordered key ranges that together contain every possible key."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol, TypeVar

from .limits import MAX_ENTRIES

_INTEGER = re.compile(r"-?[0-9]{1,19}")
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_BIGGEST = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class KeyRange:
    """The keys that one page owns: from ``low`` up to, not including, ``high``.

    Bounds are the text of keys, as they are stored; ``None`` is infinity. Only the
    database compares them, since their order is its collation's.
    """

    low: str | None = None
    high: str | None = None


#: The range that owns every key.
EVERYTHING = KeyRange()


class HasRange(Protocol):
    """Anything with the bounds of a key range."""

    @property
    def low(self) -> str | None: ...

    @property
    def high(self) -> str | None: ...


R = TypeVar("R", bound=HasRange)


def key_ranges(
    cuts: Iterable[str], low: str | None = None, high: str | None = None
) -> list[KeyRange]:
    """Return the ranges between ascending cuts, from ``low`` to ``high``."""
    return [KeyRange(*bounds) for bounds in pairwise([low, *cuts, high])]


def in_plan_order(pages: Iterable[R]) -> list[R]:
    """Return pages so that each begins where the one before ends.

    Raises:
        ValueError: the pages do not part the whole key space.
    """
    pages = list(pages)
    ordered = chain(pages)
    if len(ordered) != len(pages) or (ordered and ordered[-1].high is not None):
        words = "the pages of the plan do not part the key space, so it needs another: "
        raise ValueError(f"{words}run build_sitemaps --full")
    return ordered


def chain(pages: Iterable[R]) -> list[R]:
    """Return the pages from the first on, each beginning where the one before ends.

    Among pages that begin at the same key the last given one counts, so that pages of
    a plan to come, given after those that are served, take the place of theirs.
    """
    by_low = {page.low: page for page in pages}
    ordered: list[R] = []
    low: str | None = None
    while (page := by_low.pop(low, None)) is not None:
        ordered.append(page)
        low = page.high
    return ordered


def locate_integers(lows: Sequence[str | None], keys: Iterable[int]) -> list[int]:
    """Return for each key the number of its range, of those with these lower bounds."""
    bounds = [int(low) for low in lows[1:] if low is not None]
    return [bisect_right(bounds, key) for key in keys]


def as_number(bound: str | None) -> int | None:
    """Return the integer that a bound is, or the first half of a UUID; else None.

    Databases can hold such numbers, and find the page of a key by them.
    """
    if bound is None:
        return None
    if _UUID.fullmatch(bound):
        return int(bound[:18].replace("-", ""), 16) - _BIGGEST - 1
    if not _INTEGER.fullmatch(bound):
        return None
    number = int(bound)
    return number if -_BIGGEST - 1 <= number <= _BIGGEST else None


def most_entries(limit: int) -> int:
    """Return how many entries a page of this limit may grow to before it is split."""
    return min(limit + limit // 10, MAX_ENTRIES)


def split_step(rows: int, limit: int, *, is_last: bool) -> int:
    """Return how many rows each piece of an overfull page gets.

    The last page is cut at its end, so that keys which grow fill pages to the limit.
    Others are cut into an even number of equal pieces, each well over the half at
    which neighbours merge and well under the limit.
    """
    if is_last:
        return limit
    pieces = 2 * -(-rows // (2 * limit))
    return -(-rows // pieces)


def may_merge(entries: int, size: int, limit: int, max_bytes: int) -> bool:
    """Return whether two neighbours hold so little that one page will do.

    Half of what a page may hold is left for more to come, or it would split again.
    Entries and size, in uncompressed bytes, are those of both together.
    """
    return entries < limit // 2 and size < max_bytes // 2
