"""Pages that are rendered on request are kept for a while, where they are small."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from django.core.cache import cache
from django.core.cache.backends import base, locmem

from django_sitemaps_plus import ModelSource
from django_sitemaps_plus.serving import live
from tests.support.shop import limited, make_products
from tests.support.testapp.models import Product

pytestmark = pytest.mark.django_db

PATH = "/sitemap-products-1.xml"


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
