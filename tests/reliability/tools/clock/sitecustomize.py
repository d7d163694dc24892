"""Moves the clock of a program; Python imports it before anything else.

Neither namespaces nor the kernel give hosts clocks of their own, and libfaketime makes
timed waits of Python fail, or last.
"""

from __future__ import annotations

import datetime
import os
import time
from typing import Any

_real_time, _datetime = time.time, datetime.datetime
_SECONDS = float(os.environ["CLOCK_AHEAD"])


def _moved_time() -> float:
    return _real_time() + _SECONDS


class _Type(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, _datetime)


class _Moved(_datetime, metaclass=_Type):
    """Makes values of the real class alone."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        return _datetime(*args, **kwargs)

    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> Any:
        return _datetime.fromtimestamp(_moved_time(), tz)

    @classmethod
    def utcnow(cls) -> Any:
        return cls.now(datetime.UTC).replace(tzinfo=None)


time.time = _moved_time
datetime.datetime = _Moved  # type: ignore[misc]
