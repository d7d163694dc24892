"""Lines: write each row as an entry, and count what cannot be listed."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

from .columns import Getter, Parts, Problem, RouteValues, Values
from .elements import COLUMNS, location_column

logger = logging.getLogger(__name__)

#: Rows that are rendered, hashed and compressed at once: small enough for the
#: processor's cache, large enough that the work per chunk does not count.
CHUNK_ROWS = 500

#: Problems of one page that are named one by one; the rest is only counted.
MAX_NAMED = 20


@dataclass(slots=True)
class Tally:
    """Counts of one page, filled while it is rendered.

    Attributes:
        section: name of the section, for the log.
        entries: entries written.
        skipped: rows left out, since no location could be written.
        dropped: values left out of their entry.
        newest: the latest lastmod as W3C text, or ``""``.
        problems: messages about the first of them.
    """

    section: str
    entries: int = 0
    skipped: int = 0
    dropped: int = 0
    newest: str = ""
    problems: list[str] = field(default_factory=list)

    def skip(self, row: str, error: Exception) -> None:
        """Count a row that is left out, and log why."""
        self.skipped += 1
        self._name(f"{row} left out: {_reason(error)}", "row_skipped")

    def drop(self, row: str, name: str, error: Exception) -> None:
        """Count a value that is left out, and log why."""
        self.dropped += 1
        self._name(f"{row} listed without {name}: {_reason(error)}", "value_dropped")

    def _name(self, problem: str, action: str) -> None:
        if len(self.problems) >= MAX_NAMED:
            return
        self.problems.append(problem)
        extra = {"action": action, "section": self.section}
        logger.warning("section=%s %s", self.section, problem, extra=extra)


def _reason(error: Exception) -> str:
    try:
        # Lone surrogates in the data would break the log's own encoding.
        message = str(error).encode("ascii", "backslashreplace").decode()
    except Exception:  # noqa: BLE001 - the error's class is the user's code too
        message = "an error without words"
    return f"{type(error).__name__}: {message}"[:300]


@dataclass(frozen=True, slots=True)
class Lines:
    """Writes the rows of one source as lines."""

    location: Values | RouteValues  # rows without one are left out
    fields: Sequence[Values]  # in the order of the element
    raises: bool  # whether a bad value stops the page

    def render(self, rows: Sequence[Any], tally: Tally) -> str:
        """Return the lines of the rows, in their order, and count them."""
        problems: list[Problem] = []
        location = self.location.parts(rows, problems)
        columns = [part for part in location if not isinstance(part, str)]
        listed, numbers = list(rows), list(range(len(rows)))
        for row, *_ in reversed(problems):
            for column in (listed, numbers, *columns):
                del column[row]
        lines = ""
        if listed:
            fields = self._fields(listed, numbers, problems, tally)
            parts = ["<url><loc>", *location, "</loc>", *fields, "</url>\n"]
            lines = _side_by_side(parts, len(listed))
        self._report(problems, rows, tally)
        tally.entries += len(listed)
        return lines

    def _fields(
        self,
        listed: list[Any],
        numbers: list[int],
        problems: list[Problem],
        tally: Tally,
    ) -> Parts:
        parts: Parts = []
        for field_ in self.fields:
            dropped: list[Problem] = []
            texts = field_.texts(listed, dropped)
            problems += [(numbers[row], name, error) for row, name, error in dropped]
            parts += field_.column.parts(texts)
            if field_.column.name == "lastmod" and (newest := max(texts)):
                tally.newest = max(tally.newest, newest + field_.column.ending)
        return parts

    def _report(
        self, problems: list[Problem], rows: Sequence[Any], tally: Tally
    ) -> None:
        for row, name, error in sorted(problems, key=itemgetter(0)):
            if self.raises:
                raise error
            if name == "location":
                tally.skip(describe(rows[row]), error)
            else:
                tally.drop(describe(rows[row]), name, error)


def lines_of(getters: Mapping[str, Getter], origin: str | None, raises: bool) -> Lines:
    """Return what writes rows, given what takes the values of each field from them."""
    location = Values(getters["location"], location_column(origin))
    names = [name for name in COLUMNS if name in getters]
    fields = [Values(getters[name], COLUMNS[name]) for name in names]
    return Lines(location, fields, raises)


def _side_by_side(parts: Parts, count: int) -> str:
    """Return the text of all rows, of which there is at least one."""
    pieces, columns = [""], []
    for part in parts:
        if isinstance(part, str):
            pieces[-1] += part
        else:
            columns.append(part)
            pieces.append("")
    if not columns:
        return pieces[0] * count
    # What lies between two values, and a place for the value that follows.
    between = [pieces[-1] + pieces[0], *pieces[1:-1]]
    texts = [text for piece in between for text in (piece, "")] * count
    for position, column in enumerate(columns):
        texts[2 * position + 1 :: 2 * len(columns)] = column
    texts[0] = pieces[0]
    return "".join(texts) + pieces[-1]


def describe(row: object) -> str:
    """Return words by which a person finds a row, in ASCII and short."""
    try:
        pk = getattr(row, "pk", None)
        if pk is not None and not isinstance(row, tuple):
            return f"{type(row).__name__} {ascii(pk)[:100]}"
        return f"row {ascii(row)[:200]}"
    except Exception:  # noqa: BLE001 - naming a row runs the user's code too
        return f"row of type {type(row).__name__}"
