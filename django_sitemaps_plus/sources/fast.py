"""The fast way from tuples to lines: one %-format for all rows of a batch.

It writes what :class:`~.rows.RowRenderer` would write, for batches in which no value
needs escaping, quoting, dropping or a second look; others it declines.
"""

from __future__ import annotations

import re
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

ColumnCheck = Callable[[Sequence[Any]], bool]


@dataclass(frozen=True, slots=True)
class Lines:
    """Renders batches of tuples that hold a URL's arguments and perhaps a lastmod.

    Attributes:
        template: %-format of a line; its arguments are the columns in order.
        bare: the same without the tags around the lastmod, for batches in which some
            rows have none.
        checks: for each column of the location, what says that it is harmless.
        room: characters that the arguments of one URL may have together.
        has_lastmod: whether the last column is the lastmod, as text.
    """

    template: str
    bare: str
    checks: tuple[ColumnCheck, ...]
    room: int
    has_lastmod: bool

    def __call__(self, rows: Sequence[Any], tally: Tally) -> str | None:
        """Return the lines of all rows; None where a value needs a closer look."""
        columns = list(zip(*rows, strict=True))
        arguments = columns[: len(self.checks)]
        if not all(
            check(column) for check, column in zip(self.checks, arguments, strict=True)
        ):
            return None
        if sum([_longest(column) for column in arguments]) > self.room:
            return None
        if not self.has_lastmod:
            tally.entries += len(rows)
            return "".join([self.template % row for row in rows])
        return self._with_lastmod(rows, columns, tally)

    def _with_lastmod(
        self, rows: Sequence[Any], columns: list[Any], tally: Tally
    ) -> str | None:
        dates = [text for text in columns[-1] if text is not None]
        if not _are_dates(dates):
            return None
        tally.entries += len(rows)
        tally.newest = max([tally.newest, *dates])
        if len(dates) == len(rows):
            return "".join([self.template % row for row in rows])
        elements = [
            "" if text is None else f"<lastmod>{text}</lastmod>" for text in columns[-1]
        ]
        rows = zip(*columns[:-1], elements, strict=True)  # type: ignore[assignment]
        return "".join([self.bare % row for row in rows])


def route_lines(
    route: FastRoute, origin: str, has_lastmod: bool, **constants: str | None
) -> Lines:
    """Return the lines of a source whose location is a route.

    The columns are the route's arguments in the order of the URL, then the lastmod.
    """
    pieces = [_literal(piece) for piece in route.pieces]
    location = "%s".join([_literal(origin) + pieces[0], *pieces[1:]])
    room = MAX_URL_LENGTH - len(origin) - sum(map(len, route.pieces))
    checks = tuple([check for _, check in route.checks])
    return _lines(location, checks, room, has_lastmod, constants)


def path_lines(origin: str, has_lastmod: bool, **constants: str | None) -> Lines:
    """Return the lines of a source whose location is a column of paths."""
    room = MAX_URL_LENGTH - len(origin)
    location = _literal(origin) + "%s"
    return _lines(location, (_are_plain_paths,), room, has_lastmod, constants)


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
    line = line.replace("%", "%%")
    # The location last: it may hold any word.
    full = line.replace("LASTMOD", "%s").replace("LOCATION", location)
    bare = line.replace("<lastmod>LASTMOD</lastmod>", "%s")
    return Lines(
        template=full,
        bare=bare.replace("LOCATION", location),
        checks=checks,
        room=room,
        has_lastmod=has_lastmod,
    )


def _literal(text: str) -> str:
    return escape(text).replace("%", "%%")


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
        for text in texts:
            datetime.fromisoformat(text)
    except ValueError:
        return False
    return True
