"""Faults that pass: they say nothing of the row or the page at which they come."""

from __future__ import annotations

from django.db import InterfaceError, OperationalError

# MySQL's codes of an unknown column and an unknown function.
_UNKNOWN = {1054, 1305}


def is_outage(error: BaseException) -> bool:
    """Return whether a database was out of reach or had no time, and may do later.

    SQLite and MySQL call an unknown table or column an operational error as well.
    """
    if not isinstance(error, OperationalError):
        return isinstance(error, InterfaceError)
    unknown = "no such " in str(error) or next(iter(error.args), None) in _UNKNOWN
    return not unknown


def is_passing(error: BaseException) -> bool:
    """Return whether what failed at a row may be well at the next one.

    A row is not to be left out for it, or what was published would lack its URL until
    somebody looks again.
    """
    return isinstance(error, MemoryError) or is_outage(error)
