"""Engines are told what waits, at their own pace, whatever they make of it."""

import time
from datetime import timedelta
from typing import Any, ClassVar

import pytest
from django.db import DatabaseError, connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from django_sitemaps_plus import tasks
from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.diagnostics.requests import pause
from django_sitemaps_plus.exceptions import BatchRejected, RetryLater
from django_sitemaps_plus.executors.base import Executor
from django_sitemaps_plus.models import (
    Change,
    Delivery,
    EngineHost,
    Figure,
    Publication,
    Section,
)
from django_sitemaps_plus.models.deliveries import DeliveryQuerySet
from django_sitemaps_plus.notifications import backoff, outbox, submit, url_changes
from django_sitemaps_plus.notifications.configuration import get_engines
from django_sitemaps_plus.notifications.dispatch import dispatch, notify_engines, retry
from django_sitemaps_plus.notifications.outbox import want_urls
from django_sitemaps_plus.notifications.secrets import Secret
from django_sitemaps_plus.notifications.submit import DeliveryReport
from django_sitemaps_plus.sites import get_site
from django_sitemaps_plus.testing import RecordingEngine
from tests.support.builds import build_and_relay
from tests.support.faults import fail_queries
from tests.support.servers.engine_faults import status
from tests.support.servers.engine_rules import BAIDU_TOKEN, MARKER
from tests.support.servers.programs import HANG
from tests.support.shop import limited, make_products

from .conftest import Clock
from .engines import (
    KEY,
    ActingEngine,
    FewEngine,
    FragileEngine,
    FragileSingleEngine,
    HubEngine,
    NamingEngine,
    OtherEngine,
    SingleEngine,
    of_ours,
    urls,
    want,
)


def fetch_all(sql):
    with connection.cursor() as cursor:
        return cursor.execute(sql).fetchall()


@pytest.fixture
def indexnow(tell, engine, clock):
    """Have an engine told over HTTP; give the engine."""
    endpoint = f"{engine.url}/indexnow"
    tell(indexnow=of_ours("IndexNow", key=KEY, endpoint=endpoint))
    return engine


class TestAnEngineThatIsAway:
    def test_it_is_left_alone_for_as_long_as_it_asks(self, indexnow, clock):
        indexnow.faults.script(status(503, Retry_After="900"))
        want(*urls(3))
        report = notify_engines()
        assert report.failures
        assert report.next_at > timezone.now() + timedelta(seconds=890)
        clock.forward(seconds=890)
        assert notify_engines().requests == 0
        clock.forward(seconds=20)
        assert notify_engines().sent == 3
        assert len(indexnow.journal) == 2

    def test_after_a_success_the_next_pause_is_short(self, indexnow, clock):
        want(*urls(1))
        for fault in ["503"] * 5 + [None, "503"]:
            indexnow.faults.script(fault)
            want(*urls(1))
            report = notify_engines()
            clock.forward(hours=2)
        assert report.next_at < timezone.now() - timedelta(hours=1)

    @pytest.mark.parametrize(
        ("error", "words"),
        [
            (RetryLater("down"), "down"),
            (ValueError("key=canary"), "it raised ValueError"),
        ],
    )
    def test_others_are_told_meanwhile(self, tell, clock, error, words):
        """An engine may be the user's own, and its words may hold what is secret."""
        tell(one=RecordingEngine, other=OtherEngine)
        want(*urls(2))
        with RecordingEngine.failing(error):
            report = notify_engines()
        assert sorted(OtherEngine.told()) == urls(2)
        assert report.failures == [f"one for example.com: {words}"]
        assert [row.error for row in Delivery.objects.waiting()] == [words] * 2
        clock.forward(hours=1)
        assert notify_engines().sent == 2


