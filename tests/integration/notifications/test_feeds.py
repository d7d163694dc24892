"""Engines that take feeds are told of indexes once, of what they follow each time."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import OperationalError

from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.building.plan import replan
from django_sitemaps_plus.exceptions import EngineRefused, RetryLater
from django_sitemaps_plus.models import Delivery, Publication, pages
from django_sitemaps_plus.notifications import outbox
from django_sitemaps_plus.notifications.dispatch import notify_engines
from django_sitemaps_plus.notifications.outbox import want_urls
from django_sitemaps_plus.notifications.url_changes import relay
from django_sitemaps_plus.testing import RecordingEngine
from tests.support.builds import build_and_relay
from tests.support.shop import limited, make_products

from .engines import (
    FEED,
    BrokenHubEngine,
    ConsoleEngine,
    HubEngine,
    OtherConsole,
)

pytestmark = pytest.mark.django_db(transaction=True)

INDEX = "https://example.com/sitemap.xml"


def rename(product, slug):
    """Change what the sitemap says, and build it."""
    product.slug = slug
    product.save()
    build_and_relay()


class TestIndexes:
    def test_each_is_told_once(self, tell, clock, publish):
        tell(console=ConsoleEngine)
        made = make_products(3)
        publish(limited(10))
        notify_engines()
        assert ConsoleEngine.told() == [INDEX]
        rename(made[0], "renamed")
        clock.forward(days=2)
        notify_engines()
        assert ConsoleEngine.told() == [INDEX]

    def test_a_new_one_is_told(self, tell, publish, monkeypatch):
        for module in (pages, replan):
            monkeypatch.setattr(module, "MAX_ENTRIES", 2)
        tell(console=ConsoleEngine)
        made = make_products(2)
        publish(limited(1))
        notify_engines()
        for product in make_products(2, first=len(made)):
            product.save()
        build_and_relay()
        notify_engines()
        assert ConsoleEngine.told() == [INDEX, "https://example.com/sitemaps-2.xml"]


class TestFeedsThatAreFollowed:
    def test_they_are_told_when_something_was_published(self, tell, publish):
        tell(hub=HubEngine)
        made = make_products(3)
        publish(limited(1))
        notify_engines()
        assert HubEngine.told() == [FEED]
        for product in made:
            product.slug = f"{product.slug}-new"
            product.save()
        build_and_relay()
        notify_engines()
        assert HubEngine.told() == [FEED, FEED]
        build_and_relay()
        notify_engines()
        assert HubEngine.told() == [FEED, FEED]

    def test_a_hub_finds_the_change_in_the_feeds_of_its_section(
        self, tell, publish, engine, client
    ):
        """It is told of no other section; one without dates has no feed."""
        hub = f"{engine.url}/hub"
        backend = "django_sitemaps_plus.notifications.WebSub"
        tell(hub={"BACKEND": backend, "OPTIONS": {"hub": hub}})
        made = make_products(1)
        for name in ("products", "others"):
            publish(limited(1), name)
        publish(limited(1, lastmod=None), "undated")
        notify_engines()
        products, others = [
            [f"https://example.com/sitemap-{name}.{form}" for form in ("rss", "atom")]
            for name in ("products", "others")
        ]
        assert engine.accepted() == dict.fromkeys([*products, *others], 1)
        made[0].slug = "new"
        made[0].save()
        build_and_relay(["products"])
        notify_engines()
        told = dict.fromkeys(products, 2) | dict.fromkeys(others, 1)
        assert engine.accepted() == told
        for url in products:
            answer = client.get(url.removeprefix("https://example.com"))
            assert b"/products/new/" in answer.content
            assert f'<{hub}>; rel="hub", <{url}>; rel="self"' == answer["Link"]

    def test_an_outage_while_feeds_are_named_loses_none(
        self, tell, publish, monkeypatch
    ):
        """The publication waits for the next run."""
        tell(hub=HubEngine)
        made = make_products(1)
        publish(limited(1))
        notify_engines()
        made[0].slug = "new"
        made[0].save()

        def fail(site):
            raise OperationalError("away")

        build()
        with monkeypatch.context() as patch:
            patch.setattr(outbox, "index_urls", fail)
            assert relay() != []
        Publication.objects.update(claimed_at=None)
        assert relay() == []
        notify_engines()
        assert HubEngine.told() == [FEED, FEED]

    def test_what_is_not_announced_does_not_count(self, tell, publish):
        """As a deploy that marks all pages."""
        tell(hub=HubEngine)
        make_products(3)
        publish(limited(10))
        notify_engines()
        publish(limited(10, priority=0.3))
        notify_engines()
        assert HubEngine.told() == [FEED]

    def test_a_project_without_our_urls_keeps_back_no_other(
        self, tell, settings, caplog
    ):
        tell(hub=HubEngine, recording=RecordingEngine)
        settings.ROOT_URLCONF = type("URLs", (), {"urlpatterns": []})
        want_urls(["https://example.com/a/"])
        assert notify_engines().sent == 1
        assert RecordingEngine.told() == ["https://example.com/a/"]
        assert "could not name its feeds: NoReverseMatch" in caplog.text

    def test_an_engine_that_does_not_know_its_feeds_keeps_back_no_other(
        self, tell, caplog
    ):
        tell(broken=BrokenHubEngine, hub=HubEngine)
        notify_engines()
        assert HubEngine.told() == [FEED]
        assert "could not name its feeds" in caplog.text


class TestAnswers:
    def test_they_are_read_once_a_day(self, tell, clock):
        tell(console=ConsoleEngine)
        for errors, hours in [(1, 1), (2, 22), (3, 2)]:
            ConsoleEngine.answer = errors
            notify_engines()
            clock.forward(hours=hours)
        assert ConsoleEngine.asked == [INDEX]
        notify_engines()
        assert ConsoleEngine.asked == [INDEX, INDEX]
        assert Delivery.objects.get().feedback == {"errors": 3}

    def test_each_by_one_process(self, tell):
        """Another worker that looks meanwhile does not ask as well."""
        tell(console=ConsoleEngine)

        def meanwhile() -> dict[str, int]:
            ConsoleEngine.answer = None
            notify_engines()
            return {"errors": 1}

        ConsoleEngine.answer = meanwhile
        notify_engines()
        assert ConsoleEngine.asked == [INDEX]
        assert Delivery.objects.get().feedback == {"errors": 1}

    def test_not_of_a_feed_that_is_gone(self, tell, clock, monkeypatch):
        tell(console=ConsoleEngine)
        notify_engines()
        clock.forward(days=2)
        monkeypatch.setattr(ConsoleEngine, "feeds", lambda *args: [])
        notify_engines()
        assert ConsoleEngine.asked == [INDEX]

    @pytest.mark.parametrize(
        ("error", "words"),
        [
            (EngineRefused("no rights"), "no rights"),
            (ValueError("canary"), "it raised ValueError"),
        ],
    )
    def test_one_that_fails_is_noted(self, tell, clock, error, words):
        """What was said before stays, and it is asked again a day later."""
        tell(console=ConsoleEngine)
        for answer, expected in [
            (error, {"error": words}),
            (3, {"errors": 3}),
            (error, {"errors": 3, "error": words}),
            (0, {"errors": 0}),
        ]:
            ConsoleEngine.answer = answer
            notify_engines()
            assert Delivery.objects.get().feedback == expected
            clock.forward(hours=25)

    @pytest.mark.parametrize("answer", [{1, 2}, "a\0b"], ids=repr)
    def test_what_no_json_can_hold_keeps_back_no_other(self, tell, answer):
        """An engine of the project's own may say anything."""
        tell(odd=ConsoleEngine, other=OtherConsole)
        ConsoleEngine.answer = answer
        notify_engines()
        assert ConsoleEngine.asked == OtherConsole.asked == [INDEX]
        assert Delivery.objects.get(engine="other").feedback == {"errors": None}

    def test_an_engine_in_a_pause_is_not_asked(self, tell, clock):
        tell(console=ConsoleEngine, recording=RecordingEngine)
        notify_engines()
        clock.forward(days=2)
        Delivery.objects.update(wanted=2)
        with ConsoleEngine.failing(RetryLater("down", timedelta(days=1).seconds)):
            notify_engines()
        assert ConsoleEngine.asked == [INDEX]
