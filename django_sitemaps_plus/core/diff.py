"""What changed between two versions of pages: URLs added, updated and removed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

_LOC = b"<url><loc>"
_LOC_END = b"</loc>"
_LASTMOD = re.compile(rb"<lastmod>([^<]*)</lastmod>")
_FEW = 16  # locations that one expression looks for
_ENTITIES = (
    (b"&lt;", b"<"),
    (b"&gt;", b">"),
    (b"&quot;", b'"'),
    (b"&apos;", b"'"),
    (b"&amp;", b"&"),  # last, so that no other arises from it
)

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


def urls_in(document: bytes) -> list[str]:
    """Return the URLs of an urlset of ours, or of lines of one, each once."""
    return _urls(_locs(document.split(b"\n")))


def lastmods_in(document: bytes) -> list[str]:
    """Return the lastmods of an urlset of ours, in its order."""
    return [text.decode() for text in _LASTMOD.findall(document)]


def without_lastmods(document: bytes) -> bytes:
    """Return an urlset of ours without them."""
    return _LASTMOD.sub(b"", document)


def diff(old: Documents, new: Documents) -> Diff:
    """Compare urlsets of ours, one entry a line, with one of each side in memory.

    All old ones are compared with all new ones, so an entry that only moved to another
    page is not a change. Both sides are uncompressed and in the order of their keys:
    they are read in step, and equal lines are dropped.
    """
    sides = _Side(iter(old())), _Side(iter(new()))
    while any(side.has_more for side in sides):
        min(sides, key=lambda side: (not side.has_more, side.size)).read_on()
        common = sides[0].lines & sides[1].lines
        for side in sides:
            side.lines -= common
    return _compare(_locs(sides[0].lines ^ sides[1].lines), old(), new())


def _compare(changed: set[bytes], old: Iterable[bytes], new: Iterable[bytes]) -> Diff:
    """Compare all lines of locations of which some line is not on both sides."""
    if not changed:
        return Diff()
    before, after = _by_loc(changed, old), _by_loc(changed, new)
    both = before.keys() & after.keys()
    return Diff(
        added=_urls(after.keys() - both),
        updated=_urls(loc for loc in both if before[loc] != after[loc]),
        removed=_urls(before.keys() - both),
    )


def _by_loc(locs: set[bytes], documents: Iterable[bytes]) -> dict[bytes, set[bytes]]:
    """Return the lines of some locations; two rows may have the same URL."""
    found: dict[bytes, set[bytes]] = {}
    for document in documents:
        for line in _lines_of(locs, document):
            found.setdefault(_loc(line), set()).add(line)
    return found


def _lines_of(locs: set[bytes], document: bytes) -> Iterable[bytes]:
    if len(locs) > _FEW:
        return [line for line in document.split(b"\n") if _loc(line) in locs]
    pattern = b"|".join(map(re.escape, locs))
    return [match[0] for match in re.finditer(b"(?:%b).*" % pattern, document)]


@dataclass(slots=True)
class _Side:
    """The lines of one side that the other does not have so far."""

    documents: Iterator[bytes]
    lines: set[bytes] = field(default_factory=set)
    size: int = 0  # bytes read
    has_more: bool = True

    def read_on(self) -> None:
        """Add the lines of the next document."""
        document = next(self.documents, None)
        self.has_more = document is not None
        if document is not None:
            self.size += len(document)
            self.lines.update(document.split(b"\n"))


def _locs(lines: Iterable[bytes]) -> set[bytes]:
    return {_loc(line) for line in lines if line.startswith(_LOC)}


def _loc(line: bytes) -> bytes:
    """Return the beginning of an entry's line, up to the end of its location."""
    return line[: line.find(_LOC_END) + len(_LOC_END)]


def _urls(locs: Iterable[bytes]) -> list[str]:
    return sorted(map(_url, locs))


def _url(loc: bytes) -> str:
    text = loc[len(_LOC) : -len(_LOC_END)]
    for entity, character in _ENTITIES:
        text = text.replace(entity, character)
    return text.decode()
