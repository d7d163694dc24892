"""Changes between two versions of pages: URLs added, updated and removed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from .entry_lines import head, heads_of, lines_of, urls_of

#: Gives the documents of one side, each time it is called.
Documents = Callable[[], Iterable[bytes]]


@dataclass(frozen=True, slots=True)
class Diff:
    """URLs by what became of them, each list in alphabetical order."""

    added: list[str] = field(default_factory=list)
    updated: list[str] = field(default_factory=list)  # with other lines than before
    removed: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.added or self.updated or self.removed)


def diff(old: Documents, new: Documents) -> Diff:
    """Compare urlsets of ours, one entry a line, with one of each side in memory.

    All old ones are compared with all new ones, so an entry that only moved to another
    page is not a change. Both sides are uncompressed and in the order of their keys:
    they are read in step, and equal lines are dropped.
    """
    sides = _Side(iter(old())), _Side(iter(new()))
    while any(side.has_more for side in sides):
        shorter = min(sides, key=lambda side: (not side.has_more, side.size))
        document = next(shorter.documents, None)
        shorter.has_more = document is not None
        if document is not None:
            shorter.size += len(document)
            shorter.lines.update(document.split(b"\n"))
        common = sides[0].lines & sides[1].lines
        for side in sides:
            side.lines -= common

    # Compare all lines of each location that has a line on one side alone.
    changed = heads_of(sides[0].lines ^ sides[1].lines)
    if not changed:
        return Diff()
    before, after = _by_loc(changed, old()), _by_loc(changed, new())
    both = before.keys() & after.keys()
    return Diff(
        added=urls_of(after.keys() - both),
        updated=urls_of(loc for loc in both if before[loc] != after[loc]),
        removed=urls_of(before.keys() - both),
    )


def _by_loc(locs: set[bytes], documents: Iterable[bytes]) -> dict[bytes, set[bytes]]:
    """Return the lines of some locations; two rows may have the same URL."""
    by_loc: dict[bytes, set[bytes]] = {}
    for document in documents:
        for line in lines_of(locs, document):
            by_loc.setdefault(head(line), set()).add(line)
    return by_loc


@dataclass(slots=True)
class _Side:
    """The lines of one side that the other does not have so far."""

    documents: Iterator[bytes]
    lines: set[bytes] = field(default_factory=set)
    size: int = 0  # bytes read
    has_more: bool = True
