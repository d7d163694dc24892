"""An engine that names the bad of a batch, and has accepted the rest of it."""

from __future__ import annotations

import pytest

from django_sitemaps_plus.exceptions import BatchRejected
from django_sitemaps_plus.models import Delivery, EngineHost
from django_sitemaps_plus.notifications import backoff
from django_sitemaps_plus.notifications.dispatch import notify_engines
from tests.support.servers.engine_rules import BAIDU_TOKEN, MARKER

from .engines import ActingEngine, NamingEngine, urls, want

GOOD, BAD = urls(2)


def reject():
    """Accept one URL of two, as the engine that is asked."""
    raise BatchRejected("bad", [BAD])


class TestBaidu:
    @pytest.fixture(autouse=True)
    def baidu(self, tell, engine):
        """Have it told over HTTP."""
        options = {"token": BAIDU_TOKEN, "endpoint": f"{engine.url}/baidu/urls"}
        backend = "django_sitemaps_plus.notifications.Baidu"
        tell(baidu={"BACKEND": backend, "OPTIONS": options})

    def test_what_it_has_taken_is_not_sent_again(self, engine):
        """Each counts towards the quota of the day."""
        good, bad = urls(64), f"https://example.com/{MARKER}/"
        want(*good[:40], bad, *good[40:])
        report = notify_engines()
        assert (report.sent, report.rejected, report.requests) == (64, 1, 1)
        assert engine.accepted() == dict.fromkeys(good, 1)
        assert Delivery.objects.dead().get().target == bad
        assert notify_engines().requests == 0


class TestBoth:
    def test_a_change_meanwhile_is_told(self, tell):
        """Of what was accepted and of what was bad, which may be right since."""
        tell(acting=ActingEngine)

        def change_and_reject():
            want(GOOD, BAD)
            reject()

        ActingEngine.act = change_and_reject
        want(GOOD, BAD)
        report = notify_engines()
        assert (report.sent, report.rejected) == (3, 1)
        assert sorted(ActingEngine.told()) == [GOOD, GOOD, BAD, BAD]
        assert not Delivery.objects.dead().exists()


class TestNames:
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
        """However many are bad: it is the URLs."""
        tell(naming=NamingEngine)
        NamingEngine.bad = bad = urls(backoff.MAX_REJECTIONS + 5)
        want(*bad, *urls(1, first=100))
        report = notify_engines()
        assert (report.sent, report.rejected, report.requests) == (1, len(bad), 1)
        assert EngineHost.objects.get().parked_reason == ""

    def test_an_engine_that_names_all_is_parked(self, tell):
        """Else thousands would be dead for one mistake, as in the name of the site."""
        tell(naming=NamingEngine)
        NamingEngine.bad = bad = urls(backoff.MAX_REJECTIONS + 5)
        want(*bad)
        notify_engines()
        assert "rejects everything" in EngineHost.objects.get().parked_reason
        assert Delivery.objects.dead().count() == backoff.MAX_REJECTIONS
