"""Pages that are rendered on request are kept for a while, where they are small."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from django.core.cache import cache
from django.core.cache.backends import base, locmem

from django_sitemaps_plus import ModelSource
from django_sitemaps_plus import cache as cached
from django_sitemaps_plus.conf import get_site
from django_sitemaps_plus.models import lease
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.serving import live, single_flight
from tests.support.shop import limited, make_products
from tests.support.testapp.models import Product

pytestmark = pytest.mark.django_db

PATH = "/sitemap-products-1.xml"


def page_key() -> str:
    """Return the key of the page in the cache."""
    source = registry.get("products")
    return live._key("page", "products", 1, get_site(), source)


@pytest.fixture
def renders(sections: Any, settings: Any) -> list[str]:
    """Have a page that is kept for a minute; give a word for each render of it."""
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "LIVE_CACHE_SECONDS": 60}
    words: list[str] = []

    def location(self: ModelSource, product: Product) -> str:
        if product.slug == "product-00000":
            words.append("rendered")
        return f"/{product.slug}/"

    # Two pages: the only page of a section is also rendered for the plan.
    make_products(18)
    sections.register("products", limited(9, location=location))
    return words


@pytest.mark.parametrize(("more", "expected"), [(1, 1), (0, 2), (-1, 2)])
def test_a_page_is_kept_if_its_gzip_is_below_the_limit(
    renders, client, monkeypatch, more, expected
):
    """Not at the limit, and whatever its size before compression is."""
    gzipped = client.get(f"{PATH}.gz").content
    assert len(client.get(PATH).content) > len(gzipped) + 1
    cache.clear()
    renders.clear()
    monkeypatch.setattr(live, "MAX_BYTES", len(gzipped) + more)
    answers = [client.get(PATH).status_code for _ in range(2)]
    assert (answers, len(renders)) == ([200, 200], expected)


def test_the_limit_is_a_million_bytes():
    """As LIVE_CACHE_SECONDS documents; memcached refuses values over 1 MiB."""
    assert live.MAX_BYTES == 1_000_000


@pytest.mark.parametrize("seconds", [60, 300])
def test_a_page_is_kept_for_live_cache_seconds(
    renders, client, settings, monkeypatch, seconds
):
    """A second before its end it is, a second after it is rendered again."""
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "LIVE_CACHE_SECONDS": seconds}
    clock = SimpleNamespace(now=1_000.0)
    for module in (base, locmem):
        ticking = SimpleNamespace(time=lambda: clock.now)
        monkeypatch.setattr(module, "time", ticking)
    found = []
    for after in (0, seconds - 1, seconds + 1):
        clock.now = 1_000.0 + after
        assert client.get(PATH).status_code == 200
        found.append(len(renders))
    assert found == [1, 1, 2]


class TestSharedLivePages:
    def test_a_page_is_kept_for_a_while(self, sections, settings, client):
        """A second request renders nothing."""
        settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "LIVE_CACHE_SECONDS": 60}
        make_products(3)
        sections.register("products", limited(10))
        first = client.get("/sitemap-products-1.xml")
        source = sections.get("products")
        source.chunks = None  # whoever renders now fails
        second = client.get("/sitemap-products-1.xml")
        assert (second.status_code, second.content) == (200, first.content)
        cache.clear()
        assert client.get("/sitemap-products-1.xml").status_code == 503

    def test_who_finds_another_at_work_waits_for_it_then_renders(
        self, sections, settings, client, monkeypatch
    ):
        """At most two seconds; here nearly none."""
        settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "LIVE_CACHE_SECONDS": 60}
        monkeypatch.setattr(single_flight, "MAX_WAIT", 0.1)
        make_products(3)
        sections.register("products", limited(10))
        key = page_key()
        cache.set(f"sitemaps_plus:{key}:busy", b"", 30)
        response = client.get("/sitemap-products-1.xml")
        assert response.status_code == 200
        assert cache.get(f"sitemaps_plus:{key}:busy") == b""

    def test_who_begins_as_another_ends_takes_what_that_one_kept(
        self, sections, settings, client, monkeypatch
    ):
        """It found nothing, and was slow to say that it would render."""
        settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "LIVE_CACHE_SECONDS": 60}
        make_products(3)
        sections.register("products", limited(10))
        first = client.get("/sitemap-products-1.xml")
        sections.get("products").chunks = None  # whoever renders now fails
        missed: list[str] = []

        def recall_late(key: str, kind: type) -> Any:
            missed.append(key)
            return cached.recall(key, kind) if len(missed) > 1 else None

        monkeypatch.setattr(single_flight, "recall", recall_late)
        second = client.get("/sitemap-products-1.xml")
        assert (second.status_code, second.content) == (200, first.content)
        assert cached.first_to(f"{missed[0]}:busy", 1)  # it lets others try

    def test_who_takes_long_stays_at_work(
        self, sections, settings, client, monkeypatch
    ):
        """Each chunk of rows is a sign of life, so nobody else begins."""
        settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "LIVE_CACHE_SECONDS": 60}
        clock = SimpleNamespace(now=1_000.0)
        for module in (base, locmem, lease):
            ticking = SimpleNamespace(
                time=lambda: clock.now, monotonic=lambda: clock.now
            )
            monkeypatch.setattr(module, "time", ticking)
        others: list[bool] = []

        def location(self: ModelSource, product: Product) -> str:
            clock.now += single_flight.BUSY_SECONDS / 800  # so a chunk takes 0.6 of it
            if product.slug.endswith("00"):
                others.append(
                    cached.first_to(f"{key}:busy", single_flight.BUSY_SECONDS)
                )
            return f"/{product.slug}/"

        make_products(1_500)
        sections.register("products", limited(2_000, location=location))
        key = page_key()
        assert client.get("/sitemap-products-1.xml").status_code == 200
        assert set(others) == {False}