class TestAnEngineThatRefuses:
    def test_it_is_parked_until_somebody_acts(self, indexnow, clock, messages):
        indexnow.faults.script(status(403))
        want(*urls(3))
        at = timezone.now()
        assert notify_engines(wait=60).next_at is None
        assert EngineHost.objects.get().not_before >= at  # since when it is
        clock.forward(days=30)
        want(*urls(1, first=3))
        assert notify_engines().requests == 0
        assert ["403" in text for text in messages("engine_parked")] == [True]
        retry()
        assert notify_engines().sent == 4

    @pytest.mark.parametrize("key", [KEY[::-1], Secret(KEY[::-1])], ids=type)
    def test_another_key_ends_that(self, indexnow, tell, key):
        """The same key, in another process, does not; nor what a person has paused."""
        endpoint = f"{indexnow.url}/indexnow"
        indexnow.faults.script(status(403))
        want(*urls(3))
        notify_engines()
        tell(indexnow=of_ours("IndexNow", key=Secret(KEY), endpoint=endpoint))
        assert notify_engines().requests == 0
        tell(indexnow=of_ours("IndexNow", key=key, endpoint=endpoint))
        assert notify_engines().sent == 3
        assert EngineHost.objects.get().parked_reason == ""
        want(*urls(1, first=3))
        pause(get_site(), "indexnow", by="Ada")
        tell(indexnow=of_ours("IndexNow", key=KEY, endpoint=endpoint))
        assert notify_engines().requests == 0


class TestABadUrl:
    def test_all_others_are_told(self, indexnow, messages):
        good, bad = urls(100), f"https://example.com/{MARKER}/"
        want(*good[:70], bad, *good[70:])
        report = notify_engines()
        assert (report.sent, report.rejected) == (100, 1)
        assert sorted(indexnow.accepted()) == good
        dead = Delivery.objects.dead().get()
        assert dead.target == bad
        assert "400" in dead.error
        assert bad in messages("target_rejected")[0]
        assert notify_engines().requests == 0
        retry()
        assert notify_engines().rejected == 1

    def test_an_engine_that_rejects_everything_is_parked(self, tell):
        """Else thousands would be dead for one mistake."""
        tell(single=SingleEngine)
        want(*urls(backoff.MAX_REJECTIONS + 5))
        with SingleEngine.failing(BatchRejected("no")):
            report = notify_engines()
        assert report.requests == backoff.MAX_REJECTIONS
        assert "rejects everything" in EngineHost.objects.get().parked_reason
        retry()
        assert notify_engines().sent == backoff.MAX_REJECTIONS + 5

    def test_one_that_is_rejected_again_and_again_parks_nobody(self, recording):
        with recording.failing(BatchRejected("no")):
            for _ in range(backoff.MAX_REJECTIONS + 1):
                want(*urls(1))
                assert notify_engines().rejected == 1
        recipient = EngineHost.objects.get()
        assert (recipient.parked_reason, recipient.rejections) == ("", 1)


class TestAUrlThatAnEngineFailsAt:
    def test_all_others_are_told(self, tell, clock):
        tell(fragile=FragileEngine, NOTIFY_RETRY_SECONDS=5)
        want(FragileEngine.poison, *urls(1_500))
        began = timezone.now()
        failures = tell_until(urls(1_500), clock)
        assert len(failures) <= 25  # twice the halvings of a batch, and some
        assert timezone.now() - began < timedelta(minutes=15)
        (waiting,) = Delivery.objects.waiting()
        assert waiting.target == FragileEngine.poison

    def test_those_that_come_later_do_not_wait_for_it(self, tell, clock):
        tell(fragile=FragileEngine)
        want(FragileEngine.poison, *urls(1))
        tell_until(urls(1), clock)
        end = timezone.now() + timedelta(days=1)
        requests = 0
        while timezone.now() < end:
            requests += notify_engines().requests
            clock.forward(minutes=10)
        assert 10 < requests < 40
        want(*urls(50, first=1))
        notify_engines()
        assert sorted(FragileEngine.told()) == urls(51)

    def test_an_engine_of_single_targets_fails_once(self, tell, clock):
        tell(fragile=FragileSingleEngine)
        want(FragileEngine.poison, *urls(50))
        Delivery.objects.filter(target=FragileEngine.poison).update(
            not_before=timezone.now() - timedelta(days=1)
        )
        assert notify_engines().sent == 0
        clock.forward(minutes=2)
        report = notify_engines()
        assert (report.sent, len(report.failures)) == (50, 1)

    def test_an_outage_is_not_blamed_on_many(self, tell, clock):
        """Of those that have failed before, a few are asked for, not each."""
        tell(fragile=FragileSingleEngine)
        want(*urls(20))
        Delivery.objects.update(attempts=1)
        with FragileSingleEngine.failing(RetryLater("down")):
            assert notify_engines().requests == backoff.MAX_BLAMED + 1

    @pytest.mark.database
    def test_what_killed_who_told_it_comes_last(self, tell, clock):
        tell(single=SingleEngine)
        want(*urls(3))
        first = Delivery.objects.filter(target=urls(1)[0])
        first.update(token="of a dead process")
        with SingleEngine.failing(SystemExit()), pytest.raises(SystemExit):
            notify_engines()
        EngineHost.objects.update(token="")
        notify_engines()
        assert SingleEngine.told() == [*urls(3)[1:], *urls(1)]


