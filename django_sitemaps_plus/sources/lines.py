"""Lines: write each row as an entry, and count what cannot be listed."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import itemgetter
from typing import Any

from django.db.models import Model

from django_sitemaps_plus.core.xml import printable

from .columns import DoubtError, Getter, Parts, Problem, RouteValues, Values, row_by_row
from .fields import MOBILE, columns_on, location_column

logger = logging.getLogger(__name__)

#: Rows that are rendered, hashed and compressed at once: small enough for the
#: processor's cache, large enough that the work per chunk does not count.
CHUNK_ROWS = 500

#: Problems of one page that are named one by one; the rest is only counted.
MAX_NAMED = 20

#: Characters of a key that names a row, and of other texts on it.
MAX_TEXT = 300

_REPEATED = ValueError(
    "its query repeats it. Add .distinct() to get_queryset(), or filter by Exists()"
)

#: The message that is logged and printed, by action.
_MESSAGES = {
    "row_skipped": "{0.row} left out: {0.reason}",
    "value_dropped": "{0.row} listed without {0.field}: {0.reason}",
    "row_repeated": "{0.row} listed once: {0.reason}",
    "value_doubted": "{0.row} is listed with {0.reason}",
    "lastmod_now": (
        "each lastmod is the time at which the page was rendered, as in the version "
        "before, so engines are not notified of it: give the time of the last change"
    ),
}


@dataclass(frozen=True, slots=True)
class RowName:
    """Short words by which a person finds a row; its model and key where known."""

    words: str
    model: str = ""
    key: str = ""

    def __str__(self) -> str:
        return self.words


#: Names a row of a batch by its number.
Namer = Callable[[Sequence[Any], int], RowName]

_UNNAMED = RowName("")


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A row or a value that a page leaves out, or a note on it, as the page has it."""

    action: str  # of the log
    row: str = ""
    model: str = ""  # its label; "" where the row is of no model, or has no known key
    key: str = ""
    field: str = ""  # what the entry goes without; "location": the whole row
    reason: str = ""

    def __str__(self) -> str:
        return _MESSAGES[self.action].format(self)


#: The note on a page whose lastmods are no news.
LASTMOD_NOW = LeftOut("lastmod_now")

#: Actions of notes: nothing is left out.
NOTES = ("value_doubted", LASTMOD_NOW.action)


@dataclass(slots=True)
class Tally:
    """Counts of one page, filled while it is rendered."""

    section: str  # for the log
    entries: int = 0  # that were written
    skipped: int = 0  # rows left out, since no location could be written
    dropped: int = 0  # values left out of their entry, and repetitions of rows
    repeated: int = 0  # repetitions of rows
    newest: str = ""  # the latest lastmod as W3C text
    left_out: list[LeftOut] = field(default_factory=list)  # the first of all
    most: int = MAX_NAMED  # that are kept and logged; the rest is only counted
    #: Faults of codes that are listed all the same.
    doubts: set[str] = field(default_factory=set)
    logs: bool = True  # not where a person looks at rows

    def leave_out(self, row: RowName, name: str, error: Exception) -> None:
        """Count a row without a location, or a value, that is left out; log why."""
        if name == "location":
            self.skipped += 1
            self._keep("row_skipped", row, name, _reason(error))
        else:
            self.dropped += 1
            self._keep("value_dropped", row, name, _reason(error))

    def repeat(self, name: Callable[[], RowName]) -> None:
        """Count a repetition that is left out, and log the first, which is named."""
        self.dropped += 1
        self.repeated += 1
        if self.repeated == 1:
            self._keep("row_repeated", name(), "", str(_REPEATED))

    def doubt(self, name: Callable[[], RowName], error: Exception) -> None:
        """Log what is wrong with a code, for the first row that has it."""
        words = str(error)
        if self.names and words not in self.doubts:
            self.doubts.add(words)
            self._keep("value_doubted", name(), "", words)

    @property
    def names(self) -> bool:
        """Whether the next problem is named."""
        return len(self.left_out) < self.most

    @property
    def problems(self) -> list[str]:
        """The messages about what is kept."""
        return [str(it) for it in self.left_out]

    def _keep(self, action: str, row: RowName, name: str, reason: str) -> None:
        if self.names:
            words, name, reason = [
                printable(it)[:MAX_TEXT] for it in (row.words, name, reason)
            ]
            problem = LeftOut(action, words, row.model, row.key, name, reason)
            self.left_out.append(problem)
            if self.logs:
                extra = {"action": action, "section": self.section}
                logger.warning("section=%s %s", self.section, problem, extra=extra)


def _reason(error: Exception) -> str:
    try:
        message = str(error)
    except Exception:  # noqa: BLE001 - the error's class is the user's code too
        message = "an error without words"
    return f"{type(error).__name__}: {message}"[:MAX_TEXT]


