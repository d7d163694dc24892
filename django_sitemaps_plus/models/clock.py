"""The clock of all times of ours."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from django.db.models import functions


class Now(functions.Now):
    """The time by the database's clock, in the zone in which Django reads times.

    Times of ours are written by it, or by ``timezone.now()``, and compared with either.
    Django's own says what the server's zone says on MariaDB, and UTC on SQLite, while
    columns are in UTC or, without ``USE_TZ``, in ``TIME_ZONE``.
    """

    def as_mysql(
        self, compiler: Any, connection: Any, **context: Any
    ) -> tuple[str, Any]:
        """Return the time in UTC, moved to the zone."""
        template = "UTC_TIMESTAMP(6)"
        if seconds := utc_offset(connection):
            template = f"({template} + INTERVAL {seconds} SECOND)"
        return self.as_sql(compiler, connection, template=template, **context)

    def as_sqlite(
        self, compiler: Any, connection: Any, **context: Any
    ) -> tuple[str, Any]:
        """Return the time in UTC, moved to the zone."""
        moved = f"'{utc_offset(connection):+} seconds'"
        # Each percent sign is halved twice.
        template = f"STRFTIME('%%%%Y-%%%%m-%%%%d %%%%H:%%%%M:%%%%f', 'NOW', {moved})"
        return self.as_sql(compiler, connection, template=template, **context)


# The SQL of Now, by database and what it is moved by.
_now_sql: dict[tuple[str, int], str] = {}


def now_sql(connection: Any) -> str:
    """Return the SQL of :class:`Now`, for a handwritten statement with parameters."""
    key = connection.vendor, utc_offset(connection)
    if key not in _now_sql:
        now: Any = Now()
        compiled = getattr(now, f"as_{connection.vendor}", now.as_sql)
        _now_sql[key] = compiled(None, connection)[0]
    return _now_sql[key]


def utc_offset(connection: Any) -> int:
    """Return the seconds to add to UTC for the times that a database keeps."""
    if connection.vendor == "postgresql":
        return 0  # it knows zones, and Django tells it which
    offset = datetime.now(ZoneInfo(connection.timezone_name)).utcoffset()
    return 0 if offset is None else int(offset.total_seconds())
