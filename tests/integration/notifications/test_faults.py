"""An engine or a section that is broken keeps engines from hearing of no other."""

from __future__ import annotations

from collections.abc import Collection
from itertools import chain

import pytest

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.models import Change, Publication
from django_sitemaps_plus.notifications import Takes
from django_sitemaps_plus.notifications.dispatch import notify_engines
from django_sitemaps_plus.notifications.outbox import want_urls
from django_sitemaps_plus.testing import RecordingEngine
from tests.support.builds import build_and_relay
from tests.support.shop import ProductSource, limited, make_products, product_urls
from tests.support.testapp.models import Author

from .engines import FEED

pytestmark = pytest.mark.django_db(transaction=True)

NOTHING = {"BACKEND": "django_sitemaps_plus.testing.Nothing"}


def test_an_engine_that_cannot_be_made_stops_no_build(
    recording, publish, settings, crawl
):
    products = make_products(30)
    publish(limited(10))
    products[3].slug = "renamed"
    products[3].save()
    right = settings.SITEMAPS_PLUS
    wrong = {"recording": NOTHING}
    settings.SITEMAPS_PLUS = {**right, "ENGINES": wrong}
    build_and_relay()
    assert "https://example.com/products/renamed/" in chain(*crawl().values())
    settings.SITEMAPS_PLUS = right
    notify_engines()
    assert "https://example.com/products/renamed/" in recording.told()


class KeyedEngine(RecordingEngine):
    def __init__(self, key: str) -> None:
        if not key:
            raise ConfigurationError("no key")


class KeyedHub(KeyedEngine):
    takes = Takes.FEEDS
    follows_content = True

    def feeds(self, site: Site, indexes: Collection[str]) -> Collection[str]:
        return [FEED]


@pytest.mark.parametrize(
    ("kind", "expected"), [(KeyedEngine, product_urls([3])), (KeyedHub, [FEED])]
)
def test_one_without_its_key_hears_later_what_others_hear_at_once(
    recording, publish, settings, configure, kind, expected
):
    kind.clear()
    products = make_products(30)
    backend = f"{kind.__module__}.{kind.__qualname__}"

    def give(key):
        keyed = {"BACKEND": backend, "OPTIONS": {"key": key}}
        configure(ENGINES={**settings.SITEMAPS_PLUS["ENGINES"], "keyed": keyed})

    give("a key")
    publish(limited(10))
    notify_engines()
    first = len(kind.told())
    give("")
    products[3].delete()
    build_and_relay()
    assert "no key" in str(notify_engines().failures)
    assert recording.told() == product_urls([3])
    assert len(kind.told()) == first
    give("a key")
    notify_engines()
    assert kind.told()[first:] == expected
    kind.clear()


@pytest.mark.parametrize("names", [[], ["recording"]])
def test_an_engine_that_cannot_be_made_keeps_back_no_other(
    recording, settings, configure, names
):
    """What waits for the others is told; the fault is reported where it was asked."""
    want_urls(["https://example.com/a/"])
    configure(ENGINES={**settings.SITEMAPS_PLUS["ENGINES"], "broken": NOTHING})
    report = notify_engines(names)
    assert recording.told() == ["https://example.com/a/"]
    assert ["broken" in failure for failure in report.failures] == [True] * (not names)
    with pytest.raises(ConfigurationError, match=r"'broken'.*Nothing"):
        notify_engines(["broken"])


class BrokenSource(ProductSource):
    model = Author
    lastmod = None
    is_broken = True

    def get_queryset(self):
        if self.is_broken:
            raise ValueError("no rows today")
        return super().get_queryset()

    def location(self, author: Author) -> str:
        return f"/authors/{author.pk}/"


@pytest.fixture
def products(sections, recording):
    made = make_products(3)
    sections.register("authors", BrokenSource)
    sections.register("products", ProductSource)
    return made


def test_saves_of_the_others_are_told(products, recording, monkeypatch, caplog):
    author = Author.objects.create(name="one")
    products[1].save()
    assert Change.objects.count() == 2
    notify_engines()
    assert recording.told() == product_urls([1])
    assert "no rows today" in caplog.text
    monkeypatch.setattr(BrokenSource, "is_broken", False)
    notify_engines()
    assert f"https://example.com/authors/{author.pk}/" in recording.told()
    assert not Change.objects.exists()
    assert not Publication.objects.exists()


def test_a_source_that_breaks_when_it_is_told(products, recording, monkeypatch, caplog):
    monkeypatch.setattr(BrokenSource, "is_broken", False)
    monkeypatch.setattr(BrokenSource, "location", lambda self, author: 1 / 0)
    monkeypatch.setattr(BrokenSource, "on_error", "raise", raising=False)
    Author.objects.create(name="one")
    products[1].save()
    notify_engines()
    assert recording.told() == product_urls([1])
    assert "wait for the next run" in caplog.text
    assert Publication.objects.count() == 1
