"""Dates as the database writes them, if that is faster than doing it in Python."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from operator import itemgetter
from types import NoneType
from typing import Any

from django.conf import settings
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import CharField, DateField, DateTimeField, F, Func
from django.utils import timezone

from django_sitemaps_plus.core.dates import check_w3c, w3c

from .columns import Column, Failed, Problem, attempt
from .quoting import Form

_DATE = Form("[0-9]{4}-[0-9]{2}-[0-9]{2}|")
_MOMENT = Form("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}|")

# The usual lines, with a 0 for each digit.
_DIGITS = bytes.maketrans(b"123456789", b"0" * 9)
_DATES = b"0000-00-00\n"
_MOMENTS = b"0000-00-00T00:00:00\n"

# What selects a moment and a date, and where the date begins in its text. Functions
# that format dates take up to half the time of a query. JSON is not subject to
# DateStyle; the plus keeps sqlite3 from parsing. Oracle, and whatever else comes,
# hands over dates as Python objects.
_TEXT = {
    "postgresql": (
        "to_json(%(expressions)s AT TIME ZONE 'UTC')::varchar(20)",
        "to_json(%(expressions)s)::varchar(11)",
        len('"'),
    ),
    "sqlite": ("+%(expressions)s", "+%(expressions)s", 0),
    "mysql": ("left(%(expressions)s, 19)", "left(%(expressions)s, 10)", 0),
}


@dataclass(frozen=True, kw_only=True)
class DateColumn(Column):
    """Writes dates, or moments in UTC, that were read as the text of the database."""

    expression: Func[Any]
    taken: slice  # where the date is in its text, to the second

    def texts(self, values: Sequence[Any], problems: list[Problem]) -> list[str]:
        kinds = set(map(type, values))
        if not kinds <= {str, NoneType}:
            return super().texts(values, problems)
        take = itemgetter(self.taken)
        cut = list(map(take, values)) if kinds == {str} else [""]
        if "" in cut:
            cut = ["" if text is None else take(text) or "?" for text in values]
        joined = "\n".join(cut).replace(" ", "T") + "\n"
        if joined.count("\n") != len(values):
            return super().texts(values, problems)
        texts = joined[:-1].split("\n")
        form, shape = (_MOMENT, _MOMENTS) if self.ending else (_DATE, _DATES)
        digits = joined.encode("utf-8", "replace").translate(_DIGITS)
        odd = [] if digits == shape * len(cut) else form.odd(joined)
        for row in odd:
            texts[row] = ""
        try:
            deque(map(datetime.fromisoformat, filter(None, texts)), maxlen=0)
        except ValueError:
            read = [text and attempt(datetime.fromisoformat, text) for text in texts]
            odd += [row for row, moment in enumerate(read) if type(moment) is Failed]
        self.write_rows(sorted(odd), values, texts, problems)
        return texts


def has_utc_text(alias: str) -> bool:
    """Return whether SQL's text of a moment, taken for UTC, is right there."""
    connection: BaseDatabaseWrapper = connections[alias]
    if connection.vendor == "postgresql":
        return True
    # The others store wall clock times, which may have daylight saving time.
    is_utc = settings.USE_TZ and connection.timezone is UTC
    return connection.vendor in _TEXT and is_utc


def date_column(path: str, field: Any, alias: str) -> DateColumn | None:
    """Return how dates at a field path are read as text; None where they are not."""
    if connections[alias].vendor not in _TEXT:
        return None
    moment, day, start = _TEXT[connections[alias].vendor]
    if isinstance(field, DateTimeField):
        is_text, template, offset = has_utc_text(alias), moment, "+00:00"
        taken = slice(start, start + 19)
    else:
        is_text, template, offset = isinstance(field, DateField), day, ""
        taken = slice(start, start + 10)
    if not is_text:
        return None

    def write(value: str) -> str:
        text = value[taken].replace(" ", "T") + offset
        return lastmod_text(text).removesuffix(offset)

    return DateColumn(
        name="lastmod",
        write=write,
        before="<lastmod>",
        after="</lastmod>",
        ending=offset,
        expression=Func(F(path), template=template, output_field=CharField()),
        taken=taken,
    )


def as_stored(moment: datetime) -> datetime:
    """Return a moment as the models of this project hold it."""
    if settings.USE_TZ:
        return moment
    # A request may have activated another time zone.
    return timezone.make_naive(moment, timezone.get_default_timezone())


def lastmod_text(value: object) -> str:
    """Return the W3C text of any value that a source gives as a lastmod.

    Without USE_TZ naive datetimes are in TIME_ZONE, as Django reads them.
    """
    if isinstance(value, str):
        return check_w3c(value)
    if isinstance(value, datetime) and not settings.USE_TZ and timezone.is_naive(value):
        try:
            value = timezone.make_aware(value, timezone.get_default_timezone())
        except OverflowError as error:
            raise ValueError(f"{value!r} cannot be written in UTC") from error
    if not isinstance(value, date):
        raise TypeError(f"{value!r} is no date")
    return w3c(value)
