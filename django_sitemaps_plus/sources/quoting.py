"""Quoting: the values of a column as lines of one text, checked and quoted at once."""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from types import NoneType
from typing import Any, cast
from urllib.parse import quote
from uuid import UUID

from django.urls import converters
from django.utils.http import RFC3986_SUBDELIMS

from django_sitemaps_plus.core.limits import MIN_URL_LENGTH
from django_sitemaps_plus.core.locations import SAFE
from django_sitemaps_plus.core.xml import escape

_NOT_ASCII = re.compile(r"([^\x00-\x7f]+)")
_WORD = "".join([string.ascii_letters, string.digits, "-_"])
_IN_WORDS = f"{_WORD}\n".encode()
_MAX_INT = 2**64  # text of more digits may not even fit into a URL
#: Characters that reverse() leaves as they are.
SAFE_IN_PATHS = RFC3986_SUBDELIMS + "/~:@"
#: The line of what has none of its own; no form matches it.
NO_LINE = "\ud800"
# Characters a URL may hold without another look; UTF-8 cannot express the surrogates.
_USUAL = r"[^\n\ud800-\udfff#%]"
_REST = rf"{_USUAL}*+(?:%[0-9A-Fa-f]{{2}}{_USUAL}*+)*+"
_URL = rf"https?://[a-z0-9.-]{{5,}}+(?::[0-9]{{1,4}}+)?(?:[/?]{_REST})?"
# A folder or file that the joining of URLs leaves as it is.
_FILE = r"[^\n\ud800-\udfff\\/.][^\n\ud800-\udfff\\/]*+"


class _Quoted:
    """Percent-encodes text as ``quote()`` does, and escapes it for XML."""

    def __init__(self, safe: str) -> None:
        table = {it: escape(quote(it, safe=safe)) for it in map(chr, range(128))}
        self._table = {it: text for it, text in table.items() if it not in ("\n", text)}
        self._kept = "".join(table.keys() - self._table.keys()).encode()
        self._changed = re.compile(f"[{re.escape(''.join(self._table))}]")

    def __call__(self, text: str) -> str:
        """Return the text with its line ends; a surrogate becomes any character."""
        encoded = text.encode("utf-8", "replace")
        if not encoded.translate(None, self._kept):
            return text
        text = self._changed.sub(lambda it: self._table[it[0]], text)
        if text.isascii():
            return text
        # All characters that are not ASCII are encoded by one call: a percent sign,
        # itself 25, ends each run of them.
        pieces = _NOT_ASCII.split(text)
        codes = "%".join(pieces[1::2]).encode("utf-8", "replace").hex("%").upper()
        pieces[1::2] = [f"%{run}" for run in codes.split("%25%")]
        return "".join(pieces)


_IN_URL = _Quoted(SAFE)
_IN_ARGUMENT = _Quoted(SAFE_IN_PATHS)


class Form:
    """A regular expression of lines."""

    def __init__(self, line: str) -> None:
        self._line = line  # compiled when it is used, and then kept by `re`

    def odd(self, joined: str) -> list[int]:
        """Return the numbers of the lines that it does not match."""
        lines, odd = re.compile(rf"(?:(?:{self._line})\n)*+"), list[int]()
        number = end = 0
        while True:
            start, match = end, cast("re.Match[str]", lines.match(joined, end))
            end = match.end()
            if end == len(joined):
                return odd
            number += joined.count("\n", start, end)
            odd.append(number)
            number += 1
            end = joined.index("\n", end) + 1


class Quoting:
    """Quotes and escapes the values of a column."""

    def __init__(
        self,
        form: str,  # a regular expression of the values for which that is all
        quoted: _Quoted = _IN_ARGUMENT,
        begin: tuple[str, str] | None = None,  # of a quoted value, and what it becomes
    ) -> None:
        self._form, self._value = Form(form), form
        self._quote = quoted
        self._begin = begin

    def __call__(self, values: Sequence[Any], room: int) -> tuple[list[str], list[int]]:
        """Return the text of each value, and the rows that need another look."""
        joined = one_a_line(values)
        odd: list[int] = []
        # No quoting changes a column of words, of which none is empty.
        are_words = joined.isascii() and re.fullmatch(self._value, _WORD) is not None
        are_words = are_words and not joined.encode().translate(None, _IN_WORDS)
        if not are_words or joined[0] == "\n" or "\n\n" in joined:
            odd = self._form.odd(joined)
            joined = self._quote(joined)
            if self._begin:
                old, new = self._begin
                joined = f"\n{joined}".replace(f"\n{old}", f"\n{new}")[1:]
        texts = joined[:-1].split("\n")
        if max(map(len, texts)) > room:
            long = [row for row, text in enumerate(texts) if len(text) > room]
            odd = sorted({*odd, *long})
        return texts, odd


#: By the type of a route's converter, for those that Django has.
ARGUMENTS = {
    converters.IntConverter: Quoting(converters.IntConverter.regex),
    converters.UUIDConverter: Quoting(converters.UUIDConverter.regex),
    converters.SlugConverter: Quoting(converters.SlugConverter.regex),
    converters.StringConverter: Quoting(r"[^\n\ud800-\udfff/]+"),
    converters.PathConverter: Quoting(r"[^\n\ud800-\udfff]+"),
}

#: Paths as patterns make them, before reverse() quotes them.
PATHS = Quoting(r"/(?!/)[^\n\ud800-\udfff]*+")

#: Names of files, by what storages leave of them in a URL: Django's own and CDNs; S3.
FILE_NAMES = [
    Quoting(rf"(?:{_FILE}(?:/{_FILE})*+)?", _Quoted(safe)) for safe in ("/~!*()'", "/~")
]


def image_quoting(origin: str) -> Quoting:
    """Return what quotes URLs of any host, paths on an origin, and nothing."""
    path = rf"/(?!/){_REST}" if origin else ""
    return Quoting(rf"(?:{_URL}|{path})?", _IN_URL, ("/", f"{origin}/"))


def location_quoting(origin: str | None) -> Quoting:
    """Return what quotes paths and URLs of an origin; with None, URLs of any host."""
    if not origin:
        return Quoting(_URL, _IN_URL)
    missing = max(0, MIN_URL_LENGTH - len(f"{origin}/"))
    path = rf"(?:{re.escape(origin)}/|/(?!/))(?=.{{{missing}}}){_REST}"
    return Quoting(path, _IN_URL, (_IN_URL(f"{origin}/"), "/"))


def one_a_line(values: Sequence[Any]) -> str:
    """Return the text of each value and a line end; None is an empty line."""
    kinds = set(map(type, values))
    if kinds <= {str, NoneType}:
        texts = values if kinds == {str} else [value or "" for value in values]
        joined = "\n".join(texts) + "\n"
        if joined.count("\n") == len(values):
            return joined
    lines = []
    for value in values:
        if value is None:
            line = ""
        elif type(value) is str:
            line = NO_LINE if "\n" in value else value
        elif type(value) is UUID or (type(value) is int and abs(value) < _MAX_INT):
            line = str(value)
        else:
            line = NO_LINE
        lines.append(f"{line}\n")
    return "".join(lines)
