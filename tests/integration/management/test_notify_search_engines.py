"""``notify_search_engines``: what it takes, and whom it tells of what."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from django.core.management import CommandError
from django.utils import timezone

from django_sitemaps_plus.management.commands.notify_search_engines import (
    Command,
    moment,
)
from django_sitemaps_plus.models import Change, Delivery, EngineHost, Publication
from tests.support.builds import build_and_relay
from tests.support.shop import START, limited, product_urls
from tests.support.testapp.models import Product

from .notifying import URL, FeedEngine, report_of, run, told

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("told_site"),
]


def rows() -> list[Any]:
    """Return all that the command might write."""
    tables = (Delivery, EngineHost, Publication, Change)
    return [list(table.objects.order_by("pk").values()) for table in tables]


class TestChoice:
    def test_without_a_choice_what_waits_is_told(self):
        """A rename since the build: both URLs; nothing of what was built at first."""
        Product.objects.filter(slug="product-00003").first().delete()
        build_and_relay()
        assert report_of()["sent"] == 2  # the index as well
        assert told() == product_urls([3])

    def test_urls(self):
        """Each once, though nothing is known of them; a path stands for its URL."""
        assert report_of(URL, URL, "/caf\u00e9/")["chosen"] == 2
        assert told() == [URL, "https://example.com/caf%C3%A9/"]

    @pytest.mark.parametrize(
        "url",
        [
            "https://other.example/",
            "http://example.com/",
            "products/",
        ],
    )
    def test_what_is_no_url_of_the_site_is_refused(self, url):
        with pytest.raises(CommandError, match="cannot be submitted"):
            run(URL, url)
        assert told() == []
        assert not Delivery.objects.exists()

    def test_a_section(self):
        run("--section", "products")
        assert told() == product_urls(range(5))
        run("--section=products", "--section=pages")
        assert "https://example.com/about/" in told()

    def test_an_unknown_section_is_refused(self):
        """Before anything is noted."""
        with pytest.raises(CommandError, match="nothing"):
            run(URL, "--section=nothing")
        assert not Delivery.objects.exists()

    def test_all(self):
        assert report_of("--all")["chosen"] == 7
        assert set(product_urls(range(5))) < set(told())
        assert FeedEngine.told() == ["https://example.com/sitemap.xml"]

    def test_since(self):
        """Entries whose lastmod is not older; those without one are left out."""
        run("--since", (START + timedelta(minutes=3)).isoformat())
        assert told() == product_urls([3, 4])

    @pytest.mark.parametrize("zone", ["America/New_York", "Asia/Tokyo"])
    def test_since_a_day_of_entries_that_have_days(self, told_site, settings, zone):
        """Those of that day are not older, wherever it begins."""
        settings.TIME_ZONE = zone
        days = [date(2026, 11, number) for number in (19, 20, 21)]
        for product, day in zip(Product.objects.order_by("pk"), days, strict=False):
            Product.objects.filter(pk=product.pk).update(created_on=day)
        told_site.register("days", limited(10, lastmod="created_on"))
        assert report_of("--since=2026-11-20", "--section=days")["chosen"] == 2
        assert report_of("--since=2026-11-20T15:00", "--section=days")["chosen"] == 2

    def test_since_of_a_section(self):
        run("--since", "2020-01-01", "--section", "pages")
        assert told() == []

    def test_a_section_that_has_no_pages(self, told_site):
        """Its URLs are read from its rows, page by page."""
        told_site.register("more", limited(2))
        assert report_of("--section=more")["chosen"] == 5
        assert told() == product_urls(range(5))

    def test_one_engine(self):
        run("--engine=two")
        assert told() == []
        assert FeedEngine.told() == ["https://example.com/sitemap.xml"]
        run(URL, "--engine=one")
        assert told() == [URL]

    def test_an_unknown_engine_is_refused(self):
        """With the names of those that there are."""
        with pytest.raises(CommandError, match=r"'three'.*one, two"):
            run(URL, "--engine=three")
        assert told() == []

    def test_a_url_that_was_told_a_moment_ago_waits(self):
        """Until NOTIFY_INTERVAL_SECONDS has gone by; that is no failure."""
        run(URL)
        report = report_of(URL)
        assert report["sent"] == 0
        assert report["engines"][0]["waiting"] == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-11-20", datetime(2026, 11, 19, 23, tzinfo=UTC)),  # here in Berlin
        ("2026-11-20T09:30", datetime(2026, 11, 20, 8, 30, tzinfo=UTC)),
        ("2026-11-20T09:30Z", datetime(2026, 11, 20, 9, 30, tzinfo=UTC)),
    ],
)
def test_times_that_since_takes(text, expected):
    """A day, or a time with or without its zone; without, that of the project."""
    assert moment(text) == expected


@pytest.mark.parametrize("text", ["yesterday", "2026-13-01"])
def test_what_is_no_time_is_refused(text):
    """With what to write instead."""
    words = f"'{text}' is not a date: write 2026-11-20 or 2026-11-20T09:30"
    with pytest.raises(CommandError, match=words):
        run(f"--since={text}")


class TestDryRun:
    @pytest.mark.parametrize("arguments", [[], ["--all"], ["--retry"]])
    def test_it_writes_nothing_and_tells_nobody(self, arguments):
        """Whatever is asked for, and though something waits."""
        Product.objects.first().delete()
        build_and_relay()
        Delivery.objects.update(dead_since=timezone.now())
        before = rows()
        assert "Nothing was sent" in run("--dry-run", *arguments)
        assert rows() == before
        assert told() == FeedEngine.told() == []

    def test_it_counts(self):
        assert report_of("--dry-run", "--all")["chosen"] == 7
        assert "7 URLs chosen" in run("--dry-run", "--all")

    def test_it_refuses_what_cannot_be_told(self):
        with pytest.raises(CommandError, match="cannot be submitted"):
            run("--dry-run", "https://other.example/")

    def test_it_takes_what_is_at_the_origin_of_a_language(self, configure):
        configure(LANGUAGE_ORIGINS={"de": "https://other.example"})
        assert "1 URLs chosen" in run("--dry-run", "https://other.example/")


class TestConfiguration:
    def test_no_engines(self, configure):
        configure(ENGINES={})
        with pytest.raises(CommandError, match="No engines"):
            run()

    def test_engines_that_are_off(self, configure):
        """With the reason, and how to force it."""
        for notify in (False, None):  # here is a test, so they are not told
            configure(NOTIFY=notify)
            with pytest.raises(
                CommandError, match=r"NOTIFY.*True.* forces it"
            ) as error:
                run(URL)
            assert "until now is not submitted later: edit and build" in str(
                error.value
            )
        assert not Delivery.objects.exists()

    def test_an_engine_that_cannot_be_made(self, configure):
        broken = {"broken": {"BACKEND": "no.such.Engine"}}
        configure(ENGINES=broken)
        with pytest.raises(CommandError, match="'broken'"):
            run()

    def test_no_origin(self, configure):
        configure(BASE_URL=None)
        with pytest.raises(CommandError, match="no origin"):
            run()

    def test_an_unknown_option(self):
        with pytest.raises(CommandError, match="unrecognized arguments"):
            run("--evrything")


def test_a_new_key(settings):
    """One that IndexNow takes, another each time; nothing need be configured."""
    settings.SITEMAPS_PLUS = {}
    keys = {run("--new-key").strip() for _ in range(3)}
    assert len(keys) == 3
    assert all([re.fullmatch("[0-9a-f]{32}", key) for key in keys])


def test_a_new_key_where_there_is_none(configure, capsys):
    """As on a command line, where checks run first: they ask for the key."""
    engine = {"BACKEND": "django_sitemaps_plus.notifications.IndexNow"}
    engines = {"indexnow": engine}
    configure(ENGINES=engines)
    Command().run_from_argv(["manage.py", "notify_search_engines", "--new-key"])
    assert re.fullmatch("[0-9a-f]{32}\n", capsys.readouterr().out)
