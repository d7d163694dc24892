"""Tests of wake-ups: few messages, and none for a while after a failure."""

from __future__ import annotations

from threading import Event

import pytest

from django_sitemaps_plus.executors import wakeups
from django_sitemaps_plus.executors.wakeups import PAUSE_SECONDS, Wakeups

#: Seconds after which a test has failed.
HANG = 10


class Broker:
    """Remembers what was sent; fails where it is asked to."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, float]] = []
        self.error: Exception | None = None

    def __call__(self, section: str, seconds: float) -> None:
        self.sent.append((section, seconds))
        if self.error is not None:
            raise self.error


@pytest.fixture
def broker() -> Broker:
    """Give what messages are sent to."""
    return Broker()


@pytest.fixture
def woken(broker: Broker) -> Wakeups:
    """Give wake-ups that send to the broker."""
    return Wakeups(broker)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Give the time of wake-ups, as a list of one number to be set."""
    now = [1_000.0]

    class Time:
        @staticmethod
        def monotonic() -> float:
            return now[0]

    monkeypatch.setattr(wakeups, "time", Time)
    return now


def test_changes_of_a_section_before_its_build_share_a_message(woken, broker, clock):
    """The build that was asked for will see them; that of another section will not."""
    for _ in range(1_000):
        woken.wake("a", 2)
    woken.wake("b", 2)
    woken.wait(HANG)
    clock[0] += 1.9
    woken.wake("a", 2)
    woken.wait(HANG)
    assert broker.sent == [("a", 2), ("b", 2)]


@pytest.mark.parametrize("seconds", [0, 2])
def test_a_change_once_the_build_may_have_begun_sends_another(
    woken, broker, clock, seconds
):
    """It may have looked before the change."""
    woken.wake("a", seconds)
    woken.wait(HANG)
    clock[0] += broker.sent[0][1]
    woken.wake("a", seconds)
    woken.wait(HANG)
    assert len(broker.sent) == 2


def test_a_failure_is_never_raised_and_pauses_all_wake_ups(
    woken, broker, clock, caplog
):
    """One of several saves meets a broker that is away; afterwards all work again."""
    broker.error = ConnectionError("no broker")
    for section in ("a", "b", "a"):
        woken.wake(section, 2)
    woken.wait(HANG)
    assert len(broker.sent) == 1
    assert caplog.text.count("no worker was woken") == 1
    assert "no broker" in caplog.text
    broker.error = None
    clock[0] += PAUSE_SECONDS
    woken.wake("a", 2)
    woken.wait(HANG)
    assert len(broker.sent) == 2


def test_no_save_waits_for_a_broker_that_hangs(broker):
    """Nor does the end of the process; what waits is sent once the broker answers."""
    answers = Event()

    def send(section: str, seconds: float) -> None:
        assert answers.wait(HANG)
        broker(section, seconds)

    woken = Wakeups(send)
    woken.wake("a", 2)
    woken.wake("b", 2)
    woken.wait(0.01)
    assert broker.sent == []
    answers.set()
    woken.wait(HANG)
    assert [section for section, _ in broker.sent] == ["a", "b"]
