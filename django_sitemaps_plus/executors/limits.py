"""Time limits of workers: they end the work, and are no mistake of what it is about."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class _Over(BaseException):
    """The time is over; not caught with what a source or a storage may raise."""


@contextmanager
def ended_by(kind: type[Exception]) -> Iterator[None]:
    """Let an error that a handler of SIGUSR1 raises pass whatever the work may catch.

    It comes at any line: in a row that would be left out for it, or in a storage that
    would be said to have failed.

    Args:
        kind: the error; what the handler raises else is left as it is.
    """
    number = getattr(signal, "SIGUSR1", None)  # not on Windows
    in_main_thread = threading.current_thread() is threading.main_thread()
    handler = signal.getsignal(number) if number and in_main_thread else None
    if number is None or not callable(handler):
        yield
        return

    def end(*args: Any) -> None:
        try:
            handler(*args)
        except kind as error:
            raise _Over from error

    signal.signal(number, end)
    try:
        yield
    except _Over as over:
        raise kind from over
    finally:
        signal.signal(number, handler)
