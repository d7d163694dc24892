"""Columns: the values of one field in many rows, made text together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from django_sitemaps_plus.core.limits import MAX_URL_LENGTH
from django_sitemaps_plus.outages import is_passing

from .quoting import Quoting
from .route import PlainRoute

#: A function that takes the values of a field from rows.
Getter = Callable[[Sequence[Any]], Sequence[Any]]

#: A row by its number in the batch, the name of what it has not got, and why.
Problem = tuple[int, str, Exception]

#: Text that all rows share, and lists with a text for each row, side by side.
Parts = list[str | list[str]]

# Values that many rows share, as a rule.
_RECURRING = (str, int, float, type(None))


class NoLocationError(ValueError):
    """A row has no location: its value is None."""


@dataclass(frozen=True, slots=True)
class Failed:
    """Stands for a value whose code raised an error."""

    error: Exception


class Doubtful(str):
    """Text that is written, though engines will not understand a code in it."""

    __slots__ = ("doubt",)
    doubt: str


class DoubtError(ValueError):
    """Stands for the doubt about a value that is written all the same."""


def attempt(function: Callable[[Any], Any], value: Any) -> Any:
    """Return what a function makes of a value, or what stands for the value's error."""
    if type(value) is Failed:
        return value
    try:
        return function(value)
    except Exception as error:
        if is_passing(error):
            raise
        return Failed(error)


def called(function: Callable[[Any], Any]) -> Getter:
    """Return what calls code of the user for each row."""
    return lambda rows: [attempt(function, row) for row in rows]


def selected(take: Callable[[Any], Any]) -> Getter:
    """Return what takes from each row a value that the query selected."""
    return lambda rows: list(map(take, rows))


def constant(value: Any) -> Getter:
    """Return what gives each row the same value."""
    return lambda rows: [value] * len(rows)


def row_by_row(parts: Parts, count: int) -> list[str]:
    """Return the text of each row."""
    same = [[it] * count if isinstance(it, str) else it for it in parts]
    return list(map("".join, zip(*same, strict=True)))


@dataclass(frozen=True, kw_only=True)
class Column:
    """Writes the values of one field, one by one."""

    name: str  # of the field
    write: Callable[[Any], str]  # raises what is wrong with a value
    before: str = ""  # stands before each text in its line
    after: str = ""
    ending: str = ""  # that all texts share, and that ``texts`` leaves out

    #: Texts of values that need not be written.
    known: ClassVar[Mapping[Any, str]] = {None: ""}

    def texts(self, values: Sequence[Any], problems: list[Problem]) -> list[str]:
        """Return the text of each value: "" of None, and of what cannot be written."""
        texts = [""] * len(values)
        self.write_rows(range(len(values)), values, texts, problems)
        return texts

    def parts(self, texts: list[str]) -> Parts:
        """Return texts with what stands around those that are there."""
        before, after = self.before, self.ending + self.after
        if "" not in texts or not self.known:
            return [before, texts, after]
        return [[f"{before}{text}{after}" if text else "" for text in texts]]

    def write_rows(
        self,
        rows: Iterable[int],
        values: Sequence[Any] | Mapping[int, Any],
        texts: list[str] | dict[int, str],
        problems: list[Problem],
    ) -> None:
        """Write the values of some rows one by one."""
        known: dict[Any, Any] = dict(self.known)
        for row in rows:
            value = values[row]
            recurs = type(value) in _RECURRING
            text = known.get(value) if recurs else None
            if text is None:
                text = attempt(self.write, value)
                if recurs:
                    known[value] = text
            if type(text) is Failed:
                problems.append((row, self.name, text.error))
                text = ""
            texts[row] = text


def doubts(row: int, name: str, texts: Iterable[str]) -> list[Problem]:
    """Return what is doubtful in the texts of a row."""
    doubtful = [it for it in texts if type(it) is Doubtful]
    return [(row, name, DoubtError(text.doubt)) for text in doubtful]


class CodedColumn(Column):
    """Writes values with codes of languages or countries, which may be doubtful."""

    def texts(self, values: Sequence[Any], problems: list[Problem]) -> list[str]:
        texts = super().texts(values, problems)
        for row, text in enumerate(texts):
            problems += doubts(row, self.name, [text])
        return texts


@dataclass(frozen=True, kw_only=True)
class UrlColumn(Column):
    """Writes URLs, together where they are strings."""

    quote: Quoting

    def texts(self, values: Sequence[Any], problems: list[Problem]) -> list[str]:
        if str not in set(map(type, values)):
            return super().texts(values, problems)
        texts, odd = self.quote(values, MAX_URL_LENGTH - len(self.before))
        self.write_rows(odd, values, texts, problems)
        return texts


class LocationColumn(UrlColumn):
    """Writes locations, of which each row must have one, from their paths on."""

    known: ClassVar[Mapping[Any, str]] = {}


@dataclass(frozen=True, slots=True)
class Values:
    """A field of an entry: where its values are, and how they are written."""

    getter: Getter
    column: Column

    def texts(self, rows: Sequence[Any], problems: list[Problem]) -> list[str]:
        """Return the text of the field in each row."""
        return self.column.texts(self.getter(rows), problems)

    def parts(self, rows: Sequence[Any], problems: list[Problem]) -> Parts:
        """Return the field as it stands in the lines."""
        return self.column.parts(self.texts(rows, problems))


@dataclass(frozen=True, slots=True)
class RouteValues:
    """The location of rows whose URLs a route's pattern makes."""

    getters: tuple[Getter, ...]  # of the route's arguments, in its order
    route: PlainRoute
    column: LocationColumn  # writes the location of a sequence of arguments

    def without(self, rows: Sequence[Any]) -> set[int]:
        """Return the numbers of rows without a location: an argument is None."""
        columns = [getter(rows) for getter in self.getters]
        bad = [column for column in columns if None in column]
        return {row for it in bad for row, value in enumerate(it) if value is None}

    def parts(self, rows: Sequence[Any], problems: list[Problem]) -> Parts:
        """Return the location as it stands in the lines."""
        arguments = [getter(rows) for getter in self.getters]
        places, pieces = self.route.places, self.route.pieces
        room = MAX_URL_LENGTH - sum(map(len, (self.column.before, *pieces)))
        written = self.route.columns(arguments) if self.route.columns else arguments
        quoted = [it(written[number], room // len(places)) for number, it in places]
        columns = [texts for texts, _ in quoted]
        odd = set().union(*[rows for _, rows in quoted])
        paths: dict[int, str] = {}
        values = {row: [column[row] for column in arguments] for row in sorted(odd)}
        self.column.write_rows(values, values, paths, problems)
        parts: Parts = [pieces[0]]
        for texts, piece in zip(columns, pieces[1:], strict=True):
            parts += [texts, piece]
        if any(paths.values()):
            whole = row_by_row(parts, len(rows))
            for row, path in paths.items():
                whole[row] = path
            parts = [whole]
        return [self.column.before, *parts]
