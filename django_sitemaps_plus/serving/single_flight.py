"""Single flight: one caller computes the value, concurrent callers wait for it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

from django_sitemaps_plus.cache import extend, first_to, forget, recall, remember
from django_sitemaps_plus.models.claims import heartbeat, keep

T = TypeVar("T")

#: Seconds for which a request waits for others, in all; then it does the work too.
MAX_WAIT = 2.0

#: Seconds without a heartbeat after which a second process may do the work too.
BUSY_SECONDS = 1

_POLL = 0.02

#: The values that threads of this process compute, by key.
_flights: dict[str, Future[Any]] = {}
if hasattr(os, "register_at_fork"):
    # The work of a thread of the parent never ends in the child.
    os.register_at_fork(after_in_child=_flights.clear)

_end_of_wait: ContextVar[float | None] = ContextVar("end_of_wait", default=None)


@contextmanager
def patience() -> Iterator[float]:
    """Give the monotonic time until which a request waits for others.

    All values that a request needs share it.
    """
    end = _end_of_wait.get() or time.monotonic() + MAX_WAIT
    token = _end_of_wait.set(end)
    try:
        yield end
    finally:
        _end_of_wait.reset(token)


@dataclass(frozen=True, slots=True)
class SingleFlight(Generic[T]):
    """A value that is kept in Django's cache, and computed where it is not there."""

    key: str  # its name in the cache
    kind: type[T]  # what the cache holds of another type counts as nothing
    seconds: int  # how long it is kept; 0: it is neither kept nor waited for
    compute: Callable[[], T | None]  # heartbeats show that it is at work
    is_kept: Callable[[T], bool] = lambda value: True  # None never is

    def value(self) -> T | None:
        """Return the value that is kept, or that this or a concurrent call computes."""
        if not self.seconds:
            return self.compute()
        kept = recall(self.key, self.kind)
        if kept is not None:
            return kept
        mine: Future[T | None] = Future()
        flight: Future[T | None] = _flights.setdefault(self.key, mine)
        with patience() as end:
            if flight is not mine:  # another thread of this process computes it
                while not flight.done() and (left := end - time.monotonic()) > 0:
                    heartbeat()
                    wait([flight], min(left, BUSY_SECONDS / 10))
                return flight.result() if flight.done() else self.compute()
            try:
                mine.set_result(value := self._lead(end))
            except BaseException as error:
                mine.set_exception(error)
                raise
            finally:
                _flights.pop(self.key, None)
            return value

    def _lead(self, end: float) -> T | None:
        """Compute it, unless another process is faster."""
        busy = f"{self.key}:busy"
        is_mine = first_to(busy, BUSY_SECONDS)
        # The cache is read only then: a value is kept before others may try.
        kept = recall(self.key, self.kind)
        while kept is None and not is_mine and time.monotonic() < end:
            heartbeat()
            time.sleep(_POLL)
            is_mine = first_to(busy, BUSY_SECONDS)  # it failed, died, or takes long
            kept = recall(self.key, self.kind)
        if not is_mine:
            return self._computed() if kept is None else kept
        try:
            with keep(partial(extend, busy, BUSY_SECONDS), BUSY_SECONDS):
                return self._computed() if kept is None else kept
        finally:
            forget(busy)

    def _computed(self) -> T | None:
        value = self.compute()
        if value is not None and self.is_kept(value):
            remember(self.key, value, self.seconds)
        return value
