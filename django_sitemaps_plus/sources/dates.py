"""Times as the database writes them, where that is faster than parsing them here."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

from django.conf import settings
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import CharField, DateField, DateTimeField, F, Func
from django.utils import timezone

from django_sitemaps_plus.core.dates import check_w3c, w3c

# Oracle, and whatever else comes, hands over dates as Python objects.
_TEXT_VENDORS = ("postgresql", "sqlite", "mysql")


class W3CText(Func):
    """A ``DateTimeField`` as W3C text in UTC, to the second, fractions cut off."""

    output_field = CharField()

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        # Django stores "YYYY-MM-DD HH:MM:SS[.ffffff]"; strftime() is slower, and
        # rounds .9996 up to the next second.
        return self.as_sql(
            compiler,
            connection,
            template="substr(%(expressions)s, 1, 10) || 'T' || "
            "substr(%(expressions)s, 12, 8) || '+00:00'",
            **context,
        )

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        return self.as_sql(
            compiler,
            connection,
            template="to_char(%(expressions)s AT TIME ZONE 'UTC', "
            '\'YYYY-MM-DD"T"HH24:MI:SS"+00:00"\')',
            **context,
        )

    def as_mysql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        form = "%%%%Y-%%%%m-%%%%dT%%%%H:%%%%i:%%%%s+00:00"
        template = f"date_format(%(expressions)s, '{form}')"
        return self.as_sql(compiler, connection, template=template, **context)


def has_utc_text(alias: str) -> bool:
    """Return whether :class:`W3CText` is right on this database.

    PostgreSQL stores moments. SQLite and MySQL store wall clock times; only where
    those are in UTC can SQL write the offset, daylight saving time included.
    """
    connection: BaseDatabaseWrapper = connections[alias]
    if connection.vendor == "postgresql":
        return True
    is_utc = settings.USE_TZ and connection.timezone is UTC
    return connection.vendor in _TEXT_VENDORS and is_utc


class W3CDate(Func):
    """A ``DateField`` as W3C text."""

    output_field = CharField()

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        return self.as_sql(
            compiler, connection, template="substr(%(expressions)s, 1, 10)", **context
        )

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        template = "to_char(%(expressions)s, 'YYYY-MM-DD')"
        return self.as_sql(compiler, connection, template=template, **context)

    def as_mysql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        template = "date_format(%(expressions)s, '%%%%Y-%%%%m-%%%%d')"
        return self.as_sql(compiler, connection, template=template, **context)


def as_text(path: str, field: Any, alias: str) -> Func | None:
    """Return what selects a date at a field path as text; None where nothing can."""
    if isinstance(field, DateTimeField):
        return W3CText(F(path)) if has_utc_text(alias) else None
    if isinstance(field, DateField) and connections[alias].vendor in _TEXT_VENDORS:
        return W3CDate(F(path))
    return None


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
