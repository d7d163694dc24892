"""Quoting: the values of a column as lines of one text, checked and quoted at once."""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from typing import Any, cast
from urllib.parse import quote
from uuid import UUID

from django.urls import converters
from django.utils.http import RFC3986_SUBDELIMS

from django_sitemaps_plus.core.limits import MIN_URL_LENGTH
from django_sitemaps_plus.core.locations import SAFE
from django_sitemaps_plus.core.xml import escape

_MAX_KEPT = 1 << 15  # characters: more than the languages of a site have
_WORD = "".join([string.ascii_letters, string.digits, "-_"])
_IN_WORDS = f"{_WORD}\n".encode()
_MAX_INT = 2**64  # text of more digits may not even fit into a URL
# What a URL may hold without another look; UTF-8 cannot express the surrogates.
_USUAL = r"[^\n\ud800-\udfff#%]"
_REST = rf"{_USUAL}*+(?:%[0-9A-Fa-f]{{2}}{_USUAL}*+)*+"


class _Quoted(dict[int, str]):
    """What each character becomes in a URL within XML, filled as they are met."""

    def __init__(self, safe: str) -> None:
        super().__init__({ord("\n"): "\n"})
        self._safe = safe

    def __missing__(self, point: int) -> str:
        text = escape(quote(chr(point), safe=self._safe, errors="ignore"))
        if len(self) < _MAX_KEPT:
            self[point] = text
        return text


_IN_URL = _Quoted(SAFE)
_IN_ARGUMENT = _Quoted(RFC3986_SUBDELIMS + "/~:@")  # what reverse() leaves as it is


class Form:
    """A regular expression of lines."""

    def __init__(self, line: str) -> None:
        self._lines = re.compile(rf"(?:(?:{line})\n)*+")

    def odd(self, joined: str) -> list[int]:
        """Return the numbers of the lines that it does not match."""
        odd: list[int] = []
        number = end = 0
        while True:
            start, end = (
                end,
                cast("re.Match[str]", self._lines.match(joined, end)).end(),
            )
            if end == len(joined):
                return odd
            number += joined.count("\n", start, end)
            odd.append(number)
            number += 1
            end = joined.index("\n", end) + 1


class Quoting:
    """Quotes and escapes the values of a column.

    Args:
        form: regular expression of the values for which that is all.
        table: what each character becomes.
        origin: what is left out where a value begins with it and a slash.
    """

    def __init__(
        self, form: str, table: _Quoted = _IN_ARGUMENT, origin: str = ""
    ) -> None:
        self._form = Form(form)
        self._takes_words = re.fullmatch(form, _WORD) is not None
        self._table = table
        self._origin = origin

    def __call__(self, values: Sequence[Any], room: int) -> tuple[list[str], list[int]]:
        """Return the text of each value, and the rows that need another look."""
        joined = one_a_line(values)
        odd: list[int] = []
        if not (self._takes_words and _is_words(joined)):
            odd = self._form.odd(joined)
            if self._origin and self._origin in joined:
                joined = f"\n{joined}".replace(f"\n{self._origin}/", "\n/")[1:]
            joined = joined.translate(self._table)
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


def url_quoting(origin: str | None) -> Quoting:
    """Return what quotes paths and URLs of an origin; with None, URLs of any host."""
    if not origin:
        host = r"https?://[a-z0-9.-]{5,}+(?::[0-9]{1,4}+)?"
        return Quoting(rf"{host}(?:[/?]{_REST})?", _IN_URL)
    missing = max(0, MIN_URL_LENGTH - len(f"{origin}/"))
    path = rf"(?:{re.escape(origin)}/|/(?!/))(?=.{{{missing}}}){_REST}"
    return Quoting(path, _IN_URL, origin)


def _is_words(joined: str) -> bool:
    """Return whether each line is a word that no quoting changes, and none is empty."""
    is_plain = joined.isascii() and not joined.encode().translate(None, _IN_WORDS)
    return is_plain and joined[0] != "\n" and "\n\n" not in joined


def one_a_line(values: Sequence[Any]) -> str:
    """Return the text of each value and a line end; nothing for what has no line."""
    if set(map(type, values)) == {str}:
        joined = "\n".join(values) + "\n"
        if joined.count("\n") == len(values):
            return joined
    return "".join([f"{_line(value)}\n" for value in values])


def _line(value: Any) -> str:
    if type(value) is str:
        return "" if "\n" in value else value
    is_short = type(value) is UUID or (type(value) is int and abs(value) < _MAX_INT)
    return str(value) if is_short else ""
