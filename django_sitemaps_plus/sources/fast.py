"""The fast way from tuples to lines: one join for all rows of a batch.

It writes what :class:`~.lines.RowRenderer` would write, for batches in which no value
needs escaping, quoting, dropping or a second look; others it declines.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django_sitemaps_plus.core.limits import MAX_URL_LENGTH
from django_sitemaps_plus.core.renderers import url_line
from django_sitemaps_plus.core.xml import escape

from .dates import DateColumn
from .lines import Tally
from .route import FastRoute

# Paths of our own that need no work, one a line.
_PLAIN_PATHS = re.compile(r"(?:/(?:[A-Za-z0-9\-._~][A-Za-z0-9\-._~/]*)?\n)+")
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
        dates: how the last column is read, where that is the lastmod.
    """

    pieces: tuple[str, ...]
    bare: tuple[str, ...]
    checks: tuple[ColumnCheck, ...]
    room: int
    dates: DateColumn | None

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
        if self.dates is not None:
            return self._with_lastmod(columns, self.dates, tally)
        tally.entries += len(rows)
        return _fill(self.pieces, columns) if columns else self.pieces[0] * len(rows)

    def _with_lastmod(
        self, columns: list[Sequence[Any]], dates: DateColumn, tally: Tally
    ) -> str | None:
        *arguments, values = columns
        present = [value for value in values if value is not None]
        texts = dates.texts(present) if present else []
        if texts is None:
            return None
        tally.entries += len(values)
        if texts:
            tally.newest = max(tally.newest, max(texts) + dates.offset)
        if len(texts) == len(values):
            return _fill(self.pieces, [*arguments, texts])
        elements = iter([f"<lastmod>{text}{dates.offset}</lastmod>" for text in texts])
        lastmods = ["" if value is None else next(elements) for value in values]
        return _fill(self.bare, [*arguments, lastmods])


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
    route: FastRoute, origin: str, dates: DateColumn | None, **constants: str | None
) -> Lines:
    """Return the lines of a source whose location is a route.

    The columns are the route's arguments in the order of the URL, then the lastmod.
    """
    location = _COLUMN.join([origin + route.pieces[0], *route.pieces[1:]])
    room = MAX_URL_LENGTH - len(origin) - sum(map(len, route.pieces))
    checks = tuple([check for _, check in route.checks])
    return _lines(location, checks, room, dates, constants)


def path_lines(origin: str, dates: DateColumn | None, **constants: str | None) -> Lines:
    """Return the lines of a source whose location is a column of paths."""
    room = MAX_URL_LENGTH - len(origin)
    return _lines(origin + _COLUMN, (_are_plain_paths,), room, dates, constants)


def _lines(
    location: str,
    checks: tuple[ColumnCheck, ...],
    room: int,
    dates: DateColumn | None,
    constants: Mapping[str, str | None],
) -> Lines:
    # A line of the usual renderer, with marks where the columns go.
    lastmod = None if dates is None else "LASTMOD" + dates.offset
    frequency, priority = constants.get("changefreq"), constants.get("priority")
    line = url_line("LOCATION", lastmod, frequency, priority)
    # The location last: it may hold any word.
    full = line.replace("LASTMOD", _COLUMN)
    bare = line.replace(f"<lastmod>{lastmod}</lastmod>", _COLUMN)
    location = escape(location)
    return Lines(
        pieces=tuple(full.replace("LOCATION", location).split(_COLUMN)),
        bare=tuple(bare.replace("LOCATION", location).split(_COLUMN)),
        checks=checks,
        room=room,
        dates=dates,
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
