"""Our own documents read back: one entry a line, its location and its lastmod first."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

_LOC = b"<url><loc>"
_LOC_END = b"</loc>"
_FEW = 16  # locations that one expression looks for
_LASTMOD = re.compile(rb"<lastmod>([^<]*)</lastmod>")
_DATED = re.compile("</loc><lastmod>([^<]+)")
_TEXT = re.compile("<url><loc>([^<]*)</loc>")
_LINE = re.compile(
    r"^<(?:url|sitemap)><loc>(.*?)</loc>(?:<lastmod>(.*?)</lastmod>)?(.*)", re.MULTILINE
)
_ENTITIES = (
    (b"&lt;", b"<"),
    (b"&gt;", b">"),
    (b"&quot;", b'"'),
    (b"&apos;", b"'"),
    (b"&amp;", b"&"),  # last, so that no other arises from it
)


def entries_in(text: str) -> list[tuple[str, str, str]]:
    """Return location, lastmod and the rest of each line of a urlset or an index.

    They are escaped as they stand; a lastmod may be "".
    """
    return _LINE.findall(text)


def locations_in(text: str) -> list[str]:
    """Return the escaped locations of lines, in their order."""
    return _TEXT.findall(text)


def urls_in(document: bytes) -> list[str]:
    """Return the URLs of an urlset, or of lines of one, each once, in order."""
    return urls_of(heads_of(document.split(b"\n")))


def lastmods_in(document: bytes) -> list[str]:
    """Return the lastmods of an urlset, or of one line, in their order."""
    return [text.decode() for text in _LASTMOD.findall(document)]


def without_lastmods(document: bytes) -> bytes:
    """Return an urlset without its lastmods."""
    return _LASTMOD.sub(b"", document)


def dated_lines(lines: Iterable[str]) -> list[tuple[str, str]]:
    """Return the lastmod of each line that has one, with the line."""
    return [(match[1], line) for line in lines if (match := _DATED.search(line))]


def head(line: bytes) -> bytes:
    """Return the beginning of an entry's line, up to the end of its location."""
    return line[: line.find(_LOC_END) + len(_LOC_END)]


def heads_of(lines: Iterable[bytes]) -> set[bytes]:
    """Return the beginnings of those lines that are entries."""
    return {head(line) for line in lines if line.startswith(_LOC)}


def urls_of(heads: Iterable[bytes]) -> list[str]:
    """Return the URLs of beginnings of lines, unescaped, in alphabetical order."""
    urls = []
    for line in heads:
        url = line[len(_LOC) : -len(_LOC_END)]
        for entity, character in _ENTITIES:
            url = url.replace(entity, character)
        urls.append(url.decode())
    return sorted(urls)


def head_of(escaped: str) -> bytes:
    """Return the beginning of the line of an escaped location."""
    return b"%b%b%b" % (_LOC, escaped.encode(), _LOC_END)


def lines_of(heads: Collection[bytes], document: bytes) -> list[bytes]:
    """Return the lines of a document that begin by one of some beginnings."""
    if len(heads) > _FEW:
        return [line for line in document.split(b"\n") if head(line) in heads]
    pattern = b"|".join(map(re.escape, heads))
    return [match[0] for match in re.finditer(b"(?:%b).*" % pattern, document)]