def tell_until(told: list[str], clock: Clock) -> list[str]:
    """Tell a fragile engine until it has been told all; return what failed."""
    failures = notify_engines().failures
    while sorted(FragileEngine.told()) != told:
        assert len(failures) < 100
        clock.forward(seconds=0.1)
        report = notify_engines()
        failures += report.failures
        if not report.requests:
            assert report.next_at is not None
            clock.forward(seconds=(report.next_at - timezone.now()).total_seconds())
    return failures


class TestBatches:
    def test_each_is_of_one_host_and_not_too_large(self, tell):
        tell(few=FewEngine)
        want(*urls(10), *urls(10, host="www.example.com"))
        notify_engines()
        sizes = [(batch.host, len(batch.targets)) for batch in FewEngine.batches]
        hosts = ("example.com", "www.example.com")
        assert sizes == [(host, size) for host in hosts for size in (8, 2)]

    def test_they_grow_again_after_a_rejection(self, tell):
        tell(few=FewEngine)
        want(*urls(1))
        with FewEngine.failing(BatchRejected("no")):
            notify_engines()
        EngineHost.objects.update(batch=1)
        want(*urls(31, first=1))
        notify_engines()
        sizes = [len(batch.targets) for batch in FewEngine.batches]
        assert sizes[:5] == [1, 2, 4, 8, 8]

    @pytest.mark.database
    def test_what_waits_longest_is_told_first(self, tell, clock):
        """Also where its URL is new and others were told before."""
        tell(single=SingleEngine)
        want(*urls(2))
        notify_engines()
        want(*urls(1, first=2))
        clock.forward(seconds=1)
        want(*urls(2))
        notify_engines()
        assert SingleEngine.told()[2] == urls(1, first=2)[0]
        assert sorted(SingleEngine.told()[3:]) == urls(2)

    def test_more_than_one_round_of_requests_is_told(self, tell, monkeypatch):
        monkeypatch.setattr(submit, "MAX_REQUESTS", 3)
        tell(single=SingleEngine)
        want(*urls(10))
        assert notify_engines().sent == 10

    def test_no_request_is_begun_when_the_time_is_over(
        self, tell, impatient, monkeypatch
    ):
        tell(acting=ActingEngine)
        now = time.monotonic
        ActingEngine.act = lambda: monkeypatch.setattr(
            time, "monotonic", lambda: now() + 61
        )
        want(*urls(5))
        report = notify_engines(seconds=60)
        assert (report.requests, report.sent) == (1, 2)
        assert report.next_at <= timezone.now()


