"""``notify_search_engines``: what it takes, whom it tells of what, and how it ends."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from django_sitemaps_plus import ViewSource
from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.exceptions import BatchRejected, EngineRefused, RetryLater
from django_sitemaps_plus.management.commands import notify_search_engines
from django_sitemaps_plus.models import Delivery, EngineHost
from django_sitemaps_plus.notifications import Takes
from django_sitemaps_plus.testing import RecordingEngine
from tests.integration.diagnostics.rows import know
from tests.support.builds import build_and_relay
from tests.support.faults import fail_open
from tests.support.published import all_rows, page_row
from tests.support.shop import START, limited, make_products, product_urls
from tests.support.testapp.models import Author, Product

pytestmark = pytest.mark.django_db(transaction=True)

URL = "https://example.com/anything/"
INDEX = "https://example.com/sitemap.xml"


class Pages(ViewSource):
    """Views without rows, and so without dates."""

    views = ("home", "about")


class FeedEngine(RecordingEngine):
    """An engine that is told where indexes are."""

    takes = Takes.FEEDS


class OtherEngine(RecordingEngine):
    """A second one that takes URLs."""


@pytest.fixture
def engines(configure: Any) -> Iterator[Any]:
    """Return what has engines that are told at once, by their names."""

    def engines(**kinds: type) -> None:
        found = {
            name: {"BACKEND": f"{kind.__module__}.{kind.__qualname__}"}
            for name, kind in kinds.items()
        }
        configure(ENGINES=found, NOTIFY=True, NOTIFY_DELAY_SECONDS=0)

    yield engines
    for kind in (RecordingEngine, FeedEngine, OtherEngine):
        kind.clear()


@pytest.fixture(autouse=True)
def site(engines: Any, sections: Any) -> None:
    """Publish five products and two views; have an engine for URLs, one for feeds."""
    engines(one=RecordingEngine, two=FeedEngine)
    make_products(5)
    sections.register("products", limited(10))
    sections.register("pages", Pages)
    build()


@pytest.fixture
def run(run: Any) -> Any:
    """Return what runs the command and gives what it writes."""
    return partial(run, "notify_search_engines")


@pytest.fixture
def report_of(run: Any) -> Any:
    """Return what runs the command for a machine and gives what it says."""
    return lambda *arguments: json.loads(run("--json", *arguments))


def told() -> list[str]:
    """Return the URLs that the first engine was told, sorted."""
    return sorted(RecordingEngine.told())


class TestChoice:
    def test_without_a_choice_what_waits_is_told(self, report_of):
        """A rename since the build: both URLs; nothing of what was built at first."""
        Product.objects.filter(slug="product-00003").first().delete()
        build_and_relay()
        assert report_of()["sent"] == 2  # the index as well
        assert told() == product_urls([3])

    @pytest.mark.parametrize(
        ("arguments", "expected"),
        [
            # Each once, though nothing is known of it; a path stands for its URL, and
            # a scheme may be left out.
            (
                [URL, URL, "example.com/anything/", "/caf\u00e9/"],
                [URL, "https://example.com/caf%C3%A9/"],
            ),
            (["--section", "products"], product_urls(range(5))),
            (["--all"], None),
            (["--section=products", "--section=pages"], None),
            # Entries whose lastmod is not older; those without one are left out.
            ([f"--since={START + timedelta(minutes=3)}"], product_urls([3, 4])),
            (["--since", "2020-01-01", "--section", "pages"], []),
            ([URL, "--engine=one"], [URL]),
        ],
    )
    def test_what_is_chosen_is_told(self, report_of, arguments, expected):
        if expected is None:
            views = ["https://example.com/", "https://example.com/about/"]
            expected = views + product_urls(range(5))
        assert report_of("--dry-run", *arguments)["chosen"] == len(expected)
        assert report_of(*arguments)["chosen"] == len(expected)
        assert told() == sorted(expected)
        assert FeedEngine.told() == ([] if "--engine=one" in arguments else [INDEX])

    @pytest.mark.database
    @pytest.mark.parametrize("zone", ["America/New_York", "Asia/Tokyo"])
    def test_since_a_day(self, sections, settings, report_of, zone):
        """Those of that day are not older, wherever it begins."""
        settings.TIME_ZONE = zone
        days = [date(2026, 11, number) for number in (19, 20, 21)]
        for product, day in zip(Product.objects.order_by("pk"), days, strict=False):
            Product.objects.filter(pk=product.pk).update(created_on=day)
        sections.register("days", limited(10, lastmod="created_on"))
        assert report_of("--since=2026-11-20", "--section=days")["chosen"] == 2
        assert report_of("--since=2026-11-20T15:00", "--section=days")["chosen"] == 2

    def test_a_section_that_has_no_pages(self, sections, report_of):
        sections.register("more", limited(2))
        assert report_of("--section=more")["chosen"] == 5
        assert told() == product_urls(range(5))

    def test_one_engine_without_urls(self, run):
        run("--engine=two")
        assert (told(), FeedEngine.told()) == ([], [INDEX])

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("2026-11-20", datetime(2026, 11, 19, 23, tzinfo=UTC)),  # here in Berlin
            ("2026-11-20T09:30", datetime(2026, 11, 20, 8, 30, tzinfo=UTC)),
            ("2026-11-20T09:30Z", datetime(2026, 11, 20, 9, 30, tzinfo=UTC)),
        ],
    )
    def test_times_that_since_takes(self, text, expected):
        """A day, or a time with or without its zone; without, that of the project."""
        assert notify_search_engines.moment(text) == expected


@pytest.mark.parametrize(
    ("argument", "said"),
    [
        ("https://other.example/", "cannot be submitted"),
        ("http://example.com/", "cannot be submitted"),
        ("products/", "cannot be submitted"),
        ("www.example.com/products/", "is not on https://example.com"),
        ("--section=nothing", "nothing"),
        ("--engine=three", r"'three'.*one, two"),
        ("--since=yesterday", "write 2026-11-20 or 2026-11-20T09:30"),
        ("--since=2026-13-01", "is not a date"),
        ("--evrything", "unrecognized arguments"),
    ],
)
def test_what_cannot_be_chosen_is_refused(run, argument, said):
    """Before anything is noted; a dry run refuses it as well."""
    for arguments in ([URL, argument], ["--dry-run", argument]):
        with pytest.raises(CommandError, match=said):
            run(*arguments)
    assert told() == []
    assert not Delivery.objects.exists()


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"ENGINES": {}}, "No engines"),
        ({"ENGINES": {"broken": {"BACKEND": "no.such.Engine"}}}, "'broken'"),
        ({"BASE_URL": None}, "no origin"),
        # With the reason, and how to force it; None is False where tests run.
        ({"NOTIFY": False}, r"NOTIFY.*True.* forces it.* edit and build"),
        ({"NOTIFY": None}, r"NOTIFY.*True.* forces it.* edit and build"),
    ],
)
def test_settings_that_notify_nobody_are_named(run, configure, values, said):
    configure(**values)
    for arguments in ([], [URL]):
        with pytest.raises(CommandError, match=said):
            run(*arguments)
    assert not Delivery.objects.exists()


class TestDryRun:
    @pytest.mark.parametrize("arguments", [[], ["--all"], ["--retry"]])
    def test_it_writes_nothing_and_tells_nobody(self, run, arguments):
        Product.objects.first().delete()
        build_and_relay()
        Delivery.objects.update(dead_since=timezone.now())
        before = all_rows()
        assert "Nothing was sent" in run("--dry-run", *arguments)
        assert all_rows() == before
        assert told() == FeedEngine.told() == []

    def test_it_takes_what_is_at_the_origin_of_a_language(self, run, configure):
        configure(LANGUAGE_ORIGINS={"de": "https://other.example"})
        assert "1 URLs chosen" in run("--dry-run", "https://other.example/")


class TestNewKey:
    def test_nothing_need_be_configured(self, run, settings):
        settings.SITEMAPS_PLUS = {}
        keys = {run("--new-key").strip() for _ in range(3)}
        assert len(keys) == 3
        assert all([re.fullmatch("[0-9a-f]{32}", key) for key in keys])

    def test_there_may_be_none(self, configure, capsys):
        """As on a command line, where checks run first: they ask for the key."""
        engine = {"BACKEND": "django_sitemaps_plus.notifications.IndexNow"}
        configure(ENGINES={"indexnow": engine})
        command = notify_search_engines.Command()
        command.run_from_argv(["manage.py", "notify_search_engines", "--new-key"])
        assert re.fullmatch("[0-9a-f]{32}\n", capsys.readouterr().out)


class TestEnd:
    def test_a_table_and_a_sum(self, run):
        lines = run(URL).splitlines()
        assert lines[0].split() == ["engine", "waiting", "rejected", "last", "notified"]
        assert re.fullmatch(r"one +0 +0 +\d+ s", lines[2])
        assert lines[-1] == "2 accepted in 2 requests."
        assert run("/other/", verbosity=0) == ""
        assert told() == [URL, "https://example.com/other/"]

    def test_json_is_all_that_is_printed(self, report_of):
        report = report_of(URL)
        assert (report["chosen"], report["sent"], report["requests"]) == (1, 2, 2)
        assert report["failures"] == []
        one, two = report["engines"]
        assert (one["engine"], one["waiting"], one["dead"]) == ("one", 0, 0)
        assert two["sent_at"]

    @pytest.mark.parametrize(
        ("failure", "first", "arguments", "then"),
        [
            # In its pause nobody asks it, and nothing is told.
            (RetryLater("it is down"), r"one for example\.com: ", [URL], "tried again"),
            (EngineRefused("the key is wrong"), "one: ", [], r"wrong.*--retry"),
            (BatchRejected("no such URL"), r"Rejected URLs: 1\. ", [], "URLs: 1"),
        ],
    )
    def test_an_engine_that_fails(self, run, failure, first, arguments, then):
        """The other engine is told; a person hears of a fault once."""
        with (
            RecordingEngine.failing(failure),
            pytest.raises(CommandError, match=f"{first}.*{failure}") as caught,
        ):
            run(URL)
        if arguments == []:
            assert str(caught.value).count(str(failure)) == 1
        assert FeedEngine.told() == [INDEX]
        with pytest.raises(CommandError, match=then) as caught:
            run(*arguments)
        assert "another process" not in str(caught.value)
        run("--engine=two")
        run("--retry")
        assert told() == [URL]

    def test_only_the_engine_that_is_named_is_tried_again(self, run):
        know(engine="two", parked_reason="for good")
        run("--retry", "--engine=one")
        assert EngineHost.objects.get(engine="two").parked_reason == "for good"

    @pytest.mark.parametrize("has_zones", [True, False])
    def test_an_engine_in_a_pause_fails_no_cron_job(self, run, settings, has_zones):
        """The run that failed has said so; this one says when there will be more."""
        settings.USE_TZ = has_zones
        down = RetryLater("it is down.", after=3_600)
        with RecordingEngine.failing(down), pytest.raises(CommandError):
            run(URL)
        words = "0 accepted in 0 requests. 1 waits; the last request to one failed."
        assert f"{words} The next is due at 2" in run()

    def test_it_says_why_a_second_edit_waits(self, run, report_of):
        """A URL has an interval; the run that keeps it is no failure."""
        run(URL)
        report = report_of(URL)
        assert (report["sent"], report["engines"][0]["waiting"]) == (0, 1)
        assert (
            "0 accepted in 0 requests. 1 waits, since a URL is submitted again after "
            "10 minutes at the earliest (NOTIFY_INTERVAL_SECONDS). The next is due at 2"
        ) in run(URL)

    def test_an_engine_that_another_process_tells(self, run, engines):
        """Nobody knows what becomes of that; once it is free, it is told."""
        engines(one=RecordingEngine, two=FeedEngine, three=OtherEngine)
        now = timezone.now()
        know(token="other", claimed_at=now, not_before=now)
        run()  # which was asked for nothing
        with pytest.raises(CommandError, match=r"one was not .*run again") as caught:
            run(URL)
        assert "three" not in str(caught.value)
        assert (told(), OtherEngine.told()) == ([], [URL])
        EngineHost.objects.filter(engine="one").delete()
        run(URL)
        assert told() == [URL]

    @pytest.mark.parametrize("choice", [URL, "--section=products", "--all"])
    @pytest.mark.parametrize("names", [["two"], ["one", "two"], []])
    def test_urls_for_an_engine_that_takes_none(self, run, engines, choice, names):
        """The engine is named; nobody is told half of what was asked for."""
        if not names:
            engines(two=FeedEngine)
        named = [f"--engine={name}" for name in names]
        with pytest.raises(CommandError, match=r"no URLs.*: two\. Run .* without"):
            run(choice, *named)
        assert told() == FeedEngine.told() == []
        assert not Delivery.objects.exists()
        run(*named)
        assert FeedEngine.told() == [INDEX]

    @pytest.mark.parametrize("command", ["notify_search_engines", "build_sitemaps"])
    def test_what_cannot_be_gathered(self, run, monkeypatch, command):
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

    def test_a_source_that_fails(self, run, sections):
        """Which of its saves are to be told, nobody knows; the others are told."""

        def fail(self: Any) -> Any:
            raise ValueError("no rows today")

        broken = limited(10, model=Author, lastmod=None, get_queryset=fail)
        sections.register("broken", broken)
        Author.objects.create(name="one")
        with pytest.raises(CommandError, match=r"broken.*no rows today"):
            run(URL)
        assert told() == [URL]

    def test_a_large_section_that_is_not_built(self, run, sections, configure):
        """Its URLs are not known, so nobody was told of them."""
        configure(LIVE_MAX_ROWS=3)
        sections.register("more", limited(10))
        with pytest.raises(CommandError, match=r"'more'.*build_sitemaps more"):
            run("--section=more")
