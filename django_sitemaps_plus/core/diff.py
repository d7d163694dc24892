"""What changed between two versions of a page: URLs added, updated and removed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

_LOC = b"<url><loc>"
_LOC_END = b"</loc>"
_ENTITIES = (
    (b"&lt;", b"<"),
    (b"&gt;", b">"),
    (b"&quot;", b'"'),
    (b"&apos;", b"'"),
    (b"&amp;", b"&"),  # last, so that no other arises from it
)


@dataclass(frozen=True, slots=True)
class Diff:
    """URLs by what became of them, each list in alphabetical order."""

    added: list[str] = field(default_factory=list)
    updated: list[str] = field(default_factory=list)  # another line for the same URL
    removed: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.added or self.updated or self.removed)


def diff(old: Iterable[bytes], new: Iterable[bytes]) -> Diff:
    """Compare urlsets of ours, one entry a line.

    A split or a merge is compared as a whole: the old pages against all new ones, so
    that an entry which only moved to another page is no change.

    Args:
        old: the documents before, uncompressed.
        new: the documents that took their place.
    """
    before, after = _middle(b"".join(old), b"".join(new))
    old_lines, new_lines = set(before.split(b"\n")), set(after.split(b"\n"))
    gone = set(_urls(old_lines - new_lines))
    come = set(_urls(new_lines - old_lines))
    return Diff(sorted(come - gone), sorted(gone & come), sorted(gone - come))


def _urls(lines: Iterable[bytes]) -> Iterator[str]:
    for line in lines:
        if line.startswith(_LOC):
            text = line[len(_LOC) : line.index(_LOC_END)]
            for entity, character in _ENTITIES:
                text = text.replace(entity, character)
            yield text.decode()


def _middle(old: bytes, new: bytes) -> tuple[bytes, bytes]:
    """Cut off the whole lines with which both begin, and those with which both end.

    So an edit costs a comparison of memory; only what lies between is taken apart.
    """
    shorter = min(len(old), len(new))
    start = old.rfind(b"\n", 0, _common(old, new, shorter, from_end=False)) + 1
    tail = _common(old, new, shorter - start, from_end=True)
    line_end = old.find(b"\n", len(old) - tail)
    end = 0 if line_end < 0 else len(old) - line_end - 1
    return old[start : len(old) - end], new[start : len(new) - end]


def _common(a: bytes, b: bytes, limit: int, *, from_end: bool) -> int:
    """Return how many bytes both have in common at one end, at most ``limit``."""
    known, step = 0, 1 << 16
    while step:
        while known + step <= limit and _equal(a, b, known, step, from_end):
            known += step
        step //= 2
    return known


def _equal(a: bytes, b: bytes, known: int, step: int, from_end: bool) -> bool:
    if from_end:
        at_a, at_b = len(a) - known - step, len(b) - known - step
        return a[at_a : at_a + step] == b[at_b : at_b + step]
    return a[known : known + step] == b[known : known + step]
