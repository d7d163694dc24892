"""The plan of a section: key ranges that part the whole key space, in order."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KeyRange:
    """The keys that one page owns: from ``low`` up to, not including, ``high``.

    Bounds are the text of keys, as they are stored; ``None`` is infinity. Only the
    database compares them, since their order is its collation's.
    """

    low: str | None = None
    high: str | None = None


def key_ranges(cuts: Iterable[str]) -> list[KeyRange]:
    """Return the ranges between ascending cuts: first from, last to infinity.

    No cut gives the one range that owns every key.
    """
    bounds = [None, *cuts, None]
    return [KeyRange(low, high) for low, high in itertools.pairwise(bounds)]
