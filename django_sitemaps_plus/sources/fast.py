"""The fast way from tuples to lines: one join for all rows of a batch.

It writes what :class:`~.rows.RowRenderer` would write, for batches in which no value
needs escaping, quoting, dropping or a second look; others it declines.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django_sitemaps_plus.core.escaping import escape
from django_sitemaps_plus.core.limits import MAX_URL_LENGTH
from django_sitemaps_plus.core.renderers import url_line

from .route import FastRoute
from .tally import Tally

# Paths of our own that need no work, one a line.
_PLAIN_PATHS = re.compile(r"(?:/(?:[A-Za-z0-9\-._~][A-Za-z0-9\-._~/]*)?\n)+")
_DIGITS = bytes.maketrans(b"123456789", b"000000000")
_DATE = b"0000-00-00"
_MOMENT = _DATE + b"T00:00:00+00:00"
_OFFSET_DIGITS = (20, 21, 23, 24)

# Marks in a line where a column goes; no URL has a tab.
_COLUMN = "\t"

ColumnCheck = Callable[[Sequence[Any]], bool]


@dataclass(frozen=True, slots=True)
class Lines:
    """Renders batches of tuples that hold a URL's arguments and perhaps a lastmod.

    Attributes:
        pieces: text before, between and after the columns of a line.
        bare: the same without the tags around the lastmod, for batches in which some
            rows have none.
        checks: for each column of the location, what says that it is harmless.
        room: characters that the arguments of one URL may have together.
        has_lastmod: whether the last column is the lastmod, as text.
    """

    pieces: tuple[str, ...]
    bare: tuple[str, ...]
    checks: tuple[ColumnCheck, ...]
    room: int
    has_lastmod: bool

    def __call__(self, rows: Sequence[Any], tally: Tally) -> str | None:
        """Return the lines of all rows; None where a value needs a closer look."""
        columns: list[Sequence[Any]] = list(zip(*rows, strict=True))
        arguments = columns[: len(self.checks)]
        if not all(
            check(column) for check, column in zip(self.checks, arguments, strict=True)
        ):
            return None
        if sum([_longest(column) for column in arguments]) > self.room:
            return None
        if self.has_lastmod:
            return self._with_lastmod(columns, tally)
        tally.entries += len(rows)
        return _fill(self.pieces, columns) if columns else self.pieces[0] * len(rows)

    def _with_lastmod(self, columns: list[Sequence[Any]], tally: Tally) -> str | None:
        *arguments, dates = columns
        present = [text for text in dates if text is not None]
        if not _are_dates(present):
            return None
        tally.entries += len(dates)
        tally.newest = max([tally.newest, *present])
        if len(present) == len(dates):
            return _fill(self.pieces, columns)
        elements = [
            "" if text is None else f"<lastmod>{text}</lastmod>" for text in dates
        ]
        return _fill(self.bare, [*arguments, elements])


def _fill(pieces: tuple[str, ...], columns: Sequence[Sequence[Any]]) -> str:
    """Return a line for each row: its values with the pieces around them."""
    # What lies between two values, and a place for the value that follows.
    between = [pieces[-1] + pieces[0], *pieces[1:-1]]
    texts = [text for piece in between for text in (piece, "")] * len(columns[0])
    for position, column in enumerate(columns):
        values = column if isinstance(column[0], str) else list(map(str, column))
        texts[2 * position + 1 :: 2 * len(columns)] = values
    texts[0] = pieces[0]
    return "".join(texts) + pieces[-1]


def route_lines(
    route: FastRoute, origin: str, has_lastmod: bool, **constants: str | None
) -> Lines:
    """Return the lines of a source whose location is a route.

    The columns are the route's arguments in the order of the URL, then the lastmod.
    """
    location = _COLUMN.join([origin + route.pieces[0], *route.pieces[1:]])
    room = MAX_URL_LENGTH - len(origin) - sum(map(len, route.pieces))
    checks = tuple([check for _, check in route.checks])
    return _lines(location, checks, room, has_lastmod, constants)


def path_lines(origin: str, has_lastmod: bool, **constants: str | None) -> Lines:
    """Return the lines of a source whose location is a column of paths."""
    room = MAX_URL_LENGTH - len(origin)
    return _lines(origin + _COLUMN, (_are_plain_paths,), room, has_lastmod, constants)


def _lines(
    location: str,
    checks: tuple[ColumnCheck, ...],
    room: int,
    has_lastmod: bool,
    constants: Mapping[str, str | None],
) -> Lines:
    # A line of the usual renderer, with marks where the columns go.
    line = url_line(
        "LOCATION",
        "LASTMOD" if has_lastmod else None,
        constants.get("changefreq"),
        constants.get("priority"),
    )
    # The location last: it may hold any word.
    full = line.replace("LASTMOD", _COLUMN)
    bare = line.replace("<lastmod>LASTMOD</lastmod>", _COLUMN)
    location = escape(location)
    return Lines(
        pieces=tuple(full.replace("LOCATION", location).split(_COLUMN)),
        bare=tuple(bare.replace("LOCATION", location).split(_COLUMN)),
        checks=checks,
        room=room,
        has_lastmod=has_lastmod,
    )


def _longest(column: Sequence[Any]) -> int:
    if isinstance(column[0], str):
        return max(map(len, column))
    return 40  # a UUID has 36 characters, a 64-bit integer at most 20


def _are_plain_paths(column: Sequence[Any]) -> bool:
    if set(map(type, column)) != {str}:
        return False
    lines = "\n".join(column) + "\n"
    return lines.count("\n") == len(column) and bool(_PLAIN_PATHS.fullmatch(lines))


def _are_dates(texts: list[str]) -> bool:
    """Return whether each text is a date-time of the form that SQL gave it."""
    if not texts:
        return True
    if set(map(type, texts)) != {str} or len(set(map(len, texts))) != 1:
        return False
    form = _DATE if len(texts[0]) == len(_DATE) else _MOMENT
    together = "".join(texts).encode("utf-8", "replace")
    if together.translate(_DIGITS) != form * len(texts):
        return False
    if form is _MOMENT:
        offsets = [together[digit :: len(_MOMENT)] for digit in _OFFSET_DIGITS]
        if b"".join(offsets).strip(b"0"):
            return False
    try:
        deque(map(datetime.fromisoformat, texts), maxlen=0)
    except ValueError:
        return False
    return True
