"""Dates as the database writes them, if that is faster than doing it in Python."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from operator import itemgetter
from typing import Any

from django.conf import settings
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import CharField, DateField, DateTimeField, F, Func
from django.utils import timezone

from django_sitemaps_plus.core.dates import check_w3c, w3c

_DIGITS = bytes.maketrans(b"123456789", b"000000000")
_DATE = b"0000-00-00"
_MOMENT = _DATE + b"T00:00:00"

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


@dataclass(frozen=True, slots=True)
class DateColumn:
    """A column of dates or moments, read as the text that its database writes fastest.

    Attributes:
        expression: what selects it.
        start: where the date begins in its text.
        offset: ``"+00:00"`` of moments, which are in UTC and to the second, fractions
            cut off; ``""`` of dates.
    """

    expression: Func[Any]
    start: int
    offset: str

    def text(self, value: Any) -> Any:
        """Return a value as W3C text, not checked; None as it is."""
        return None if value is None else self._cut([value])[0] + self.offset

    def texts(self, values: Sequence[Any]) -> list[str] | None:
        """Return values as W3C text, but for the offset that all of them have.

        None where some value needs a closer look, as None itself does.
        """
        if set(map(type, values)) != {str}:
            return None
        texts = self._cut(values)
        form = _MOMENT if self.offset else _DATE
        together = "".join(texts).encode("utf-8", "replace")
        if together.translate(_DIGITS) != form * len(values):
            return None
        try:
            deque(map(datetime.fromisoformat, texts), maxlen=0)
        except ValueError:
            return None
        return texts

    def _cut(self, values: Sequence[str]) -> list[str]:
        end = self.start + len(_MOMENT if self.offset else _DATE)
        cut = map(itemgetter(slice(self.start, end)), values)
        if self.start:
            return list(cut)
        # SQL has a blank where W3C has a T.
        return "\n".join(cut).replace(" ", "T").split("\n")


def has_utc_text(alias: str) -> bool:
    """Return whether SQL's text of a moment, taken for UTC, is right on this database.

    PostgreSQL stores moments. SQLite and MySQL store wall clock times; only where
    those are in UTC can SQL write the offset, daylight saving time included.
    """
    connection: BaseDatabaseWrapper = connections[alias]
    if connection.vendor == "postgresql":
        return True
    is_utc = settings.USE_TZ and connection.timezone is UTC
    return connection.vendor in _TEXT and is_utc


def date_column(path: str, field: Any, alias: str) -> DateColumn | None:
    """Return how dates at a field path are read as text; None where they are not."""
    if connections[alias].vendor not in _TEXT:
        return None
    moment, day, start = _TEXT[connections[alias].vendor]
    if isinstance(field, DateTimeField):
        is_text, template, offset = has_utc_text(alias), moment, "+00:00"
    else:
        is_text, template, offset = isinstance(field, DateField), day, ""
    expression = Func(F(path), template=template, output_field=CharField())
    return DateColumn(expression, start, offset) if is_text else None


def lastmod_text(value: object) -> str:
    """Return the W3C text of any value that a source gives as a lastmod.

    Naive datetimes are in TIME_ZONE where USE_TZ is off, as Django reads them from
    the database, daylight saving time included.

    Raises:
        TypeError: no date.
        ValueError: a naive datetime under USE_TZ, or a date that cannot be written.
    """
    if isinstance(value, str):
        return check_w3c(value)
    if (
        isinstance(value, datetime)
        and not settings.USE_TZ
        and value.utcoffset() is None
    ):
        try:
            value = timezone.make_aware(value, timezone.get_default_timezone())
        except OverflowError as error:
            raise ValueError(f"{value!r} cannot be written in UTC") from error
    if not isinstance(value, date):
        raise TypeError(f"{value!r} is no date")
    return w3c(value)