@pytest.mark.database
class TestAQueueOfMillions:
    @pytest.mark.skipif(connection.vendor != "sqlite", reason="words of SQLite's plans")
    def test_what_is_due_is_read_in_the_order_of_the_index(self, recording):
        """Nothing is sorted, and nothing is read that is not told."""
        want(*urls(3))
        engines = list(get_engines().values())
        with CaptureQueriesContext(connection) as queries:
            dispatch(engines, DeliveryReport())
        asked = [query["sql"] for query in queries if "host" in query["sql"]]
        reads = [sql for sql in asked if 'FROM "sitemaps_plus_delivery"' in sql]
        # What has failed is sorted: it is asked for when nothing else is left.
        reads = [sql for sql in reads if '"attempts" >' not in sql]
        assert len(reads) == 5
        for sql in reads:
            plan = str(fetch_all(f"EXPLAIN QUERY PLAN {sql}"))
            assert "INDEX sitemaps_plus_waiting" in plan
            assert "TEMP B-TREE" not in plan

    @pytest.mark.skipif(connection.vendor != "sqlite", reason="words of SQLite's plans")
    def test_targets_are_looked_up_by_their_hashes(self, recording):
        """Neither other rows of the engine are read nor the text of a long URL."""
        want(*urls(3))
        with CaptureQueriesContext(connection) as queries:
            want(*urls(5))
        asked = [query["sql"] for query in queries if " WHERE " in query["sql"]]
        assert [sql.split()[0] for sql in asked] == ["UPDATE", "UPDATE", "SELECT"]
        for sql in asked:
            plan = str(fetch_all(f"EXPLAIN QUERY PLAN {sql}"))
            assert "SEARCH" in plan
            assert "site=? AND engine=? AND target_hash=?" in plan


GOOD, BAD = urls(2)


class TestAnEngineThatNamesTheBad:
    def test_what_baidu_has_taken_is_not_sent_again(self, tell, engine):
        """Each counts towards the quota of the day."""
        endpoint = f"{engine.url}/baidu/urls"
        tell(baidu=of_ours("Baidu", token=BAIDU_TOKEN, endpoint=endpoint))
        good, bad = urls(64), f"https://example.com/{MARKER}/"
        want(*good[:40], bad, *good[40:])
        report = notify_engines()
        assert (report.sent, report.rejected, report.requests) == (64, 1, 1)
        assert engine.accepted() == dict.fromkeys(good, 1)
        assert Delivery.objects.dead().get().target == bad
        assert notify_engines().requests == 0

    @pytest.mark.database
    def test_a_change_meanwhile_is_told(self, tell):
        """Of what was accepted and of what was bad, which may be right since."""
        tell(acting=ActingEngine)

        def change_and_reject():
            want(GOOD, BAD)
            raise BatchRejected("bad", [BAD])

        ActingEngine.act = change_and_reject
        want(GOOD, BAD)
        report = notify_engines()
        assert (report.sent, report.rejected) == (3, 1)
        assert sorted(ActingEngine.told()) == [GOOD, GOOD, BAD, BAD]
        assert not Delivery.objects.dead().exists()

    @pytest.mark.parametrize(
        "name",
        [
            lambda bad, batch: [],
            lambda bad, batch: ["https://example.com/another/"],
            lambda bad, batch: [*bad, "https://example.com/another/"],
            lambda bad, batch: batch.targets,
        ],
        ids=["none", "another", "one too many", "all"],
    )
    def test_those_that_are_not_some_of_the_batch_count_for_nothing(self, tell, name):
        """It is halved then, and nothing counts as told that may not be."""
        tell(naming=NamingEngine)
        NamingEngine.bad, NamingEngine.name = [BAD], name
        want(*urls(8))
        report = notify_engines()
        assert (report.sent, report.rejected) == (7, 1)
        assert sorted(NamingEngine.told()) == [url for url in urls(8) if url != BAD]
        assert Delivery.objects.dead().get().target == BAD

    def test_an_engine_that_has_taken_one_is_not_parked_for_the_rest(self, tell):
        tell(naming=NamingEngine)
        NamingEngine.bad = bad = urls(backoff.MAX_REJECTIONS + 5)
        want(*bad, *urls(1, first=100))
        report = notify_engines()
        assert (report.sent, report.rejected, report.requests) == (1, len(bad), 1)
        assert EngineHost.objects.get().parked_reason == ""

    def test_an_engine_that_names_all_is_parked(self, tell):
        tell(naming=NamingEngine)
        NamingEngine.bad = bad = urls(backoff.MAX_REJECTIONS + 5)
        want(*bad)
        notify_engines()
        assert "rejects everything" in EngineHost.objects.get().parked_reason
        assert Delivery.objects.dead().count() == backoff.MAX_REJECTIONS


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
class TestFigures:
    """What became of submissions, hour by hour."""

    @pytest.fixture(autouse=True)
    def naming(self, tell, clock):
        tell(naming=NamingEngine)
        want(*urls(4))
        clock.forward(seconds=50)

    @staticmethod
    def figures() -> dict[str, float]:
        rows = Figure.objects.filter(site="default", name="naming")
        return dict(rows.values_list("kind", "value"))

    def test_targets_are_counted_by_what_became_of_them(self, clock):
        with NamingEngine.failing(RetryLater("busy")):
            notify_engines()
        assert self.figures() == {"failed": 4}
        clock.forward(seconds=300)
        NamingEngine.bad = urls(1)
        notify_engines()
        assert self.figures() == {"failed": 4, "accepted": 3}

    def test_delays_are_those_of_the_last_targets(self, clock, monkeypatch):
        monkeypatch.setattr(submit, "MAX_DELAYS", 2)
        clock.forward(seconds=40)
        notify_engines()
        [host] = EngineHost.objects.all()
        assert [int(it) for it in host.delays] == [90, 90]

    def test_what_was_submitted_counts_when_the_next_request_ends_the_process(
        self, monkeypatch
    ):
        """And the error that ended it stays the one that is seen."""
        monkeypatch.setattr(NamingEngine, "max_batch", 3)
        real = NamingEngine.send

        def send(self, batch):
            if len(batch.targets) == 1:
                raise SystemExit("stopped")
            real(self, batch)

        monkeypatch.setattr(NamingEngine, "send", send)
        with pytest.raises(SystemExit, match="stopped"):
            notify_engines()
        assert self.figures() == {"accepted": 3}

    def test_submissions_that_cannot_be_counted_are_made(self):
        with fail_queries(lambda sql: Figure._meta.db_table in sql):
            assert notify_engines().sent == 4
        assert sorted(NamingEngine.told()) == urls(4)


