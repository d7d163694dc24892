"""Faults that pass: they say nothing of the row or the page at which they come."""

from __future__ import annotations

from django.db import Error, InterfaceError, OperationalError

# MySQL's codes of an unknown column and an unknown function.
_UNKNOWN = {1054, 1305}

# What says of MySQL that it is away, busy, or has no time.
_PASSING = {0, 1040, 1053, 1205, 1213, 1969, 2002, 2003, 2006, 2013, 3024, 4031}

# SQLSTATE's: no connection, rolled back, no resources, an operator has intervened.
_PASSING_CLASSES = {"08", "40", "53", "57"}

# Of SQLite, and of clients of PostgreSQL that have lost it.
_PASSING_WORDS = ("connection", "locked", "busy", "unable to open", "disk I/O")


def is_outage(error: BaseException) -> bool:
    """Return whether a database was out of reach or had no time, and may do later.

    SQLite and MySQL call an unknown table or column an operational error as well.
    """
    if not isinstance(error, OperationalError):
        return isinstance(error, InterfaceError)
    unknown = "no such " in str(error) or next(iter(error.args), None) in _UNKNOWN
    return not unknown


def ends_work(error: BaseException) -> bool:
    """Return whether the work is to end, whatever it was at.

    Celery raises its soft time limit at any line; the error is known by its name, since
    Celery need not be installed.
    """
    return any(kind.__name__ == "SoftTimeLimitExceeded" for kind in type(error).__mro__)


def is_passing(error: BaseException) -> bool:
    """Return whether what failed at a row may be well at the next one.

    A row is not to be left out for it, or what was published would lack its URL until
    somebody looks again. An error of a database is taken for the row's own unless it
    surely is not: a page whose row fails each time would never be built.
    """
    if isinstance(error, (InterfaceError, OperationalError)):
        return _is_surely_passing(error)
    return isinstance(error, MemoryError) or ends_work(error)


def _is_surely_passing(error: Error) -> bool:
    code = next(iter(error.args), None)
    if isinstance(code, int):  # MySQL's
        return code in _PASSING
    state = getattr(error.__cause__, "sqlstate", None)  # psycopg
    state = state or getattr(error.__cause__, "pgcode", None)  # psycopg2
    if state:
        return state[:2] in _PASSING_CLASSES
    return any(word in str(error) for word in _PASSING_WORDS)
