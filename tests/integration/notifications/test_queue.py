"""What has changed waits in rows, and is told in time, by one process at a time."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, ClassVar

import pytest
from django.db import DatabaseError, transaction
from django.utils import timezone

from django_sitemaps_plus import tasks
from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.exceptions import BatchRejected, RetryLater
from django_sitemaps_plus.executors.base import Executor
from django_sitemaps_plus.models import (
    Change,
    Delivery,
    EngineHost,
    Publication,
    Section,
)
from django_sitemaps_plus.models.deliveries import DeliveryQuerySet
from django_sitemaps_plus.notifications import outbox, url_changes
from django_sitemaps_plus.notifications.dispatch import notify_engines
from django_sitemaps_plus.notifications.outbox import want_urls
from django_sitemaps_plus.testing import RecordingEngine
from tests.support.builds import build_and_relay
from tests.support.servers.programs import HANG
from tests.support.shop import limited, make_products

from .engines import ActingEngine, HubEngine, OtherEngine, urls, want

pytestmark = pytest.mark.database

URL = "https://example.com/a/"


def changed(*urls, at=None):
    return want_urls(urls or [URL], at)


class TestTimes:
    def test_the_first_notice_is_some_time_after_the_commit(self, tell, clock):
        tell(recording=RecordingEngine, NOTIFY_DELAY_SECONDS=100)
        changed(at=timezone.now() - timedelta(seconds=40))
        assert notify_engines().sent == 0
        clock.forward(seconds=40)
        assert notify_engines().sent == 0
        clock.forward(seconds=30)
        assert notify_engines().sent == 1

    def test_the_same_url_is_told_again_only_after_a_while(self, tell, clock):
        """Counted from the last time; another URL need not wait."""
        tell(recording=RecordingEngine, NOTIFY_INTERVAL_SECONDS=600)
        changed()
        notify_engines()
        clock.forward(seconds=300)
        changed()
        changed("https://example.com/b/")
        notify_engines()
        assert RecordingEngine.told() == [URL, "https://example.com/b/"]
        clock.forward(seconds=310)
        notify_engines()
        assert RecordingEngine.told() == [URL, "https://example.com/b/", URL]

    def test_a_call_does_not_wait_for_what_comes_later(self, tell, clock, impatient):
        tell(recording=RecordingEngine, NOTIFY_INTERVAL_SECONDS=600)
        changed()
        notify_engines()
        changed()
        times = {"NOTIFY_DELAY_SECONDS": 100, "NOTIFY_INTERVAL_SECONDS": 600}
        tell(recording=RecordingEngine, **times)
        changed("https://example.com/b/")
        report = notify_engines()
        assert report.sent == 0
        [new] = Delivery.objects.filter(target__endswith="/b/")
        assert report.next_at == new.not_before

    def test_what_was_rejected_is_told_again_only_after_a_while(self, tell, clock):
        times = {"NOTIFY_DELAY_SECONDS": 5, "NOTIFY_INTERVAL_SECONDS": 600}
        tell(recording=RecordingEngine, **times)
        changed()
        clock.forward(seconds=6)
        with RecordingEngine.failing(BatchRejected("bad")):
            assert notify_engines().rejected == 1
            for _ in range(9):
                clock.forward(seconds=60)
                changed()
                assert notify_engines().requests == 0
        waited = timezone.now() - Delivery.objects.get().changed_at
        assert timedelta(minutes=8) <= waited < timedelta(minutes=9)
        clock.forward(seconds=61)
        assert notify_engines().sent == 1

    def test_a_time_in_the_future_is_now(self, recording):
        """Clocks differ."""
        changed(at=timezone.now() + timedelta(days=1))
        assert notify_engines().sent == 1


class TestChangesThatCome:
    def test_they_join_what_waits(self, tell, clock):
        tell(recording=RecordingEngine, NOTIFY_DELAY_SECONDS=100)
        for _ in range(5):
            changed()
            clock.forward(seconds=21)
        assert notify_engines().sent == 1
        assert notify_engines().sent == 0

    def test_during_a_request_they_are_told_after_it(self, tell, clock):
        tell(acting=ActingEngine, NOTIFY_INTERVAL_SECONDS=600)
        ActingEngine.act = changed
        changed()
        notify_engines()
        assert ActingEngine.told() == [URL]
        clock.forward(seconds=700)
        notify_engines()
        assert ActingEngine.told() == [URL, URL]

    def test_during_a_request_that_is_rejected_they_are_told(self, tell):
        tell(acting=ActingEngine)

        def reject():
            changed()
            raise BatchRejected("bad")

        ActingEngine.act = reject
        changed()
        assert notify_engines().sent == 1
        assert not Delivery.objects.dead().exists()
        assert not Delivery.objects.waiting().exists()


def test_nobody_hears_where_engines_are_off(tell):
    tell(recording=RecordingEngine, NOTIFY=False)
    changed()
    assert not Delivery.objects.exists()
    assert notify_engines().requests == 0


def test_engines_of_feeds_hear_of_no_urls(tell):
    tell(hub=HubEngine)
    changed()
    notify_engines()
    assert URL not in HubEngine.told()


class NotingExecutor(Executor):
    changes: ClassVar[list[Any]] = []

    def notify(self, due: Any) -> None:
        self.changes.append(due)


@pytest.mark.django_db(transaction=True)
def test_an_executor_is_asked_with_the_time_at_which_a_save_was_recorded(tell, publish):
    """Which is before its commit; not with that of a build, nor for a first one."""
    path = f"{NotingExecutor.__module__}.{NotingExecutor.__qualname__}"
    tell(recording=RecordingEngine, hub=HubEngine, EXECUTOR=path)
    changes = NotingExecutor.changes
    changes.clear()
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


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Give the seconds after which workers are asked to tell engines."""
    sent: list[float] = []
    monkeypatch.setattr(
        tasks, "_send", lambda task, given, seconds: sent.append(seconds)
    )
    return sent


