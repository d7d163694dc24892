"""What has changed waits in rows: one for each engine and URL, however often."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from django_sitemaps_plus.exceptions import BatchRejected
from django_sitemaps_plus.models import Delivery
from django_sitemaps_plus.notifications.dispatch import notify_engines
from django_sitemaps_plus.notifications.outbox import want_urls
from django_sitemaps_plus.testing import RecordingEngine

from .engines import ActingEngine, HubEngine

pytestmark = pytest.mark.database

URL = "https://example.com/a/"


def changed(*urls, at=None):
    """Have engines hear of URLs."""
    return want_urls(urls or [URL], at)


class TestTimes:
    def test_the_first_notice_is_some_time_after_the_commit(
        self, tell, clock, recording
    ):
        """However much later the change was found."""
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
        """One URL is to rest, another is too new; neither may be told."""
        tell(recording=RecordingEngine, NOTIFY_INTERVAL_SECONDS=600)
        changed()
        notify_engines()
        changed()
        tell(
            recording=RecordingEngine,
            NOTIFY_DELAY_SECONDS=100,
            NOTIFY_INTERVAL_SECONDS=600,
        )
        changed("https://example.com/b/")
        report = notify_engines()
        assert report.sent == 0
        assert report.next_at > timezone.now() + timedelta(seconds=50)

    def test_what_was_rejected_is_told_again_only_after_a_while(self, tell, clock):
        """However often it changes; with the times that sites have by default."""
        tell(
            recording=RecordingEngine,
            NOTIFY_DELAY_SECONDS=5,
            NOTIFY_INTERVAL_SECONDS=600,
        )
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
        """The engine may have looked before."""
        tell(acting=ActingEngine, NOTIFY_INTERVAL_SECONDS=600)
        ActingEngine.act = changed
        changed()
        notify_engines()
        assert ActingEngine.told() == [URL]
        clock.forward(seconds=700)
        notify_engines()
        assert ActingEngine.told() == [URL, URL]

    def test_during_a_request_that_is_rejected_they_are_told(self, tell):
        """What was bad may be right since."""
        tell(acting=ActingEngine)

        def reject():
            changed()
            raise BatchRejected("bad")

        ActingEngine.act = reject
        changed()
        assert notify_engines().sent == 1
        assert not Delivery.objects.dead().exists()
        assert not Delivery.objects.waiting().exists()


class TestWho:
    def test_only_those_that_take_urls(self, tell):
        tell(hub=HubEngine)
        changed()
        notify_engines()
        assert URL not in HubEngine.told()

    def test_nobody_where_engines_are_off(self, tell):
        """Nothing is kept for later either."""
        tell(recording=RecordingEngine, NOTIFY=False)
        changed()
        assert not Delivery.objects.exists()
        assert notify_engines().requests == 0
