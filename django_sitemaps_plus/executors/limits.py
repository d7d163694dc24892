"""Time limits of workers: they end the work, and are no mistake of what it is about."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterable, Iterator
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

    is_at_work = True

    def end(*args: Any) -> None:
        try:
            handler(*args)
        except kind as error:
            if not is_at_work:
                raise
            raise _Over from error

    try:
        signal.signal(number, end)
        try:
            yield
        finally:
            is_at_work = False
    except _Over as over:
        raise kind from over
    finally:
        _restore(number, handler, kind)


def _restore(number: int, handler: Any, kind: type[Exception]) -> None:
    """Give a signal its handler back, also where one comes in at that moment."""
    try:
        signal.signal(number, handler)
    except kind:
        signal.signal(number, handler)
        raise


def short_limits(
    limits: Iterable[object], seconds: object
) -> Iterator[tuple[str, str]]:
    """Yield that workers end what should end by itself, with its remedy.

    Args:
        limits: the time limits of tasks; what is no number is none.
        seconds: after which a task ends by itself; another check names a wrong type.
    """
    shortest = min([n for n in limits if isinstance(n, int | float)], default=None)
    if shortest is not None and isinstance(seconds, int) and shortest <= seconds:
        yield (
            f"Celery ends tasks after {shortest:g} s, and one that builds leaves after "
            f"{seconds} s, TASK_SECONDS.",
            "Set TASK_SECONDS to less, or longer limits for the tasks of "
            "django_sitemaps_plus in task_annotations.",
        )
