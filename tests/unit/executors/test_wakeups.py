"""Tests of wake-ups: few messages, and none for a while after a failure."""

from threading import Event
from types import SimpleNamespace
from unittest.mock import Mock, call

import pytest

from django_sitemaps_plus.executors import wakeups
from django_sitemaps_plus.executors.wakeups import PAUSE_SECONDS, Wakeups

#: Seconds after which a test has failed.
HANG = 10


@pytest.fixture
def send() -> Mock:
    return Mock()


@pytest.fixture
def woken(send: Mock) -> Wakeups:
    return Wakeups(send)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Give the time of wake-ups, as a list of one number to be set."""
    now = [1_000.0]
    monkeypatch.setattr(wakeups, "time", SimpleNamespace(monotonic=lambda: now[0]))
    return now


def test_changes_of_a_section_before_its_build_share_a_message(woken, send, clock):
    """The build that was asked for will see them; that of another section will not."""
    for _ in range(1_000):
        woken.wake("a", 2)
    woken.wake("b", 2)
    woken.wait(HANG)
    clock[0] += 1.9
    woken.wake("a", 2)
    woken.wait(HANG)
    assert send.mock_calls == [call("a", 2), call("b", 2)]


@pytest.mark.parametrize("seconds", [0, 2])
def test_a_change_once_the_build_may_have_begun_sends_another(
    woken, send, clock, seconds
):
    """It may have looked before the change."""
    woken.wake("a", seconds)
    woken.wait(HANG)
    clock[0] += send.call_args.args[1]
    woken.wake("a", seconds)
    woken.wait(HANG)
    assert send.call_count == 2


def test_a_failure_is_never_raised_and_pauses_all_wake_ups(woken, send, clock, caplog):
    """One of several saves meets a broker that is away; afterwards all work again."""
    send.side_effect = ConnectionError("no broker")
    for section in ("a", "b", "a"):
        woken.wake(section, 2)
    woken.wait(HANG)
    assert send.call_count == 1
    assert caplog.text.count("no worker was woken") == 1
    assert "no broker" in caplog.text
    send.side_effect = None
    clock[0] += PAUSE_SECONDS
    woken.wake("a", 2)
    woken.wait(HANG)
    assert send.call_count == 2


def test_no_save_waits_for_a_broker_that_hangs(woken, send):
    """Nor does the end of the process; what waits is sent once the broker answers."""
    answers, sent = Event(), []

    def wait_and_send(section: str, seconds: float) -> None:
        assert answers.wait(HANG)
        sent.append(section)

    send.side_effect = wait_and_send
    woken.wake("a", 2)
    woken.wake("b", 2)
    woken.wait(0.01)
    assert sent == []
    answers.set()
    woken.wait(HANG)
    assert sent == ["a", "b"]
