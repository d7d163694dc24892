"""What the index says of when a page changed."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from itertools import chain, count
from typing import Any

import pytest
from django.db.models import F
from django.utils import timezone

from django_sitemaps_plus.building import flip
from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.building.plan import replan
from django_sitemaps_plus.conf import DEFAULT_SITE, Site
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.models import pages
from django_sitemaps_plus.models.sections import take_origin
from django_sitemaps_plus.sites import in_force
from tests.support.builds import build_fully
from tests.support.documents import read_index
from tests.support.published import page_row
from tests.support.shop import START, limited, make_products
from tests.support.testapp.models import Product

PAGE = "https://example.com/sitemap-products-1.xml"


@pytest.fixture
def rebuilt(sections: Any, client: Any) -> Any:
    """Return what builds and gives the lastmod of page 1 in the index."""
    sections.register("products", limited(10))

    def rebuilt() -> datetime | None:
        build_fully()
        text = read_index(client.get("/sitemap.xml").content)[PAGE]
        return datetime.fromisoformat(text) if text else None

    return rebuilt


def indexes(client: Any) -> list[list[str]]:
    """Return the section and number of each page that each of the indexes lists."""
    found = []
    for name in chain(["sitemap"], (f"sitemaps-{number}" for number in count(2))):
        answer = client.get(f"/{name}.xml")
        if answer.status_code == 404:
            return found
        found.append([url[28:-4] for url in read_index(answer.content)])
    raise AssertionError("there is no end")


@pytest.fixture
def small_indexes(monkeypatch: Any) -> Any:
    def limit(count: int) -> None:
        for module in (replan, pages):
            monkeypatch.setattr(module, "MAX_ENTRIES", count)

    return limit


def is_now(moment: datetime | None) -> bool:
    assert moment is not None
    return timedelta() <= timezone.now() - moment < timedelta(minutes=1)


class TestLastmod:
    def test_it_is_the_newest_lastmod_of_the_entries(self, rebuilt):
        """It follows when that rises; bytes that change otherwise have the present."""
        make_products(5)
        assert rebuilt() == START + timedelta(minutes=4)
        moment = START + timedelta(days=3)
        Product.objects.filter(slug="product-00001").update(updated_at=moment)
        assert rebuilt() == moment
        Product.objects.filter(slug="product-00001").update(slug="renamed")
        assert is_now(rebuilt())

    def test_it_never_falls(self, rebuilt):
        """The newest entry gone is a change of today, not a return to yesterday."""
        make_products(5)
        rebuilt()
        Product.objects.filter(slug="product-00004").delete()
        first = rebuilt()
        assert is_now(first)
        Product.objects.update(updated_at=F("updated_at") - timedelta(days=1))
        assert rebuilt() > first

    def test_it_rises_though_the_clock_is_behind(self, rebuilt, monkeypatch):
        """Clocks are set back, and that of another worker may be slow."""
        make_products(5)
        rebuilt()
        Product.objects.filter(slug="product-00001").update(slug="renamed")
        before = rebuilt()
        earlier = timezone.now() - timedelta(hours=1)
        monkeypatch.setattr(flip.timezone, "now", lambda: earlier)
        Product.objects.filter(slug="renamed").update(slug="renamed-again")
        assert rebuilt() == before + timedelta(seconds=1)

    def test_it_is_not_in_the_future(self, rebuilt):
        make_products(2, updated_at=timezone.now() + timedelta(days=1))
        assert is_now(rebuilt())

    def test_nobody_knows_it_where_no_entry_has_a_date(self, rebuilt):
        """Nothing is said at first; from the first change on, its time."""
        make_products(2, updated_at=None)
        assert [rebuilt(), rebuilt()] == [None, None]
        make_products(1, first=2, updated_at=None)
        assert is_now(rebuilt())

    def test_dates_without_time_are_midnight(self, sections, client):
        """A DateField gives a moment that the index can compare."""
        make_products(2, created_on=date(2026, 2, 3))
        sections.register("products", limited(10, lastmod="created_on"))
        build_fully()
        assert read_index(client.get("/sitemap.xml").content) == {
            PAGE: "2026-02-03T00:00:00+00:00"
        }


class TestIndex:
    def test_sections_are_in_the_order_of_registration(self, sections, client):
        """And pages in that of their numbers, past nine too; a build moves none."""
        make_products(11)
        sections.register("z", limited(1))
        sections.register("a", limited(10))
        (live,) = indexes(client)
        build_fully()
        expected = [*[f"z-{number}" for number in range(1, 12)], "a-1", "a-2"]
        assert (live, indexes(client)) == (expected, [expected])

    def test_more_pages_than_an_index_may_list_go_into_others(
        self, sections, client, small_indexes
    ):
        """In the order in which they were made, and there they stay."""
        small_indexes(2)
        make_products(3)
        sections.register("products", limited(1))
        sections.register("more", limited(2))
        build_fully()
        first = [["products-1", "products-2"], ["products-3", "more-1"], ["more-2"]]
        assert indexes(client) == first
        make_products(1, first=3)
        build_fully()
        assert indexes(client) == [*first[:2], ["products-4", "more-2"]]

    def test_an_index_lists_no_page_of_the_next(self, sections, client, small_indexes):
        """Though that is of a section which comes before the last one of its own."""
        small_indexes(3)
        make_products(2)
        sections.register("products", limited(1))
        sections.register("more", limited(10))
        build_fully()
        make_products(1, first=2)
        build_fully()
        expected = [["products-1", "products-2", "more-1"], ["products-3"]]
        assert indexes(client) == expected

    def test_new_plans_leave_the_first_index_no_page(
        self, sections, client, small_indexes
    ):
        """It then lists the pages of the next index: a crawler may know no other."""
        small_indexes(3)
        make_products(30)
        for limit in (10, 11, 10, 11, 10):
            sections._registry.clear()
            sections.register("products", limited(limit))
            build(replan=True)
            assert len(indexes(client)[0]) == 3

    def test_it_awaits_every_section(self, sections, crawl):
        """Until each was built once it is rendered live, and names them all."""
        make_products(25)
        sections.register("products", limited(10))
        sections.register("more", limited(20))
        live = crawl()
        assert build_fully(["more"]).index_pages is None
        assert crawl() == live
        assert build_fully(["products"]).index_pages == 5
        assert crawl() == live

    def test_it_follows_while_another_section_is_new(self, sections, crawl):
        """A section that was never built keeps no other from being listed."""
        make_products(25)
        sections.register("products", limited(10))
        build_fully()
        sections.register("more", limited(20))
        make_products(10, first=25)
        build_fully(["products"])
        assert sum(map(len, crawl().values())) == 35


def test_a_builder_at_work_leaves_the_index_of_a_site_that_moves(sections):
    """It began with the old origin, which the index would have once more."""
    moved, moves = Site(DEFAULT_SITE, "https://moved.example"), False

    def lastmod(self: Any, product: Any) -> Any:
        if moves:
            with in_force(moved):
                take_origin(has_moved=True)
        return product.updated_at

    make_products(1)
    sections.register("products", limited(10, lastmod=lastmod))
    build()
    before, moves = page_row("", 0).object, True
    Product.objects.get().save()
    with pytest.raises(ConfigurationError, match=r"belong to https://moved\.example"):
        build()
    assert page_row("", 0).object == before
