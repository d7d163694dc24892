"""Engines that take feeds are told of indexes once, of what they follow each time."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError

from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.core import limits
from django_sitemaps_plus.exceptions import BatchRejected, EngineRefused, RetryLater
from django_sitemaps_plus.models import Delivery, Publication
from django_sitemaps_plus.notifications import outbox
from django_sitemaps_plus.notifications.dispatch import notify_engines
from django_sitemaps_plus.notifications.outbox import want_feeds, want_urls
from django_sitemaps_plus.notifications.url_changes import relay
from django_sitemaps_plus.testing import RecordingEngine
from tests.support.builds import build_and_relay
from tests.support.shop import limited, make_products
from tests.support.testapp.models import Product

from .engines import (
    FEED,
    BrokenHubEngine,
    ConsoleEngine,
    HubEngine,
    OtherConsole,
    of_ours,
)

pytestmark = pytest.mark.django_db(transaction=True)

INDEX = "https://example.com/sitemap.xml"


def test_an_index_is_told_once(tell, clock, publish):
    tell(console=ConsoleEngine)
    made = make_products(3)
    publish(limited(10))
    notify_engines()
    assert ConsoleEngine.told() == [INDEX]
    made[0].slug = "renamed"
    made[0].save()
    build_and_relay()
    clock.forward(days=2)
    notify_engines()
    assert ConsoleEngine.told() == [INDEX]


class TestFeedsThatAreFollowed:
    def test_a_hub_finds_the_change_in_the_feeds_of_its_section(
        self, tell, publish, engine, client
    ):
        """It is told of no other section; one without dates has no feed."""
        hub = f"{engine.url}/hub"
        tell(hub=of_ours("WebSub", hub=hub))
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

    def test_what_is_not_announced_does_not_count(self, tell, publish, shop):
        tell(hub=HubEngine)
        shop(3)
        notify_engines()
        publish(limited(10, priority=0.3))
        notify_engines()
        assert HubEngine.told() == [FEED]

    def test_a_fault_keeps_back_no_other(self, tell, settings, caplog):
        tell(broken=BrokenHubEngine, hub=HubEngine)
        notify_engines()
        assert HubEngine.told() == [FEED]
        assert "could not name its feeds: ValueError" in caplog.text
        # A project without our URLs.
        tell(hub=HubEngine, recording=RecordingEngine)
        settings.ROOT_URLCONF = type("URLs", (), {"urlpatterns": []})
        want_urls(["https://example.com/a/"])
        assert notify_engines().sent == 1
        assert RecordingEngine.told() == ["https://example.com/a/"]
        assert "could not name its feeds: NotIncludedError" in caplog.text


def said() -> dict[str, Any]:
    """Return what is kept of an answer, but for since when it is no good one."""
    [feedback] = Delivery.objects.values_list("feedback", flat=True)
    return {name: it for name, it in feedback.items() if name != "unwell_since"}


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
        assert said() == {"errors": 3}

    def test_each_by_one_process(self, tell):
        tell(console=ConsoleEngine)

        def meanwhile() -> dict[str, int]:
            ConsoleEngine.answer = None
            notify_engines()
            return {"errors": 1}

        ConsoleEngine.answer = meanwhile
        notify_engines()
        assert ConsoleEngine.asked == [INDEX]
        assert said() == {"errors": 1}

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
            assert said() == expected
            clock.forward(hours=25)

    def test_the_highest_share_of_indexed_urls_is_kept(self, tell, clock, monkeypatch):
        """Whatever an engine calls a number; a later one may be lower."""
        tell(console=ConsoleEngine)
        for told, expected in [
            ({"indexed": 40, "submitted": 50}, 0.8),
            ({"indexed": {"web": 5, "image": 5}, "submitted": {"web": 100}}, 0.8),
            ({"indexed": 45, "submitted": 50}, 0.9),
            ({"indexed": "many", "submitted": 50}, 0.9),
            ({"indexed": 0, "submitted": 0}, 0.9),
        ]:
            monkeypatch.setattr(ConsoleEngine, "read_back", lambda *args, it=told: it)
            notify_engines()
            assert said() == {**told, "highest_share": expected}
            clock.forward(hours=25)

    def test_since_when_it_tells_of_errors_is_kept(self, tell, clock, monkeypatch):
        """Or of fewer indexed URLs than before; until it is well."""
        tell(console=ConsoleEngine)
        begun, fewer = [], {"indexed": 1, "submitted": 50}
        answers = [{"indexed": 40, "submitted": 50}, fewer, {**fewer, "errors": 2}]
        for told in (*answers, {"errors": 0}, {"errors": 1}):
            monkeypatch.setattr(ConsoleEngine, "read_back", lambda *args, it=told: it)
            notify_engines()
            begun.append(Delivery.objects.get().feedback.get("unwell_since"))
            clock.forward(hours=25)
        assert begun[0] is begun[3] is None
        assert begun[1] == begun[2] < begun[4]

    @pytest.mark.parametrize("answer", [{1, 2}, "a\0b"], ids=repr)
    def test_what_no_json_can_hold_keeps_back_no_other(self, tell, answer):
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


SECOND = "https://example.com/sitemaps-2.xml"
ELSEWHERE = "https://shop.example"


def test_one_that_returns_is_told_again(tell, clock, publish, monkeypatch):
    monkeypatch.setattr(limits, "MAX_ENTRIES", 2)
    tell(console=ConsoleEngine)
    made = make_products(4)
    publish(limited(1))
    notify_engines()
    assert sorted(ConsoleEngine.told()) == [INDEX, SECOND]
    for product in made[2:]:
        Product.objects.get(pk=product.pk).delete()
    build_and_relay()
    for days in (0, 2):
        clock.forward(days=days)
        notify_engines()
    assert len(ConsoleEngine.told()) == 2
    for product in made[2:]:
        product.save()
    build_and_relay()
    notify_engines()
    notify_engines()
    assert ConsoleEngine.told()[2:] == [SECOND]


def test_a_host_that_returns_is_told_again(tell, clock, configure):
    """As after a move that was called off; once a day at most."""
    tell(console=ConsoleEngine)
    there = f"{ELSEWHERE}/sitemap.xml"
    origins = [("https://example.com", [INDEX]), (ELSEWHERE, [INDEX, there])]
    for origin, expected in [*origins, ("https://example.com", [INDEX, there])]:
        configure(BASE_URL=origin)
        notify_engines()
        assert ConsoleEngine.told() == expected
    clock.forward(hours=23)
    notify_engines()
    assert ConsoleEngine.told() == [INDEX, there]
    clock.forward(hours=2)
    notify_engines()
    assert ConsoleEngine.told() == [INDEX, there, INDEX]


def test_one_that_goes_before_it_is_told_is_not_told(tell, clock, configure):
    tell(console=ConsoleEngine, other=OtherConsole)
    with (
        ConsoleEngine.failing(RetryLater("down")),
        OtherConsole.failing(BatchRejected("no")),
    ):
        notify_engines()
    configure(BASE_URL=ELSEWHERE)
    clock.forward(hours=1)
    notify_engines()
    assert ConsoleEngine.told() == [f"{ELSEWHERE}/sitemap.xml"]
    assert not Delivery.objects.dead().exists()
    assert not Delivery.objects.waiting().exists()


def test_an_engine_that_cannot_be_made_brings_nothing_back(tell, settings, clock):
    tell(hub=HubEngine)
    notify_engines()
    Delivery.objects.create(
        site="default", engine="hub", host="h", target=INDEX, is_feed=True
    )
    engines = settings.SITEMAPS_PLUS["ENGINES"]
    tell(hub={**engines["hub"], "OPTIONS": {"no": "such"}})
    want_feeds(changed="products")
    assert [row.target for row in Delivery.objects.waiting()] == [FEED]
