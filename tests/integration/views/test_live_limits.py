"""What is not served unbuilt: sections too large, and sources that fail."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.sitemaps import Sitemap
from django.db.models import F

from tests.integration.views.test_live import BASE, Pages
from tests.support.shop import ProductSource, limited, make_products
from tests.support.testapp.models import Product

pytestmark = pytest.mark.django_db


class TestLiveMaxRows:
    def test_a_larger_section_is_absent_until_it_is_built(
        self, sections, crawl, client, settings, messages
    ):
        """The index leaves it out, its pages are 404, and the log says what to run."""
        settings.SITEMAPS_PLUS = {**BASE, "LIVE_MAX_ROWS": 9}
        make_products(11)
        sections.register("products", limited(5))
        sections.register("pages", Pages)
        assert list(crawl()) == ["/sitemap-pages-1.xml"]
        assert client.get("/sitemap-products-1.xml").status_code == 404
        (message,) = messages("section_too_large")
        assert "build_sitemaps products" in message
        assert "LIVE_MAX_ROWS" in message

    def test_a_section_of_just_so_many_rows_is_served(self, sections, crawl, settings):
        """The limit is the number of rows that is still served."""
        settings.SITEMAPS_PLUS = {**BASE, "LIVE_MAX_ROWS": 10}
        make_products(10)
        sections.register("products", limited(5))
        assert len(crawl()) == 2

    @pytest.mark.parametrize("kind", ["list", "own"])
    def test_sitemaps_of_contrib_are_counted_too(
        self, sections, client, settings, kind
    ):
        """Whatever pages it has."""
        settings.SITEMAPS_PLUS = {**BASE, "LIVE_MAX_ROWS": 9}

        class Many(Sitemap):
            limit = 5

            def items(self):
                return [f"/{number}/" for number in range(11)]

            def location(self, item):
                return item

        class Own(Many):
            def get_urls(self, *args, **kwargs):
                return super().get_urls(*args, **kwargs)

        sections.register("many", Own if kind == "own" else Many)
        assert client.get("/sitemap.xml").status_code == 404


class TestSourcesThatFail:
    def test_a_source_that_fails_as_a_whole_is_unavailable(
        self, sections, client, messages
    ):
        """503, to be asked again, and never half a page."""
        sections.register("broken", limited(5, get_queryset=lambda self: 1 / 0))
        for path in ("/sitemap.xml", "/sitemap-broken-1.xml"):
            response = client.get(path)
            assert response.status_code == 503
            assert response["Cache-Control"] == "no-store"
            assert b"ZeroDivisionError" not in response.content
        assert len(messages("live_failed")) == 2

    def test_on_error_raise_is_unavailable(self, sections, client):
        """Who wants errors raised gets no page that hides them."""
        make_products(1)
        strict = limited(5, on_error="raise", priority=lambda self, row: 7)
        sections.register("strict", strict)
        assert client.get("/sitemap-strict-1.xml").status_code == 503

    def test_edits_show_at_once(self, sections, client):
        """No page is kept: what is rendered is what the rows say."""
        make_products(1)
        sections.register("products", ProductSource)
        before = client.get("/sitemap-products-1.xml")
        Product.objects.update(updated_at=F("updated_at") + timedelta(hours=1))
        after = client.get("/sitemap-products-1.xml")
        assert b"13:00:00" in after.content
        assert before["ETag"] != after["ETag"]