class TestCelery:
    @pytest.fixture
    def executor(self, recording, monkeypatch):
        executor = tasks.CeleryExecutor()
        monkeypatch.setattr(tasks, "get_executor", lambda: executor)
        return executor

    def test_a_worker_is_asked_at_the_time(self, executor, sent):
        """Once for all that comes until then, and again for an earlier time.

        A time that is far away is left to the schedule: a broker would give its message
        to another worker meanwhile.
        """
        for seconds in (600, 40, 50, 10, 20):
            executor.notify(timezone.now() + timedelta(seconds=seconds))
        executor.notifications.wait(HANG)
        assert [round(seconds) for seconds in sent] == [40, 10]

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


LEASE = 60.0


def died():
    """Leave an engine as a process that was killed leaves it."""
    EngineHost.objects.update(token="")
    assert EngineHost.objects.claim("default", "acting", "example.com")


def age_lease():
    for row in EngineHost.objects.exclude(claimed_at=None):
        row.claimed_at -= timedelta(seconds=2 * LEASE)
        row.save()


def test_only_one_tells_an_engine_of_a_host(tell):
    tell(acting=ActingEngine, other=OtherEngine)
    reports = []
    ActingEngine.act = lambda: reports.append(notify_engines())
    want(*urls(6))
    assert notify_engines().requests == 3
    assert sorted(ActingEngine.told()) == urls(6)
    assert sorted(OtherEngine.told()) == urls(6)
    assert reports[0].sent == 6
    assert reports[0].next_at > timezone.now() + timedelta(seconds=LEASE / 2)


def test_one_that_died_is_replaced_after_a_lease(tell):
    tell(acting=ActingEngine)
    want(*urls(2))
    died()
    assert notify_engines().requests == 0
    age_lease()
    assert notify_engines().sent == 2


def test_a_call_does_not_wait_for_another(tell, impatient):
    tell(acting=ActingEngine)
    want(*urls(2))
    died()
    assert notify_engines(seconds=60, wait=5).sent == 0


def _die():
    raise KeyboardInterrupt


def test_killed_between_request_and_note_tells_again(tell):
    tell(acting=ActingEngine)
    ActingEngine.act = _die
    want(*urls(2))
    with pytest.raises(KeyboardInterrupt):
        notify_engines()
    assert notify_engines().sent == 2
    assert sorted(ActingEngine.told()) == sorted(urls(2) * 2)


def test_a_sleeper_notes_nothing(tell):
    """Another has claimed a newer version meanwhile, and did not get to tell it."""
    tell(acting=ActingEngine)

    def overtaken():
        age_lease()
        want(*urls(2))
        with ActingEngine.failing(RetryLater("down")):
            notify_engines()

    ActingEngine.act = overtaken
    want(*urls(2))
    notify_engines()
    assert Delivery.objects.waiting().count() == 2


def test_a_sleeper_tells_nothing_more(tell):
    tell(acting=ActingEngine)

    def overtaken():
        age_lease()
        assert EngineHost.objects.claim("default", "acting", "example.com")

    ActingEngine.act = overtaken
    want(*urls(6))
    assert notify_engines().requests == 1


def test_a_sleeper_does_not_let_others_in(tell):
    tell(acting=ActingEngine)
    ActingEngine.act = died
    want(*urls(2))
    notify_engines()
    assert EngineHost.objects.exclude(token="").exists()


# However much is to be told, it is queued in small transactions, each by itself.


@pytest.fixture
def second_fails(monkeypatch):
    calls, want = [], DeliveryQuerySet.want

    def failing(*args, **options):
        calls.append(args)
        if len(calls) == 2:
            raise DatabaseError("disk full")
        want(*args, **options)

    monkeypatch.setattr(DeliveryQuerySet, "want", failing)


@pytest.mark.django_db(transaction=True)
def test_what_a_publication_changed(recording, publish, second_fails, monkeypatch):
    """What was queued before a failure stays, and all of it is heard once more."""
    monkeypatch.setattr(url_changes, "BATCH_URLS", 2)
    products = make_products(3)
    publish(limited(10))
    for product in products:
        product.slug = f"renamed-{product.pk}"
        product.save()
    build()
    [words] = url_changes.relay()
    assert "disk full" in words
    assert Delivery.objects.count() == 2
    assert Publication.objects.count() == 1
    Publication.objects.update(claimed_at=None)
    assert notify_engines().sent == 6
    assert not Publication.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_urls_that_are_chosen(recording, second_fails, monkeypatch):
    monkeypatch.setattr(outbox, "BATCH_ROWS", 2)
    with pytest.raises(DatabaseError, match="disk full"):
        outbox.want_urls(urls(5))
    assert Delivery.objects.count() == 2


def test_each_has_a_thousand_rows_at_most(recording):
    """So that none keeps a database waiting: of URLs, and of keys that were saved."""
    section = Section.objects.create(site="default", name="products")
    Publication.objects.note_saves(section, map(str, range(2_100)), timezone.now())
    noted = Publication.objects.order_by("pk").values_list("keys", flat=True)
    assert [len(part) for part in noted] == [1_000, 1_000, 100]
    assert url_changes.BATCH_URLS == outbox.BATCH_ROWS == 1_000
