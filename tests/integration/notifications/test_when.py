"""When engines are told: who is asked to do so, and how soon."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone

from django_sitemaps_plus import tasks
from django_sitemaps_plus.executors.base import Executor
from django_sitemaps_plus.models import Change, Delivery
from django_sitemaps_plus.notifications.dispatch import notify_engines
from django_sitemaps_plus.notifications.outbox import want_urls
from django_sitemaps_plus.testing import RecordingEngine
from tests.support.builds import build_and_relay
from tests.support.servers.programs import HANG
from tests.support.shop import limited, make_products

from .engines import HubEngine

pytestmark = pytest.mark.django_db(transaction=True)


class NotingExecutor(Executor):
    """One that notes of which changes engines are to be told, by their times."""

    changes: list[Any] = []

    def notify(self, due: Any) -> None:
        """Note the time."""
        self.changes.append(due)


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
        tasks, "_send", lambda task, given, seconds: sent.append(seconds)
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
        build_and_relay()  # with no change since
        assert changes == [at]


class TestCelery:
    @pytest.fixture
    def executor(self, recording, monkeypatch):
        """Give the one that tasks use."""
        executor = tasks.CeleryExecutor()
        monkeypatch.setattr(tasks, "get_executor", lambda: executor)
        return executor

    def test_a_worker_is_asked_at_the_time(self, executor, sent):
        """Once for all that comes until then, and again for an earlier time."""
        for seconds in (40, 50, 10, 20):
            executor.notify(timezone.now() + timedelta(seconds=seconds))
        executor.notifications.wait(HANG)
        assert [round(seconds) for seconds in sent] == [40, 10]

    def test_a_time_that_is_far_away_is_left_to_the_schedule(self, executor, sent):
        """A broker would give its message to another worker meanwhile."""
        executor.notify(timezone.now() + timedelta(minutes=10))
        assert sent == []

    def test_the_task_asks_again_for_what_waits(self, executor, tell, sent, clock):
        tell(recording=RecordingEngine, NOTIFY_DELAY_SECONDS=30)
        want_urls(["https://example.com/a/"])
        clock.forward(seconds=20)
        want_urls(["https://example.com/b/"])
        clock.forward(seconds=15)
        tasks.notify()
        executor.notifications.wait(HANG)
        assert RecordingEngine.told() == ["https://example.com/a/"]
        assert 0 < sent[0] <= 15


def test_the_next_time_is_when_one_target_may_be_told(tell, clock):
    """Not when one has waited and another has been quiet for long enough."""
    tell(
        recording=RecordingEngine, NOTIFY_DELAY_SECONDS=20, NOTIFY_INTERVAL_SECONDS=600
    )
    want_urls(["https://example.com/a/"], clock() - timedelta(hours=1))
    notify_engines()
    want_urls(["https://example.com/a/"], clock() - timedelta(hours=1))
    want_urls(["https://example.com/b/"])
    next_at = notify_engines().next_at
    assert next_at == Delivery.objects.get(target__endswith="/b/").not_before
