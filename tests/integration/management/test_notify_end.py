"""``notify_search_engines``: what it says, how it ends, and what to do then."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from django_sitemaps_plus.exceptions import BatchRejected, EngineRefused, RetryLater
from django_sitemaps_plus.models import Delivery, EngineHost
from django_sitemaps_plus.testing import RecordingEngine
from tests.support.builds import build_and_relay
from tests.support.faults import fail_open
from tests.support.published import page_row
from tests.support.shop import ProductSource, limited, product_urls
from tests.support.testapp.models import Author, Product

from .notifying import URL, FeedEngine, report_of, run, told

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("told_site"),
]


class BrokenSource(ProductSource):
    """One whose queryset raises."""

    model = Author
    lastmod = None

    def get_queryset(self):
        """Raise."""
        raise ValueError("no rows today")


class OtherEngine(RecordingEngine):
    """A second one that takes URLs."""


@pytest.fixture
def three(settings: Any) -> Iterator[None]:
    """Have a third engine."""
    options = settings.SITEMAPS_PLUS
    path = f"{OtherEngine.__module__}.{OtherEngine.__qualname__}"
    engines = {**options["ENGINES"], "three": {"BACKEND": path}}
    settings.SITEMAPS_PLUS = {**options, "ENGINES": engines}
    yield
    OtherEngine.clear()


def told_by_another(engine: str) -> EngineHost:
    """Let another process be at an engine."""
    now = timezone.now()
    return EngineHost.objects.create(
        site="default",
        engine=engine,
        host="example.com",
        token="other",
        claimed_at=now,
        not_before=now,
    )


class TestEnd:
    def test_a_table_and_a_sum(self):
        lines = run(URL).splitlines()
        assert lines[0].split() == ["engine", "waiting", "rejected", "last", "notified"]
        assert re.fullmatch(r"one +0 +0 +\d+ s", lines[2])
        assert lines[-1] == "2 accepted in 2 requests."

    def test_verbosity_0_says_nothing(self):
        assert run(URL, verbosity=0) == ""
        assert told() == [URL]

    def test_json_is_all_that_is_printed(self):
        report = report_of(URL)
        assert (report["chosen"], report["sent"], report["requests"]) == (1, 2, 2)
        assert report["failures"] == []
        one, two = report["engines"]
        assert (one["engine"], one["waiting"], one["dead"]) == ("one", 0, 0)
        assert two["sent_at"]

    def test_an_engine_that_fails_ends_it_with_an_error(self):
        """What it was to be told waits, and is told again by itself."""
        with (
            RecordingEngine.failing(RetryLater("it is down")),
            pytest.raises(CommandError, match=r"one for example\.com: it is down"),
        ):
            run(URL)
        assert FeedEngine.told() == ["https://example.com/sitemap.xml"]
        with pytest.raises(CommandError, match="it is down") as caught:
            run(URL)  # in its pause nobody asks it, and nothing is told
        assert "another process" not in str(caught.value)
        assert Delivery.objects.waiting().count() == 1

    @pytest.mark.parametrize("has_zones", [True, False])
    def test_an_engine_in_a_pause_is_no_failure_of_a_run_by_cron(
        self, settings, has_zones
    ):
        """The run that failed has said so; this one says when there will be more."""
        settings.USE_TZ = has_zones
        down = RetryLater("it is down.", after=3_600)
        with RecordingEngine.failing(down), pytest.raises(CommandError):
            run(URL)
        words = "0 accepted in 0 requests. 1 waits; the last request to one failed."
        assert f"{words} The next is due at 2" in run()
        with pytest.raises(CommandError, match=r"it is down\. It is tried again auto"):
            run(URL)

    def test_it_says_why_a_second_edit_waits(self):
        """A URL has an interval; the run that keeps it is no failure."""
        run(URL)
        assert (
            "0 accepted in 0 requests. 1 waits, since a URL is submitted again after "
            "600 s at the earliest (NOTIFY_INTERVAL_SECONDS). The next is due at 2"
        ) in run(URL)

    def test_a_parked_engine_ends_it_with_an_error(self):
        """Which says what to do; only where it was to be told."""
        with (
            RecordingEngine.failing(EngineRefused("the key is wrong")),
            pytest.raises(CommandError, match="the key is wrong") as caught,
        ):
            run(URL)
        assert str(caught.value).count("the key is wrong") == 1
        with pytest.raises(CommandError, match=r"the key is wrong.*--retry"):
            run(URL)
        run("--engine=two")

    def test_an_engine_that_another_tells_ends_it_with_an_error(self, three):
        """Nobody knows what becomes of that; once it is free, it is told."""
        other = told_by_another("one")
        run()  # which was asked for nothing
        with pytest.raises(CommandError, match=r"one was not .*run again") as caught:
            run(URL)
        assert "three" not in str(caught.value)
        assert told() == []
        assert OtherEngine.told() == [URL]
        other.delete()
        run(URL)
        assert told() == [URL]

    @pytest.mark.parametrize("choice", [[URL], ["--section=products"]])
    @pytest.mark.parametrize("engines", [["two"], ["one", "two"]])
    def test_urls_for_an_engine_that_takes_none_are_refused(self, choice, engines):
        """It is named, with what to do; nobody is told half of what was asked for."""
        names = [f"--engine={name}" for name in engines]
        with pytest.raises(CommandError, match=r"no URLs.*: two\. Run .* without"):
            run(*choice, *names)
        assert told() == FeedEngine.told() == []
        assert not Delivery.objects.exists()
        run(*names)
        assert FeedEngine.told() == ["https://example.com/sitemap.xml"]

    def test_urls_are_refused_where_no_engine_takes_any(self, settings):
        options = settings.SITEMAPS_PLUS
        only = {"two": options["ENGINES"]["two"]}
        settings.SITEMAPS_PLUS = {**options, "ENGINES": only}
        with pytest.raises(CommandError, match=r"no URLs.*: two\."):
            run("--all")
        run()

    def test_a_rejected_url_ends_it_with_an_error(self):
        with (
            RecordingEngine.failing(BatchRejected("no such URL")),
            pytest.raises(CommandError, match=r"Rejected targets: 1\. no such URL"),
        ):
            run(URL)
        with pytest.raises(CommandError, match="Rejected targets: 1"):
            run()

    @pytest.mark.parametrize("command", ["notify_search_engines", "build_sitemaps"])
    def test_what_cannot_be_gathered_ends_it_with_an_error(self, monkeypatch, command):
        """Nobody knows what is to be told; it is told once the storage is back."""
        Product.objects.get(slug="product-00000").delete()
        with monkeypatch.context() as patch:
            fail_open(patch, page_row("products", 1).object)
            if command != "build_sitemaps":
                build_and_relay()
            for _ in range(2):  # it does not say in between that all is well
                with pytest.raises(CommandError, match=r"next run: .*was opened"):
                    call_command(command, verbosity=0)
        call_command(command, verbosity=0)
        run()
        assert told() == product_urls([0])

    def test_a_source_that_fails_ends_it_with_an_error(self, told_site):
        """Which of its saves are to be told, nobody knows; the others are told."""
        told_site.register("broken", BrokenSource)
        Author.objects.create(name="one")
        with pytest.raises(CommandError, match=r"broken.*no rows today"):
            run(URL)
        assert told() == [URL]

    def test_a_large_section_that_is_not_built_ends_it_with_an_error(
        self, told_site, configure
    ):
        """Its URLs are not known, so nobody was told of them."""
        configure(LIVE_MAX_ROWS=3)
        told_site.register("more", limited(10))
        with pytest.raises(CommandError, match=r"'more'.*build_sitemaps more"):
            run("--section=more")


class TestRetry:
    @pytest.mark.parametrize(
        "failure", [EngineRefused("the key is wrong"), BatchRejected("no such URL")]
    )
    def test_what_failed_is_told_again(self, failure):
        with RecordingEngine.failing(failure), pytest.raises(CommandError):
            run(URL)
        run("--retry")
        assert told() == [URL]

    def test_only_the_engine_that_is_named(self):
        EngineHost.objects.create(
            site="default", engine="two", host="example.com", parked_reason="for good"
        )
        run("--retry", "--engine=one")
        assert EngineHost.objects.get(engine="two").parked_reason == "for good"