URL = "https://example.com/a/"


def changed(*urls, at=None):
    return want_urls(urls or [URL], at)


@pytest.mark.database
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


@pytest.mark.database
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


@pytest.mark.database
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


@pytest.mark.database
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


@pytest.mark.database
def test_one_that_died_is_replaced_after_a_lease(tell):
    tell(acting=ActingEngine)
    want(*urls(2))
    died()
    assert notify_engines().requests == 0
    age_lease()
    assert notify_engines().sent == 2


@pytest.mark.database
def test_a_call_does_not_wait_for_another(tell, impatient):
    tell(acting=ActingEngine)
    want(*urls(2))
    died()
    assert notify_engines(seconds=60, wait=5).sent == 0


def _die():
    raise KeyboardInterrupt


@pytest.mark.database
def test_killed_between_request_and_note_tells_again(tell):
    tell(acting=ActingEngine)
    ActingEngine.act = _die
    want(*urls(2))
    with pytest.raises(KeyboardInterrupt):
        notify_engines()
    assert notify_engines().sent == 2
    assert sorted(ActingEngine.told()) == sorted(urls(2) * 2)


@pytest.mark.database
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


@pytest.mark.database
def test_a_sleeper_tells_nothing_more(tell):
    tell(acting=ActingEngine)

    def overtaken():
        age_lease()
        assert EngineHost.objects.claim("default", "acting", "example.com")

    ActingEngine.act = overtaken
    want(*urls(6))
    assert notify_engines().requests == 1


@pytest.mark.database
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


@pytest.mark.database
def test_each_has_a_thousand_rows_at_most(recording):
    """So that none keeps a database waiting: of URLs, and of keys that were saved."""
    section = Section.objects.create(site="default", name="products")
    Publication.objects.note_saves(section, map(str, range(2_100)), timezone.now())
    noted = Publication.objects.order_by("pk").values_list("keys", flat=True)
    assert [len(part) for part in noted] == [1_000, 1_000, 100]
    assert url_changes.BATCH_URLS == outbox.BATCH_ROWS == 1_000
