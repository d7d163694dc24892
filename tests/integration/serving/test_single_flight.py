"""Single flight: one caller computes a value, concurrent callers wait for it."""

from __future__ import annotations

import threading
from concurrent import futures
from types import SimpleNamespace

import pytest
from django.core.cache.backends import base, locmem

from django_sitemaps_plus import cache
from django_sitemaps_plus.models import claims
from django_sitemaps_plus.serving import single_flight
from django_sitemaps_plus.serving.single_flight import SingleFlight, patience

THREADS = 8


def flight(compute, key="value", seconds=60):
    """Return a text that is computed, and kept if it has less than ten characters."""
    return SingleFlight(key, str, seconds, compute, lambda text: len(text) < 10)


def be_busy(key="value"):
    assert cache.first_to(f"{key}:busy", 30)


def is_free(key="value"):
    return cache.first_to(f"{key}:busy", single_flight.BUSY_SECONDS)


@pytest.fixture
def waited(monkeypatch):
    """Let time pass only while a caller waits; return the seconds, as they come."""
    seconds = []
    clock = SimpleNamespace(monotonic=lambda: sum(seconds), sleep=seconds.append)
    monkeypatch.setattr(single_flight, "time", clock)
    return seconds


class TestKeeping:
    @pytest.mark.parametrize(
        ("value", "seconds", "times"),
        [("x", 60, 1), ("x" * 10, 60, 2), (None, 60, 2), ("x", 0, 2)],
    )
    def test_a_value_is_computed_once_if_it_is_kept(self, value, seconds, times):
        computed = []
        one = flight(lambda: computed.append(1) or value, seconds=seconds)
        assert (one.value(), one.value()) == (value, value)
        assert len(computed) == times

    @pytest.mark.parametrize("garbage", [b"\x80\x04", 0, ["x"], object])
    def test_a_value_of_another_type_counts_as_nothing(self, garbage):
        """Somebody else may write under our keys."""
        cache.remember("value", garbage, 60)
        assert flight(lambda: "mine").value() == "mine"


class TestOtherProcesses:
    def test_a_caller_that_has_waited_computes_it_too(self, waited):
        """It leaves the turn of the other process as it is."""
        be_busy()
        assert flight(lambda: "mine").value() == "mine"
        assert sum(waited) == pytest.approx(single_flight.MAX_WAIT, abs=0.1)
        assert not is_free()

    def test_a_caller_that_waits_takes_what_the_other_keeps(self, waited, monkeypatch):
        be_busy()

        def sleep(seconds):
            waited.append(seconds)
            cache.remember("value", "other", 60)

        monkeypatch.setattr(single_flight.time, "sleep", sleep)
        assert flight(lambda: "mine").value() == "other"
        assert len(waited) == 1

    def test_what_is_kept_before_its_turn_comes_is_taken(self, monkeypatch):
        """It found nothing, and was slow to take its turn."""
        found = iter([None, "other"])
        monkeypatch.setattr(single_flight, "recall", lambda *args: next(found))
        assert flight(lambda: "mine").value() == "other"
        assert is_free()

    @pytest.mark.parametrize("is_nested", [True, False])
    def test_a_request_waits_once_for_all_its_values(self, waited, is_nested):
        be_busy("outer")
        be_busy("inner")
        inner = flight(lambda: "inner", "inner")
        if is_nested:
            assert flight(inner.value, "outer").value() == "inner"
        else:
            with patience():
                assert flight(lambda: "outer", "outer").value() == "outer"
                assert inner.value() == "inner"
        assert sum(waited) == pytest.approx(single_flight.MAX_WAIT, abs=0.1)

    def test_heartbeats_keep_the_turn(self, monkeypatch):
        """However long the work takes; the turn ends with it."""
        clock = SimpleNamespace(now=1_000.0)
        for module in (base, locmem, claims):
            ticks = SimpleNamespace(time=lambda: clock.now, monotonic=lambda: clock.now)
            monkeypatch.setattr(module, "time", ticks)
        others = []

        def compute():
            for _ in range(5):
                clock.now += single_flight.BUSY_SECONDS * 0.6
                claims.heartbeat()
                others.append(is_free())
            return "mine"

        assert flight(compute).value() == "mine"
        assert others == [False] * 5
        assert is_free()

    def test_a_caller_that_waits_keeps_the_turn_of_what_it_computes(self, monkeypatch):
        """Or another process would begin to compute it."""
        monkeypatch.setattr(single_flight, "MAX_WAIT", 0.5)
        extended = []
        monkeypatch.setattr(
            single_flight, "extend", lambda key, _: extended.append(key)
        )
        be_busy("inner")
        flight(flight(lambda: "x", "inner").value, "outer").value()
        assert set(extended) == {"outer:busy"}


def test_one_thread_computes_where_the_cache_is_down(
    settings, configure, monkeypatch, messages
):
    """The others take its value, which is kept nowhere; the log says why."""
    settings.CACHES = {
        **settings.CACHES,
        "down": {"BACKEND": "tests.support.caches.FailingCache"},
    }
    configure(CACHE="down")
    monkeypatch.setattr(single_flight, "MAX_WAIT", 30.0)
    waiting, all_wait, computed = set(), threading.Event(), []

    def wait(*args):
        waiting.add(threading.get_ident())
        if len(waiting) == THREADS - 1:
            all_wait.set()
        return futures.wait(*args)

    def compute():
        computed.append(1)
        all_wait.wait(10)
        return "mine"

    monkeypatch.setattr(single_flight, "wait", wait)
    with futures.ThreadPoolExecutor(THREADS) as threads:
        asked = [threads.submit(flight(compute).value) for _ in range(THREADS)]
    assert [found.result() for found in asked] == ["mine"] * THREADS
    assert len(computed) == 1
    logged = messages("cache_failed")
    assert "ConnectionError: no cache" in logged[0]
    flight(lambda: "again").value()
    assert messages("cache_failed") == logged  # it is not asked again for a while
