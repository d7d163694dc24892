"""Quoting: the values of a column as lines of one text, checked and quoted at once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, cast
from urllib.parse import quote
from uuid import UUID

from django.urls import converters
from django.utils.http import RFC3986_SUBDELIMS

from django_sitemaps_plus.core.limits import MAX_URL_LENGTH, MIN_URL_LENGTH
from django_sitemaps_plus.core.locations import SAFE
from django_sitemaps_plus.core.xml import escape

_MAX_INT = 2**64  # text of more digits may not even fit into a URL
_ALNUM = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
_UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_ANY = r"[^\n\ud800-\udfff]"  # what UTF-8 can express
_USUAL = r"[^\n\ud800-\udfff#%]"  # and a URL without a second look


class _Quoted(dict[int, str]):
    """What each character becomes in a URL within XML, filled as they are met."""

    def __init__(self, safe: str) -> None:
        super().__init__({ord("\n"): "\n"})
        self._safe = safe

    def __missing__(self, point: int) -> str:
        self[point] = escape(quote(chr(point), safe=self._safe, errors="ignore"))
        return self[point]


_IN_URL = _Quoted(SAFE)
_IN_ARGUMENT = _Quoted(RFC3986_SUBDELIMS + "/~:@")  # what reverse() leaves as it is


class Quoting:
    """Quotes and escapes the values of a column of one form.

    Args:
        form: regular expression of the values for which that is right.
        plain: characters that stay as they are; values of no others have the form.
        table: what each character becomes.
    """

    def __init__(self, form: str, plain: bytes, table: _Quoted = _IN_ARGUMENT) -> None:
        self._lines = re.compile(rf"(?:{form}\n)*+")
        self._plain = plain + b"\n"
        self._table = table

    def __call__(self, values: Sequence[Any]) -> tuple[list[str], list[int]]:
        """Return the text of each value, and the rows where that is not right."""
        joined = one_a_line(values)
        if self._is_plain(joined) and "\n\n" not in f"\n{joined}":
            return joined[:-1].split("\n"), []
        return self._quoted(joined), odd_lines(self._lines, joined)

    def _quoted(self, joined: str) -> list[str]:
        if not self._is_plain(joined):
            joined = joined.translate(self._table)
        return joined[:-1].split("\n")

    def _is_plain(self, joined: str) -> bool:
        return joined.isascii() and not joined.encode().translate(None, self._plain)


class UrlQuoting(Quoting):
    """Quotes URLs of any host; with an origin its own alone, from their paths on."""

    def __init__(self, origin: str | None) -> None:
        form = rf"{_USUAL}*+(?:%[0-9A-Fa-f]{{2}}{_USUAL}*+)*+"
        if origin:
            missing = max(0, MIN_URL_LENGTH - len(f"{origin}/"))
            form = rf"(?:{re.escape(origin)}/|/(?!/))(?=.{{{missing}}}){form}"
        else:
            form = rf"https?://[a-z0-9.-]{{5,}}+(?::[0-9]{{1,4}}+)?(?:[/?]{form})?+"
        super().__init__(form, _ALNUM + b"-._~/?:@!$()*+,;=%", _IN_URL)
        self._origin = origin or ""

    def __call__(self, values: Sequence[Any]) -> tuple[list[str], list[int]]:
        joined = one_a_line(values)
        odd = odd_lines(self._lines, joined)
        if self._origin and self._origin in joined:
            joined = f"\n{joined}".replace(f"\n{self._origin}/", "\n/")[1:]
        texts = self._quoted(joined)
        room = MAX_URL_LENGTH - len(self._origin)
        if max(map(len, texts)) > room:
            long = [row for row, text in enumerate(texts) if len(text) > room]
            odd = sorted({*odd, *long})
        return texts, odd


#: By the type of a route's converter, for those that Django has.
ARGUMENTS = {
    converters.IntConverter: Quoting("[0-9]++", b"0123456789"),
    converters.UUIDConverter: Quoting(_UUID, b""),
    converters.SlugConverter: Quoting("[-a-zA-Z0-9_]++", _ALNUM + b"-_"),
    converters.StringConverter: Quoting(r"[^\n\ud800-\udfff/]++", _ALNUM + b"-_.~"),
    converters.PathConverter: Quoting(f"{_ANY}++", _ALNUM + b"-_.~/"),
}


def one_a_line(values: Sequence[Any]) -> str:
    """Return the text of each value and a line end; nothing for what has no line."""
    kinds = set(map(type, values))
    texts = values
    if kinds == {int} and min(values) > -_MAX_INT and max(values) < _MAX_INT:
        texts = list(map(str, values))
    elif kinds != {str}:
        texts = list(map(_line, values))
    joined = "\n".join(texts) + "\n"
    if joined.count("\n") != len(texts):
        joined = "".join([f"{_line(text)}\n" for text in texts])
    return joined


def _line(value: Any) -> str:
    if type(value) is str:
        return "" if "\n" in value else value
    is_short = type(value) is UUID or (type(value) is int and abs(value) < _MAX_INT)
    return str(value) if is_short else ""


def odd_lines(lines: re.Pattern[str], joined: str) -> list[int]:
    """Return the numbers of the lines that a pattern of many lines does not take."""
    odd: list[int] = []
    number = end = 0
    while True:
        start, end = end, cast("re.Match[str]", lines.match(joined, end)).end()
        if end == len(joined):
            return odd
        number += joined.count("\n", start, end)
        odd.append(number)
        number += 1
        end = joined.index("\n", end) + 1
