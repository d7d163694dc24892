"""Plans that fit no longer, and builds of some sections alone."""

from __future__ import annotations

from typing import Any

import pytest

from django_sitemaps_plus.conf import get_site
from django_sitemaps_plus.core.gzip import DocumentWriter
from django_sitemaps_plus.core.key_ranges import KeyRange
from django_sitemaps_plus.exceptions import NotRegistered
from django_sitemaps_plus.models import Page, Section
from django_sitemaps_plus.rendering import render_page
from tests.integration.building.test_build import Pages
from tests.support.builds import build
from tests.support.shop import limited, make_products, product_urls
from tests.support.testapp.models import Product

pytestmark = pytest.mark.django_db


@pytest.fixture
def products(sections: Any) -> None:
    """Have 25 products on three pages."""
    make_products(25)
    sections.register("products", limited(10))


class TestOverflow:
    def test_a_page_that_overflows_makes_a_new_plan(self, sections, crawl):
        """No entry is lost, none is listed twice, no page is too full."""
        make_products(30)
        sections.register("products", limited(10, key="slug"))
        build()
        Product.objects.bulk_create([Product(slug=f"a-{n:02}") for n in range(30)])
        build()
        found = crawl()
        assert list(map(len, found.values())) == [10, 8, 8, 6, 10, 10, 8]
        assert len(set().union(*found.values())) == 60

    def test_growth_up_to_a_tenth_needs_no_new_plan(self, products):
        """Ranges stay where they are while their pages have room."""
        build()
        before = list(Page.objects.order_by("pk").values_list("low", "high"))
        make_products(6, first=25)
        build()
        assert list(Page.objects.order_by("pk").values_list("low", "high")) == before
        make_products(1, first=31)
        build()
        assert Page.objects.filter(section__name="products").count() == 4

    def test_pages_of_too_many_bytes_get_fewer_rows(self, products, crawl, monkeypatch):
        """The first plan is cut in halves until each page fits."""
        monkeypatch.setattr(DocumentWriter.__init__, "__defaults__", (800,))
        build()
        found = crawl()
        assert sorted(set().union(*found.values())) == product_urls(range(25))
        assert [len(locations) for locations in found.values()] == [5] * 5

    def test_a_key_of_another_type_makes_a_new_plan(self, sections, crawl):
        """Bounds that are no keys any more are given up."""
        make_products(9)
        sections.register("products", limited(3, key="slug"))
        build()
        sections.unregister("products")
        sections.register("products", limited(4))
        build()
        assert list(map(len, crawl().values())) == [4, 4, 1]

    def test_every_range_of_a_stored_plan_is_read_by_key(self, products):
        """The pages of a build are those that a view would render."""
        build()
        for page in Page.objects.filter(section__name="products"):
            key_range = KeyRange(page.low, page.high)
            rendered = render_page("products", key_range, get_site())
            assert rendered.document is not None
            assert rendered.document.plain_hash == page.plain_hash


class TestSections:
    def test_names_choose_sections(self, products, sections):
        """Others are left as they are."""
        sections.register("pages", Pages)
        report = build(["pages"])
        assert [section.section for section in report.sections] == ["pages"]
        assert not Section.objects.filter(name="products").exists()

    def test_the_index_awaits_every_section(self, products, sections, crawl):
        """Until each was built once it is rendered live, and names them all."""
        sections.register("pages", Pages)
        live = crawl()
        assert build(["pages"]).index_pages is None
        assert crawl() == live
        assert build(["products"]).index_pages == 4
        assert crawl() == live

    def test_a_published_index_follows_while_another_section_is_new(
        self, products, sections, crawl
    ):
        """A section that was never built keeps no other from being listed."""
        build()
        sections.register("pages", Pages)
        make_products(10, first=25)
        build(["products"])
        assert sum(map(len, crawl().values())) == 35

    def test_an_unknown_section_is_an_error(self, products):
        """Before anything is rendered, and naming those that exist."""
        with pytest.raises(NotRegistered, match="Registered are: products"):
            build(["products", "product"])
        assert not Page.objects.exists()
