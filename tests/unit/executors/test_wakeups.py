"""Tests of wake-ups: told in the background, and never at the cost of who tells."""

from __future__ import annotations

import os
import sys
import threading
import time
import warnings
from collections.abc import Iterator

import pytest

from django_sitemaps_plus.executors import wakeups
from django_sitemaps_plus.executors.wakeups import Wakeups
from tests.support.servers.programs import wait_until

HANG_LIMIT = 10.0


class Teller:
    """Remembers what it was told; waits or fails where it is asked to."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.error: Exception | None = None
        self.may_go_on = threading.Event()
        self.may_go_on.set()

    def __call__(self, section: str) -> None:
        self.told.append(section)
        assert self.may_go_on.wait(HANG_LIMIT)
        if self.error is not None:
            raise self.error


@pytest.fixture
def teller() -> Iterator[Teller]:
    """Give what is told, and let nobody wait for it afterwards."""
    teller = Teller()
    yield teller
    teller.may_go_on.set()


@pytest.fixture
def woken(teller: Teller) -> Wakeups:
    """Give wake-ups that tell the teller."""
    return Wakeups(teller)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Give the time of wake-ups, as a list of one number to be set."""
    now = [1_000.0]

    class Time:
        @staticmethod
        def monotonic() -> float:
            return now[0]

        sleep = staticmethod(time.sleep)

    monkeypatch.setattr(wakeups, "time", Time)
    return now


@pytest.fixture
def switch_interval() -> Iterator[None]:
    """Let a thread keep the interpreter's lock for longer than it works here."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1)
    yield
    sys.setswitchinterval(before)


def finish(woken: Wakeups) -> None:
    """Wait until all that was asked for is told."""
    for thread in list(woken._threads):
        thread.join(HANG_LIMIT)


def test_each_section_is_told(woken: Wakeups, teller: Teller):
    """Every section that is woken is told once."""
    for section in ("a", "b"):
        woken.wake(section)
    finish(woken)
    assert sorted(teller.told) == ["a", "b"]


def test_many_changes_are_one_wake_up(woken: Wakeups, teller: Teller, clock):
    """Wake-ups of a section in quick succession are told once."""
    for _ in range(1_000):
        woken.wake("a")
    finish(woken)
    assert teller.told == ["a"]


def test_a_change_after_one_was_told_is_told_again(
    woken: Wakeups, teller: Teller, clock
):
    """However soon it comes: who was told may have looked before it."""
    woken.wake("a")
    finish(woken)
    woken.wake("a")
    finish(woken)
    assert teller.told == ["a", "a"]


def test_a_change_while_one_is_told_is_told_again(
    woken: Wakeups, teller: Teller, clock
):
    """Telling takes a while, and who is told may look before it has ended."""
    teller.may_go_on.clear()
    woken.wake("a")
    wait_until(lambda: teller.told, "it is being told")
    woken.wake("a")
    teller.may_go_on.set()
    finish(woken)
    assert teller.told == ["a", "a"]


def test_who_exits_tells_at_once(woken: Wakeups, teller: Teller, monkeypatch):
    """Nobody waits for further changes then."""
    monkeypatch.setattr(wakeups, "QUIET_SECONDS", HANG_LIMIT)
    woken.wake("a")
    began = time.monotonic()
    woken.wait(HANG_LIMIT)
    assert teller.told == ["a"]
    assert time.monotonic() - began < HANG_LIMIT / 2


def test_a_failure_is_never_raised_and_ends_wake_ups_for_a_while(
    woken: Wakeups, teller: Teller, clock, caplog
):
    """After a failure nothing is tried until the pause is over."""
    teller.error = ConnectionError("no broker")
    woken.wake("a")
    finish(woken)
    assert "no broker" in caplog.text
    woken.wake("b")
    finish(woken)
    assert teller.told == ["a"]
    teller.error = None
    clock[0] += wakeups.PAUSE_SECONDS
    woken.wake("b")
    finish(woken)
    assert teller.told == ["a", "b"]


def test_failures_at_the_same_time_are_one_warning(
    woken: Wakeups, teller: Teller, clock, caplog
):
    """Whoever reads the log learns that the broker is away, once a pause."""
    teller.may_go_on.clear()
    teller.error = ConnectionError("no broker")
    for section in ("a", "b", "c"):
        woken.wake(section)
    wait_until(lambda: len(teller.told) == 3, "all are being told")
    teller.may_go_on.set()
    finish(woken)
    assert caplog.text.count("Nobody was told to build") == 1


def test_nobody_waits_for_one_that_hangs(woken: Wakeups, teller: Teller, clock):
    """While one hangs, others are left out, and no thread is started for them."""
    teller.may_go_on.clear()
    woken.wake("a")
    clock[0] += wakeups.PATIENCE_SECONDS + 1
    for section in ("b", "c", "d"):
        woken.wake(section)
    assert len(woken._threads) == 1
    teller.may_go_on.set()
    finish(woken)
    woken.wake("b")
    finish(woken)
    assert teller.told == ["a", "b"]


@pytest.mark.usefixtures("switch_interval")
def test_the_work_of_telling_is_not_part_of_the_save():
    """A save does not wait for it, whatever interpreter time it takes."""
    told = threading.Event()

    def tell(section: str) -> None:
        end = time.monotonic() + 0.5
        while time.monotonic() < end:
            pass
        told.set()

    woken = Wakeups(tell)
    began = time.monotonic()
    woken.wake("a")
    assert time.monotonic() - began < 0.25
    assert told.wait(HANG_LIMIT)


def test_no_thread_to_be_had_is_a_failure_like_any_other(
    woken: Wakeups, teller: Teller, monkeypatch: pytest.MonkeyPatch
):
    """Where no thread can be started, nothing is raised."""

    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    woken.wake("a")
    woken.wait(0.1)
    assert teller.told == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_forked_child_wakes_for_itself(woken: Wakeups, teller: Teller):
    """A thread of the parent that hangs does not keep the child from telling."""
    teller.may_go_on.clear()
    woken.wake("a")
    read, write = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", DeprecationWarning
        )  # of the thread, our subject
        pid = os.fork()
    if not pid:
        woken._tell = lambda section: os.write(write, section.encode())  # type: ignore[assignment,return-value]
        woken._threads = dict.fromkeys(woken._threads, time.monotonic() - 100)
        woken.wake("b")
        finish(woken)
        os._exit(0)
    os.waitpid(pid, 0)
    assert os.read(read, 10) == b"b"
    os.close(read)
    os.close(write)
