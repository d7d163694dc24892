"""What many ask for at a time: one makes it, and the others wait for what it keeps."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeAlias, TypeVar

from django_sitemaps_plus.models.lease import heartbeat, keep

from .cache import first_to, forget, recall, remember, still

T = TypeVar("T")

#: Seconds for which a request waits for others, in all; then it does the work too.
MAX_WAIT = 2.0

#: Seconds without a sign of life from who is at work, after which a second process may
#: be at it too.
BUSY_SECONDS = 1

_POLL = 0.02

#: What makes it.
Make: TypeAlias = Callable[[], T]


@dataclass(frozen=True, slots=True)
class Kept(Generic[T]):
    """How what is made is kept in Django's cache.

    Attributes:
        key: its name there.
        seconds: for which it is kept; 0 for what is neither kept nor waited for.
        write: returns its bytes; None where this one is not kept.
        read: makes it of bytes that ``write`` has returned.
    """

    key: str
    seconds: int
    write: Callable[[T], bytes | None]
    read: Callable[[bytes], T]

    def recall(self) -> T | None:
        """Return what is kept; None for nothing."""
        data = recall(self.key)
        return None if data is None else self.read(data)

    def remember(self, made: T) -> None:
        """Keep what was made, if it is to be kept."""
        data = self.write(made)
        if data is not None:
            remember(self.key, data, self.seconds)


#: What threads of this process are at work on, by key.
_flights: dict[str, Future[Any]] = {}
if hasattr(os, "register_at_fork"):
    # What a thread of the parent does never ends in the child.
    os.register_at_fork(after_in_child=_flights.clear)

_end_of_wait: ContextVar[float | None] = ContextVar("end_of_wait", default=None)


@contextmanager
def patience() -> Iterator[float]:
    """Give the time, by the monotonic clock, until which others are waited for.

    Within another one it is that one's: however much a request asks for, its patience
    is not renewed.
    """
    end = _end_of_wait.get()
    if end is not None:
        yield end
        return
    end = time.monotonic() + MAX_WAIT
    token = _end_of_wait.set(end)
    try:
        yield end
    finally:
        _end_of_wait.reset(token)


def once(kept: Kept[T], make: Make[T]) -> T:
    """Return what is kept, or make and keep it.

    Of many who ask at a time one makes it, as long as it shows signs of life. Those
    who have waited long enough make it too, so nobody is turned away.

    Args:
        kept: how it is kept.
        make: what makes it; None is not kept.
    """
    if not kept.seconds:
        return make()
    found = kept.recall()
    if found is not None:
        return found
    mine: Future[T] = Future()
    flight: Future[T] = _flights.setdefault(kept.key, mine)
    with patience() as end:
        if flight is not mine:
            return _land(flight, make, end)
        try:
            mine.set_result(made := _lead(kept, make, end))
        except BaseException as error:
            mine.set_exception(error)
            raise
        finally:
            _flights.pop(kept.key, None)
        return made


def _land(flight: Future[T], make: Make[T], end: float) -> T:
    """Return what another thread of this process makes, or else make it."""
    while not flight.done() and (left := end - time.monotonic()) > 0:
        heartbeat()
        wait([flight], min(left, BUSY_SECONDS / 10))
    return flight.result() if flight.done() else make()


def _lead(kept: Kept[T], make: Make[T], end: float) -> T:
    """Make it, unless another process is faster."""
    busy = f"{kept.key}:busy"
    found, is_mine = _turn(kept.recall, busy, end)
    try:
        if found is not None:
            return found
        with _at_work(busy) if is_mine else nullcontext():
            made = make()
        kept.remember(made)
        return made
    finally:
        if is_mine:
            forget(busy)


def _turn(look: Callable[[], T | None], busy: str, end: float) -> tuple[T | None, bool]:
    """Return what another has made, and whether it is for us to say we are done."""
    is_mine = first_to(busy, BUSY_SECONDS)
    # Asked only then: whoever made it has kept it before it let others try.
    found = look()
    while found is None and not is_mine and time.monotonic() < end:
        heartbeat()
        time.sleep(_POLL)
        is_mine = first_to(busy, BUSY_SECONDS)  # it has given up, died, or takes long
        found = look()
    return found, is_mine


def _at_work(busy: str) -> AbstractContextManager[None]:
    return keep(partial(still, busy, BUSY_SECONDS), BUSY_SECONDS)
