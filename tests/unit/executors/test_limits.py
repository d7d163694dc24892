"""What a time limit ends, and what becomes of the handler that tells of it."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from django_sitemaps_plus.executors import limits
from django_sitemaps_plus.executors.limits import ended_by

SIGNAL = signal.SIGUSR1


class OverError(Exception):
    """What a worker raises at the end of the time."""


def tell(*args: Any) -> None:
    """Say that the time is over."""
    raise OverError


@pytest.fixture(autouse=True)
def handler() -> Iterator[None]:
    """Handle the signal as a worker does."""
    before = signal.signal(SIGNAL, tell)
    yield
    signal.signal(SIGNAL, before)


def come() -> None:
    """Let the time be over."""
    os.kill(os.getpid(), SIGNAL)


def test_nothing_that_catches_errors_catches_it():
    """As what leaves out rows would; who asked for the work gets it."""
    with pytest.raises(OverError), ended_by(OverError), suppress(Exception):
        come()
    assert signal.getsignal(SIGNAL) is tell


def test_other_errors_of_the_handler_are_left_as_they_are():
    """They are none of ours."""
    with pytest.raises(OverError), ended_by(KeyError):
        come()


def test_errors_of_the_work_are_left_as_they_are():
    """Also one of the same class, which it may catch itself."""
    with pytest.raises(KeyError), ended_by(OverError):
        raise KeyError
    with ended_by(OverError), suppress(OverError):
        tell()
    assert signal.getsignal(SIGNAL) is tell


def test_one_that_comes_at_the_end(monkeypatch):
    """It is the worker's own again, as is the handler."""
    real, coming = signal.signal, iter([come])

    def restore(number: int, handler: Any) -> Any:
        if handler is tell:
            next(coming, bool)()
        return real(number, handler)

    monkeypatch.setattr(limits.signal, "signal", restore)
    with pytest.raises(OverError), ended_by(OverError):
        pass
    assert signal.getsignal(SIGNAL) is tell
    with pytest.raises(OverError):
        come()


def test_a_thread_has_no_signals():
    """Its work is done without."""
    done = []

    def work() -> None:
        with ended_by(OverError):
            done.append(1)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(10)
    assert done == [1]