@dataclass(frozen=True, slots=True)
class Lines:
    """Writes the rows of one source as lines."""

    #: Where rows are, by language; by "" where a source lists one language.
    locations: Mapping[str, Values | RouteValues]
    fields: Sequence[Values]  # in the order of the element
    raises: bool  # whether a bad value stops the page
    #: The locations so far, where a query may repeat rows; None where it cannot.
    seen: set[Any] | None = None

    def render(
        self,
        rows: Sequence[Any],
        tally: Tally,
        name: Namer = lambda rows, number: describe(rows[number]),
    ) -> str:
        """Return the lines of the rows, in their order, and count them."""
        problems: list[Problem] = []
        located, lacking = self._located(rows, problems)
        columns = [part for part in located if not isinstance(part, str)]
        if self.seen is not None:
            for row, location in enumerate(zip(*columns, strict=True)):
                if row not in lacking and location in self.seen:
                    lacking.add(row)
                    problems.append((row, "", _REPEATED))
                self.seen.add(location)
        listed, numbers = list(rows), list(range(len(rows)))
        for row in sorted(lacking, reverse=True):
            for column in (listed, numbers, *columns):
                del column[row]

        lines = ""
        if listed:
            fields: Parts = []
            for field_ in self.fields:
                bad: list[Problem] = []
                texts = field_.texts(listed, bad)
                problems += [(numbers[row], what, error) for row, what, error in bad]
                fields += field_.column.parts(texts)
                if field_.column.name == "lastmod" and (newest := max(texts)):
                    tally.newest = max(tally.newest, newest + field_.column.ending)
            lines = self._entries(located, fields, tally, len(listed))
        self._report(problems, lacking, rows, tally, name)
        return lines

    def _located(
        self, rows: Sequence[Any], problems: list[Problem]
    ) -> tuple[Parts, set[int]]:
        """Return the locations, and the numbers of the rows without any."""
        [location] = self.locations.values()
        parts = location.parts(rows, problems)
        if self.seen is not None:  # whole, since batches have their own columns
            parts = [row_by_row(parts, len(rows))]
        return parts, {row for row, *_ in problems}

    def _entries(self, located: Parts, fields: Parts, tally: Tally, count: int) -> str:
        """Return the lines of the listed rows, and count their entries."""
        tally.entries += count
        parts = ["<url><loc>", *located, "</loc>", *fields, "</url>\n"]
        return side_by_side(parts, count)

    def _report(
        self,
        problems: list[Problem],
        lacking: set[int],
        rows: Sequence[Any],
        tally: Tally,
        name: Namer,
    ) -> None:
        """Report the first problem of a row without entries, all of a listed row."""
        reported = {row for row, _, error in problems if error is _REPEATED}
        for row, what, error in sorted(problems, key=itemgetter(0)):
            if error is _REPEATED:
                tally.repeat(partial(name, rows, row))
            elif row in reported:
                error.__traceback__ = None
            elif isinstance(error, DoubtError):
                tally.doubt(partial(name, rows, row), error)
            else:
                if row in lacking:
                    reported.add(row)
                    what = "location"
                # To name a row may take a query.
                is_named = tally.names or self.raises
                named_row = name(rows, row) if is_named else _UNNAMED
                if self.raises:
                    error.add_note(f"({named_row}, {what})")
                    raise error
                tally.leave_out(named_row, what, error)
                # Frames of the error hold all rows of the batch, and the error itself.
                error.__traceback__ = None


def lines_of(
    getters: Mapping[str, Getter],
    origin: str | None,
    raises: bool,
    *,
    is_mobile: bool = False,
) -> Lines:
    """Return what writes rows, given what takes the values of each field from them."""
    location = Values(getters["location"], location_column(origin))
    columns = columns_on(origin).items()
    fields = [Values(getters[name], it) for name, it in columns if name in getters]
    if is_mobile:
        fields.append(MOBILE)
    return Lines({"": location}, fields, raises)


def side_by_side(parts: Parts, count: int) -> str:
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
    # The text between two values, and a place for the value that follows.
    between = [pieces[-1] + pieces[0], *pieces[1:-1]]
    texts = [text for piece in between for text in (piece, "")] * count
    for position, column in enumerate(columns):
        texts[2 * position + 1 :: 2 * len(columns)] = column
    texts[0] = pieces[0]
    return "".join(texts) + pieces[-1]


def describe(row: Any) -> RowName:
    """Return the name of a row."""
    try:
        # Contrib's rows may be items with their language, or dicts with their item.
        if isinstance(row, tuple) and row and isinstance(row[0], Model):
            row, *_ = row
        elif isinstance(row, dict):
            row = row.get("item", row)
        pk = None if isinstance(row, tuple) else getattr(row, "pk", None)
        return RowName(f"row {row!r}"[:200]) if pk is None else named(type(row), pk)
    except Exception:  # noqa: BLE001 - naming a row runs the user's code too
        return RowName(f"row of type {type(row).__name__}")


def named(kind: type[Any], pk: object) -> RowName:
    """Return the name of a row of a model."""
    words, key = f"{kind.__name__} {pk!r}"[:100], str(pk)
    if not issubclass(kind, Model) or len(key) > MAX_TEXT or printable(key) != key:
        return RowName(words)
    return RowName(words, kind._meta.label, key)
