"""What changed between two versions of a page: URLs added, updated and removed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from zlib import crc32

_LOC = b"<url><loc>"
_LOC_END = b"</loc>"
_FEW = 16  # locations that are looked for one by one
_SPANS = 8  # parts into which too many differences are cut
_ENTITIES = (
    (b"&lt;", b"<"),
    (b"&gt;", b">"),
    (b"&quot;", b'"'),
    (b"&apos;", b"'"),
    (b"&amp;", b"&"),  # last, so that no other arises from it
)

#: Gives the documents of one side, as often as it is asked.
Documents = Callable[[], Iterator[bytes]]

#: All hashes that a location may have.
EVERY_HASH = range(1 << 32)

#: Bytes of lines that a comparison of many documents keeps at once.
PENDING_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class Diff:
    """URLs by what became of them, each list in alphabetical order.

    Attributes:
        added: those that were not listed before.
        updated: those of which a line has changed.
        removed: those that are not listed any more.
    """

    added: list[str] = field(default_factory=list)
    updated: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.added or self.updated or self.removed)


def urls_in(document: bytes) -> list[str]:
    """Return the URLs of an urlset of ours, or of lines of one, each once."""
    return _urls(_locs(document.split(b"\n")))


def diff(old: Iterable[bytes], new: Iterable[bytes]) -> Diff:
    """Compare urlsets of ours, one entry a line.

    A split or a merge is compared as a whole: the old pages against all new ones, so
    that an entry which only moved to another page is no change.

    Args:
        old: the documents before, uncompressed.
        new: the documents that took their place.
    """
    before, after, *ends = _parts(b"".join(old), b"".join(new))
    return _difference(set(before.split(b"\n")), set(after.split(b"\n")), ends)


def _difference(
    old_lines: set[bytes], new_lines: set[bytes], ends: Iterable[bytes] = ()
) -> Diff:
    """Compare lines; those of the ends are on both sides."""
    changed = _locs(old_lines ^ new_lines)
    # Two rows may have the same URL, and lines of it stay.
    stay = {line for line in old_lines & new_lines if _loc(line) in changed}
    for end in ends:
        stay.update(_lines_of(changed, end))
    kept = _locs(stay)
    gone, come = (
        _locs(old_lines - new_lines - stay),
        _locs(new_lines - old_lines - stay),
    )
    return Diff(
        _urls(come - gone - kept),
        _urls((gone & come) | (gone | come) & kept),
        _urls(gone - come - kept),
    )


def diff_parts(
    old: Documents, new: Documents, max_bytes: int = PENDING_BYTES
) -> Iterator[Diff]:
    """Compare many urlsets with many others, in bounded memory.

    Both sides are read in step, and lines that both have are let go, so what is kept
    is about what differs. Where that is too much, locations are parted by their
    hashes, and each part is compared by reading everything once more.

    Args:
        old: gives the documents before, uncompressed and in the order of their keys.
        new: gives the documents that took their place.
        max_bytes: of lines that are kept, besides one document of each side.

    Yields:
        Differences of different URLs.
    """
    spans = [EVERY_HASH]
    while spans:
        span = spans.pop()
        locs = _differing(old(), new(), span, max_bytes)
        if locs is None:
            step = len(span) // _SPANS  # both are powers of two
            spans += [span[n * step : (n + 1) * step] for n in range(_SPANS)]
        elif locs:
            # Two rows may have the same URL: now all lines of those URLs are compared.
            yield _difference(_all_lines(locs, old()), _all_lines(locs, new()))


def _differing(
    old: Iterator[bytes], new: Iterator[bytes], span: range, max_bytes: int
) -> set[bytes] | None:
    """Return the locations in a span that have a line on one side alone.

    Some others may be among them. None where they are too many for one part.
    """
    left = _Lines(old, span), _Lines(new, span)
    while any(side.has_more for side in left):
        min(left, key=_Lines.progress).read_on()
        common = left[0].lines & left[1].lines
        for side in left:
            side.lines -= common
        size = sum(sum(map(len, side.lines)) for side in left)
        if size > max_bytes and len(span) >= _SPANS:
            return None
    return _locs(left[0].lines ^ left[1].lines)


@dataclass(slots=True)
class _Lines:
    """The lines of one side that the other has not shown yet."""

    documents: Iterator[bytes]
    span: range
    lines: set[bytes] = field(default_factory=set)
    size: int = 0  # bytes read
    has_more: bool = True

    def progress(self) -> tuple[bool, int]:
        """Return what is least for the side that is to be read on."""
        return not self.has_more, self.size

    def read_on(self) -> None:
        """Take in the entries of the next document."""
        document = next(self.documents, None)
        if document is None:
            self.has_more = False
            return
        self.size += len(document)
        lines = (line for line in document.split(b"\n") if line.startswith(_LOC))
        if self.span is not EVERY_HASH:
            lines = (line for line in lines if crc32(_loc(line)) in self.span)
        self.lines.update(lines)


def _all_lines(locs: set[bytes], documents: Iterable[bytes]) -> set[bytes]:
    return {line for document in documents for line in _lines_of(locs, document)}


def _locs(lines: Iterable[bytes]) -> set[bytes]:
    return {_loc(line) for line in lines if line.startswith(_LOC)}


def _loc(line: bytes) -> bytes:
    """Return the begin of the line of an entry, up to the end of its location."""
    return line[: line.find(_LOC_END) + len(_LOC_END)]


def _urls(locs: Iterable[bytes]) -> list[str]:
    return sorted(_url(loc) for loc in locs)


def _url(loc: bytes) -> str:
    text = loc[len(_LOC) : -len(_LOC_END)]
    for entity, character in _ENTITIES:
        text = text.replace(entity, character)
    return text.decode()


def _lines_of(locs: set[bytes], text: bytes) -> Iterator[bytes]:
    """Yield the lines of a text that begin with one of the locations."""
    if len(locs) > _FEW:
        yield from (line for line in text.split(b"\n") if _loc(line) in locs)
        return
    for loc in locs:
        start = text.find(loc)
        while start >= 0:
            end = text.index(b"\n", start)
            yield text[start:end]
            start = text.find(loc, end)


def _parts(old: bytes, new: bytes) -> tuple[bytes, bytes, bytes, bytes]:
    """Cut off the whole lines with which both begin, and those with which both end.

    So an edit costs a comparison of memory; only what lies between is taken apart.

    Returns:
        What is left of the old and of the new, then the begin and the end.
    """
    shorter = min(len(old), len(new))
    start = old.rfind(b"\n", 0, _common(old, new, shorter, from_end=False)) + 1
    tail = _common(old, new, shorter - start, from_end=True)
    line_end = old.find(b"\n", len(old) - tail)
    end = 0 if line_end < 0 else len(old) - line_end - 1
    middles = old[start : len(old) - end], new[start : len(new) - end]
    return *middles, old[:start], old[len(old) - end :]


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
