"""What is rendered on request is kept for a while, where it is small."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from django.core.cache import cache
from django.core.cache.backends import base, locmem

from django_sitemaps_plus import ModelSource
from django_sitemaps_plus.conf import get_site
from django_sitemaps_plus.models.claims import keep
from django_sitemaps_plus.planning import bounded_plan
from django_sitemaps_plus.rendering import render_page
from django_sitemaps_plus.section import open_section
from django_sitemaps_plus.serving import live, single_flight
from tests.support.shop import limited, make_products
from tests.support.testapp.models import Product

PATH = "/sitemap-products-1.xml"


@pytest.fixture
def renders(sections: Any, configure: Any) -> list[str]:
    """Have a page that is kept for a minute; give a word for each render of it."""
    configure(LIVE_CACHE_SECONDS=60)
    words: list[str] = []

    def location(self: ModelSource, product: Product) -> str:
        if product.slug == "product-00000":
            words.append("rendered")
        return f"/{product.slug}/"

    make_products(9)
    sections.register("products", limited(9, location=location))
    return words


@pytest.mark.parametrize(("more", "expected"), [(1, 1), (0, 2)])
def test_a_page_is_kept_if_its_gzip_is_below_the_limit(
    renders, client, monkeypatch, more, expected
):
    """Not at the limit, and whatever its size before compression is."""
    assert live.MAX_BYTES == 1_000_000  # memcached refuses values over 1 MiB
    gzipped = client.get(f"{PATH}.gz").content
    assert len(client.get(PATH).content) > len(gzipped) + 1
    cache.clear()
    renders.clear()
    monkeypatch.setattr(live, "MAX_BYTES", len(gzipped) + more)
    answers = [client.get(PATH).status_code for _ in range(2)]
    assert (answers, len(renders)) == ([200, 200], expected)


def test_a_page_is_kept_for_live_cache_seconds(renders, client, configure, monkeypatch):
    """A second before its end it is, a second after it is rendered again."""
    configure(LIVE_CACHE_SECONDS=300)
    clock = SimpleNamespace(now=1_000.0)
    for module in (base, locmem):
        monkeypatch.setattr(module, "time", SimpleNamespace(time=lambda: clock.now))
    found = []
    for after in (0, 299, 301):
        clock.now = 1_000.0 + after
        assert client.get(PATH).status_code == 200
        found.append(len(renders))
    assert found == [1, 1, 2]


def test_an_index_waits_once_for_all_its_sections(sections, client, monkeypatch):
    """Other processes plan each of them; it lists them all the same."""
    waited: list[float] = []
    clock = SimpleNamespace(monotonic=lambda: sum(waited), sleep=waited.append)
    monkeypatch.setattr(single_flight, "time", clock)
    make_products(20)
    for name in ("one", "two", "three"):
        sections.register(name, limited(10))
        cache.set(
            f"sitemaps_plus:{live._plan_key(open_section(name, get_site()))}:busy",
            b"",
            30,
        )
    assert client.get("/sitemap.xml").content.count(b"<sitemap>") == 6
    assert sum(waited) == pytest.approx(single_flight.MAX_WAIT, abs=0.1)


def test_planning_and_rendering_send_heartbeats(sections):
    """For each page that is planned, and for each chunk of rows."""
    make_products(1_500)
    sections.register("products", limited(1_000))
    beats: list[str] = []
    with keep(lambda: beats.append("beat"), 0):
        plan = bounded_plan(open_section("products"), 10_000)
        assert plan is not None
        assert len(beats) == len(plan.ranges) == 2
        render_page(open_section("products"), plan.ranges[0])
    assert len(beats) > 3
