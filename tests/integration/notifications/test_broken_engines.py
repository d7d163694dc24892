"""From a change to the engines that hear of it."""

from __future__ import annotations

from collections.abc import Collection
from itertools import chain
from typing import Any

import pytest

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.notifications import Takes
from django_sitemaps_plus.notifications.dispatch import notify_engines
from django_sitemaps_plus.notifications.outbox import want_urls
from django_sitemaps_plus.testing import RecordingEngine
from tests.support.builds import build_and_relay
from tests.support.shop import limited, make_products, product_urls

from .engines import FEED

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def engine(configure: Any) -> Any:
    """Configure one engine that keeps what it is told."""
    configure(
        ENGINES={
            "recording": {"BACKEND": "django_sitemaps_plus.testing.RecordingEngine"}
        },
        NOTIFY=True,
        NOTIFY_DELAY_SECONDS=0,
    )
    RecordingEngine.clear()
    yield RecordingEngine
    RecordingEngine.clear()


def test_an_engine_that_cannot_be_made_stops_no_build(engine, publish, settings, crawl):
    """What has changed waits until the settings are right."""
    products = make_products(30)
    publish(limited(10))
    products[3].slug = "renamed"
    products[3].save()
    right = settings.SITEMAPS_PLUS
    wrong = {"recording": {"BACKEND": "django_sitemaps_plus.testing.Nothing"}}
    settings.SITEMAPS_PLUS = {**right, "ENGINES": wrong}
    build_and_relay()
    assert "https://example.com/products/renamed/" in chain(*crawl().values())
    settings.SITEMAPS_PLUS = right
    notify_engines()
    assert "https://example.com/products/renamed/" in engine.told()


class KeyedEngine(RecordingEngine):
    """One that needs a key."""

    def __init__(self, key: str) -> None:
        if not key:
            raise ConfigurationError("no key")


class KeyedHub(KeyedEngine):
    """One that hears of each change of a feed, whose address is an option."""

    takes = Takes.FEEDS
    follows_content = True

    def feeds(self, site: Site, indexes: Collection[str]) -> Collection[str]:
        """Return a feed."""
        return [FEED]


@pytest.mark.parametrize(
    ("kind", "expected"), [(KeyedEngine, product_urls([3])), (KeyedHub, [FEED])]
)
def test_one_without_its_key_hears_later_what_others_hear_at_once(
    engine, publish, settings, configure, kind, expected
):
    kind.clear()
    products = make_products(30)
    backend = f"{kind.__module__}.{kind.__qualname__}"

    def give(key):
        keyed = {"BACKEND": backend, "OPTIONS": {"key": key}}
        engines = {**settings.SITEMAPS_PLUS["ENGINES"], "keyed": keyed}
        again = {"ENGINES": engines, "NOTIFY_INTERVAL_SECONDS": 0}
        configure(**again)

    give("a key")
    publish(limited(10))
    notify_engines()
    first = len(kind.told())
    give("")
    products[3].delete()
    build_and_relay()
    assert "no key" in str(notify_engines().failures)
    assert engine.told() == product_urls([3])
    assert len(kind.told()) == first
    give("a key")
    notify_engines()
    assert kind.told()[first:] == expected
    kind.clear()


@pytest.mark.parametrize("names", [[], ["recording"]])
def test_an_engine_that_cannot_be_made_keeps_back_no_other(
    engine, settings, configure, names
):
    """What waits for the others is told; the fault is reported where it was asked."""
    want_urls(["https://example.com/a/"])
    broken = {"BACKEND": "django_sitemaps_plus.testing.Nothing"}
    engines = {**settings.SITEMAPS_PLUS["ENGINES"], "broken": broken}
    configure(ENGINES=engines)
    report = notify_engines(names)
    assert engine.told() == ["https://example.com/a/"]
    assert ["broken" in failure for failure in report.failures] == [True] * (not names)
    with pytest.raises(ConfigurationError, match=r"'broken'.*Nothing"):
        notify_engines(["broken"])
