"""A feed that goes is forgotten, and told like a new one should it return."""

from __future__ import annotations

import pytest

from django_sitemaps_plus.building.plan import replan
from django_sitemaps_plus.exceptions import BatchRejected, RetryLater
from django_sitemaps_plus.models import Delivery, pages
from django_sitemaps_plus.notifications.dispatch import notify_engines
from django_sitemaps_plus.notifications.outbox import want_feeds
from tests.support.builds import build_and_relay
from tests.support.shop import limited, make_products
from tests.support.testapp.models import Product

from .engines import FEED, ConsoleEngine, HubEngine, OtherConsole

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]

INDEX = "https://example.com/sitemap.xml"
SECOND = "https://example.com/sitemaps-2.xml"
ELSEWHERE = "https://shop.example"


def test_one_that_returns_is_told_again(tell, clock, publish, monkeypatch):
    for module in (pages, replan):
        monkeypatch.setattr(module, "MAX_ENTRIES", 2)
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
    """Neither is it tried again, nor does it count as rejected for ever."""
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
    """It hears again of what it knew, and of nothing that went before."""
    tell(hub=HubEngine)
    notify_engines()
    Delivery.objects.create(
        site="default", engine="hub", host="h", target=INDEX, is_feed=True
    )
    engines = settings.SITEMAPS_PLUS["ENGINES"]
    tell(hub={**engines["hub"], "OPTIONS": {"no": "such"}})
    want_feeds(changed="products")
    assert [row.target for row in Delivery.objects.waiting()] == [FEED]
