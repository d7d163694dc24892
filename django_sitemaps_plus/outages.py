"""Outages: errors that pass by themselves, so no row or page is blamed."""

from __future__ import annotations

from functools import cache
from logging import Logger
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.db import Error, InterfaceError, OperationalError, ProgrammingError

from .core.xml import printable
from .exceptions import SitemapsPlusError

# MySQL's codes for an unknown column and an unknown function.
_UNKNOWN = {1054, 1305}

# MySQL's codes for: away, busy, out of time.
_PASSING = {0, 1040, 1053, 1205, 1213, 1969, 2002, 2003, 2006, 2013, 3024, 4031}

# SQLSTATE classes: no connection, rolled back, no resources, operator intervention.
_PASSING_CLASSES = {"08", "40", "53", "57"}

# A transaction that lost against another: PostgreSQL's deadlock and serialization
# failure; MySQL's deadlock, lock wait and (MariaDB) record that has changed.
_LOST = {"40P01", "40001", 1213, 1205, 1020}

_MIGRATE = "Run manage.py migrate if tables or columns are missing"

# SQLite's messages have these, and those of PostgreSQL's clients that are cut off.
_PASSING_WORDS = ("connection", "locked", "busy", "unable to open", "disk I/O")


def is_outage(error: BaseException) -> bool:
    """Return whether a database was out of reach or too busy, so a later try may work.

    SQLite and MySQL call an unknown table or column an operational error as well.
    """
    if not isinstance(error, OperationalError):
        return isinstance(error, InterfaceError)
    unknown = "no such " in str(error) or next(iter(error.args), None) in _UNKNOWN
    return not unknown


def in_one_line(error: BaseException) -> str:
    """Return an error for a log, with the remedy where a table may be missing.

    Our own errors are sentences, which need no name of a class.
    """
    is_sentence = isinstance(error, SitemapsPlusError | ImproperlyConfigured)
    text = str(error) if is_sentence else f"{type(error).__name__}: {error}"
    text = printable(text.partition("\n")[0]).rstrip(".")
    cause = error if isinstance(error, Error) else error.__cause__
    is_ours = text.endswith(_MIGRATE)  # an error of ours has said it of its cause
    may_lack = isinstance(cause, (ProgrammingError, OperationalError))
    if cause and may_lack and not is_outage(cause) and not is_ours:
        text += f". {_MIGRATE}"
    return text


@cache
def log_once(logger: Logger, words: str, action: str, section: str = "") -> None:
    """Log an error at the first of the several times that it is met."""
    logger.error("%s", words, extra={"action": action, "section": section})


def ends_work(error: BaseException) -> bool:
    """Return whether an error asks the process to stop working.

    Celery raises its soft time limit at any line. The error is recognised by its name,
    because Celery may not be installed.
    """
    return any(kind.__name__ == "SoftTimeLimitExceeded" for kind in type(error).__mro__)


def is_passing(error: BaseException) -> bool:
    """Return whether an error at a row is not the row's fault.

    Such a row is not left out, or its URL would be missing until the next audit. An
    error of a database counts as the row's own unless it surely is not: otherwise a
    page whose row always fails would never be built.
    """
    if not isinstance(error, (InterfaceError, OperationalError)):
        return isinstance(error, MemoryError) or ends_work(error)
    code = _code(error)
    if isinstance(code, int):  # MySQL's
        return code in _PASSING
    if code:
        return code[:2] in _PASSING_CLASSES
    return any(word in str(error) for word in _PASSING_WORDS)


def has_lost(error: OperationalError) -> bool:
    """Return whether another transaction was in the way, so that a new try may do."""
    return _code(error) in _LOST or "is locked" in str(error)


def _code(error: Error) -> Any:
    """Return MySQL's number, or the SQLSTATE of psycopg or psycopg2."""
    number = next(iter(error.args), None)
    if isinstance(number, int):
        return number
    cause = error.__cause__
    return getattr(cause, "sqlstate", None) or getattr(cause, "pgcode", None)
