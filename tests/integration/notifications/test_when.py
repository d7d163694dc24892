"""When engines are told: who is asked to do so, and how soon."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone

from django_sitemaps_plus import tasks
from django_sitemaps_plus.conf import get_site
from django_sitemaps_plus.executors.base import Executor
from django_sitemaps_plus.models import Change, Delivery
from django_sitemaps_plus.notifications.configuration import get_engines
from django_sitemaps_plus.notifications.dispatch import deliver
from django_sitemaps_plus.notifications.outbox import want_urls
from django_sitemaps_plus.notifications.report import DeliveryReport
from django_sitemaps_plus.testing import RecordingEngine
from tests.support.builds import build_and_relay
from tests.support.shop import limited, make_products

from .engines import HubEngine

pytestmark = pytest.mark.django_db(transaction=True)


class NotingExecutor(Executor):
    """One that notes of which changes engines are to be told, by their times."""

    changes: list[Any] = []

    def notify(self, at: Any) -> None:
        """Note the time of a change."""
        self.changes.append(at)


@pytest.fixture
def changes(tell: Any) -> list[Any]:
    """Have engines told by an executor that notes when it was asked."""
    path = f"{NotingExecutor.__module__}.{NotingExecutor.__qualname__}"
    tell(recording=RecordingEngine, hub=HubEngine, EXECUTOR=path)
    NotingExecutor.changes.clear()
    return NotingExecutor.changes


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Give the seconds after which workers are asked to tell engines."""
    sent: list[float] = []
    monkeypatch.setattr(
        tasks, "_send", lambda task, given, seconds=0: sent.append(seconds)
    )
    return sent


class TestExecutor:
    def test_it_is_asked_with_the_time_at_which_a_save_was_recorded(
        self, publish, changes
    ):
        """Which is before its commit; not with that of a build, nor for a first one."""
        products = make_products(3)
        publish(limited(10))
        assert changes == []
        with transaction.atomic():
            products[1].slug = "renamed"
            products[1].save()
            at = Change.objects.get().at
        build_and_relay()
        assert changes == [at]
        # The URL before and after, and the feed of the hub.
        assert list(Delivery.objects.values_list("not_before", flat=True)) == [at] * 3

    def test_nobody_is_asked_where_nothing_has_changed(self, publish, changes):
        """Another build is no reason."""
        make_products(3)
        publish(limited(10))
        build_and_relay()
        assert changes == []


class TestCelery:
    def test_what_waits_long_enough_is_told_at_once(self, recording, sent):
        """NOTIFY_DELAY_SECONDS has gone by since the commit."""
        tasks.CeleryExecutor().notify(timezone.now() - timedelta(seconds=30))
        assert sent == [0]

    def test_what_was_just_committed_is_told_after_notify_delay_seconds(
        self, tell, sent
    ):
        """Counted from the commit."""
        tell(recording=RecordingEngine, NOTIFY_DELAY_SECONDS=30)
        tasks.CeleryExecutor().notify(timezone.now() - timedelta(seconds=10))
        assert 15 < sent[0] <= 20

    def test_it_asks_once(self, recording, sent):
        """For all that comes until then."""
        for _ in range(3):
            tasks.CeleryExecutor().notify(timezone.now())
        assert len(sent) == 1

    def test_what_may_be_told_much_later_is_left_to_the_schedule(self, tell, sent):
        """A broker would give its message to another worker meanwhile."""
        tell(recording=RecordingEngine, NOTIFY_DELAY_SECONDS=600)
        tasks.CeleryExecutor().notify(timezone.now())
        assert sent == []

    def test_a_broker_that_fails_does_not_matter(self, recording, monkeypatch, caplog):
        """The schedule sees to it, and the next build does not wait for it too."""

        def fail(*args: object) -> None:
            raise OSError("no broker")

        monkeypatch.setattr(tasks, "_send", fail)
        tasks.CeleryExecutor().notify(timezone.now())
        tasks.CeleryExecutor().notify(timezone.now())
        assert caplog.text.count("no broker") == 1

    def test_the_task_tells_and_asks_again_for_what_waits(self, tell, sent, clock):
        """When the first of it may be told."""
        tell(recording=RecordingEngine, NOTIFY_DELAY_SECONDS=30)
        want_urls(get_site(), ["https://example.com/a/"])
        clock.forward(seconds=20)
        want_urls(get_site(), ["https://example.com/b/"])
        clock.forward(seconds=15)
        tasks.notify()
        assert RecordingEngine.told() == ["https://example.com/a/"]
        assert 0 < sent[0] <= 15

    def test_a_call_that_is_far_away_keeps_back_no_near_one(self, tell, sent):
        """Else what may be told soon would wait for the schedule."""
        for seconds in (50, 10):
            tell(recording=RecordingEngine, NOTIFY_DELAY_SECONDS=seconds)
            want_urls(get_site(), [f"https://example.com/{seconds}/"])
            tasks.notify()
        far, near = sent
        assert (40 < far <= 50, 0 < near <= 10) == (True, True)
        tasks.notify()
        assert len(sent) == 2

    def test_calls_for_about_the_same_time_are_one(self, recording, monkeypatch):
        """Until its message comes: then another may be asked for."""
        step = int(timezone.now().timestamp()) // 5 + 5
        begin = datetime.fromtimestamp(step * 5, UTC)
        times = [begin + timedelta(seconds=seconds) for seconds in (3.5, 0.5, 4.5)]
        reports = iter([DeliveryReport(next_at=at) for at in times])
        keys: list[str] = []
        monkeypatch.setattr(tasks.telling, "tell_engines", lambda **_: next(reports))
        monkeypatch.setattr(tasks, "_send", lambda task, given, _: keys.extend(given))
        tasks.notify()
        tasks.notify()
        assert len(keys) == 1
        tasks.notify(keys[0])
        assert keys == [keys[0]] * 2


def test_the_next_time_is_when_one_target_may_be_told(tell, clock):
    """Not when one has waited and another has been quiet for long enough."""
    tell(
        recording=RecordingEngine, NOTIFY_DELAY_SECONDS=20, NOTIFY_INTERVAL_SECONDS=600
    )
    site, engines = get_site(), list(get_engines().values())
    want_urls(site, ["https://example.com/a/"], clock() - timedelta(hours=1))
    deliver(site, engines)
    want_urls(site, ["https://example.com/a/"], clock() - timedelta(hours=1))
    want_urls(site, ["https://example.com/b/"])
    next_at = deliver(site, engines).next_at
    assert next_at == Delivery.objects.get(target__endswith="/b/").not_before
