"""The index says when a page changed, in which order, and for how long."""

from __future__ import annotations

import json
import logging
from datetime import datetime, timedelta
from itertools import chain, count
from typing import Any

import pytest
from django.db.models import F
from django.utils import timezone

from django_sitemaps_plus.building import flip
from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.conf import DEFAULT_SITE, Site
from django_sitemaps_plus.core import limits
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.models import INDEX, Page, Section
from django_sitemaps_plus.models.sections import take_origin
from django_sitemaps_plus.sites import in_force
from tests.support.builds import build_fully
from tests.support.documents import read_index
from tests.support.published import page_row
from tests.support.shop import START, limited, make_products
from tests.support.testapp.models import Product

PAGE = "https://example.com/sitemap-products-1.xml"
GONE, KEPT = "/sitemap-gone-1.xml", "/sitemap-kept-1.xml"


def is_now(moment: datetime | None) -> bool:
    assert moment is not None
    return timedelta() <= timezone.now() - moment < timedelta(minutes=1)


class TestLastmod:
    @pytest.fixture
    def rebuilt(self, sections: Any, client: Any) -> Any:
        """Return what builds and gives the lastmod of page 1 in the index."""
        sections.register("products", limited(10))

        def rebuilt() -> datetime | None:
            build_fully()
            text = read_index(client.get("/sitemap.xml").content)[PAGE]
            return datetime.fromisoformat(text) if text else None

        return rebuilt

    def test_it_is_the_newest_lastmod_of_the_entries(self, rebuilt):
        """It follows when that rises; bytes that change otherwise have the present."""
        make_products(5)
        assert rebuilt() == START + timedelta(minutes=4)
        moment = START + timedelta(days=3)
        Product.objects.filter(slug="product-00001").update(updated_at=moment)
        assert rebuilt() == moment
        Product.objects.filter(slug="product-00001").update(slug="renamed")
        assert is_now(rebuilt())

    def test_it_never_falls(self, rebuilt, monkeypatch):
        """The newest entry gone is a change of today, not a return to yesterday.

        Clocks are set back, and that of another worker may be slow.
        """
        make_products(5)
        rebuilt()
        Product.objects.filter(slug="product-00004").delete()
        first = rebuilt()
        assert is_now(first)
        Product.objects.update(updated_at=F("updated_at") - timedelta(days=1))
        second = rebuilt()
        assert second > first
        earlier = timezone.now() - timedelta(hours=1)
        monkeypatch.setattr(flip.timezone, "now", lambda: earlier)
        Product.objects.filter(slug="product-00001").update(slug="renamed")
        assert rebuilt() == second + timedelta(seconds=1)

    def test_it_is_not_in_the_future(self, rebuilt):
        make_products(2, updated_at=timezone.now() + timedelta(days=1))
        assert is_now(rebuilt())

    def test_nobody_knows_it_where_no_entry_has_a_date(self, rebuilt):
        """Nothing is said at first; from the first change on, its time."""
        make_products(2, updated_at=None)
        assert [rebuilt(), rebuilt()] == [None, None]
        make_products(1, first=2, updated_at=None)
        assert is_now(rebuilt())


class TestOrder:
    @pytest.fixture
    def indexes(self, client: Any) -> Any:
        """Return what gives section and number of each page that each index lists."""

        def indexes() -> list[list[str]]:
            found = []
            for name in chain(["sitemap"], (f"sitemaps-{it}" for it in count(2))):
                answer = client.get(f"/{name}.xml")
                if answer.status_code == 404:
                    return found
                found.append([url[28:-4] for url in read_index(answer.content)])
            raise AssertionError("there is no end")

        return indexes

    @pytest.fixture
    def at_most(self, monkeypatch: Any) -> Any:
        """Return what says how many pages an index may list."""

        def at_most(count: int) -> None:
            monkeypatch.setattr(limits, "MAX_ENTRIES", count)

        return at_most

    def test_sections_are_in_the_order_of_registration(self, sections, indexes):
        """And pages in that of their numbers, past nine too; a build moves none."""
        make_products(11)
        sections.register("z", limited(1))
        sections.register("a", limited(10))
        (live,) = indexes()
        build_fully()
        expected = [*[f"z-{number}" for number in range(1, 12)], "a-1", "a-2"]
        assert (live, indexes()) == (expected, [expected])

    def test_more_pages_than_an_index_may_list_go_into_others(
        self, sections, indexes, at_most
    ):
        """In the order in which they were made, and there they stay."""
        at_most(2)
        make_products(3)
        sections.register("products", limited(1))
        sections.register("more", limited(2))
        build_fully()
        first = [["products-1", "products-2"], ["products-3", "more-1"], ["more-2"]]
        assert indexes() == first
        make_products(1, first=3)
        build_fully()
        assert indexes() == [*first[:2], ["products-4", "more-2"]]

    def test_new_plans_leave_the_first_index_no_page(self, sections, indexes, at_most):
        """It then lists the pages of the next index: a crawler may know no other."""
        at_most(3)
        make_products(30)
        for limit in (10, 11, 10, 11, 10):
            sections._registry.clear()
            sections.register("products", limited(limit))
            build(replan=True)
            assert len(indexes()[0]) == 3


def test_it_awaits_every_section(sections, crawl):
    """Until each was built once it is rendered live, and names them all."""
    make_products(25)
    sections.register("products", limited(10))
    sections.register("more", limited(20))
    live = crawl()
    assert build_fully(["more"]).index_pages is None
    assert crawl() == live
    assert build_fully(["products"]).index_pages == 5
    assert crawl() == live


def test_it_follows_while_another_section_is_new(products, sections, crawl):
    """A section that was never built keeps no other from being listed."""
    sections.register("more", limited(20))
    make_products(10, first=25)
    build_fully(["products"])
    assert sum(map(len, crawl().values())) == 35


def test_a_builder_at_work_leaves_the_index_of_a_site_that_moves(shop):
    """It began with the old origin, which the index would have once more."""
    moved, moves = Site(DEFAULT_SITE, "https://moved.example"), False

    def lastmod(self: Any, product: Any) -> Any:
        if moves:
            with in_force(moved):
                take_origin(has_moved=True)
        return product.updated_at

    shop(1, lastmod=lastmod)
    before, moves = page_row("", 0).object, True
    Product.objects.get().save()
    with pytest.raises(ConfigurationError, match=r"belong to https://moved\.example"):
        build()
    assert page_row("", 0).object == before


class TestMissing:
    """A section that has left the registry is named at once, and listed for a day."""

    @pytest.fixture(autouse=True)
    def gone(self, sections: Any) -> None:
        make_products(3)
        for name in ("kept", "gone"):
            sections.register(name, limited(10))
        build_fully()
        sections.unregister("gone")

    @pytest.mark.parametrize(("hours", "listed"), [(23, [KEPT, GONE]), (25, [KEPT])])
    def test_it_is_listed_for_a_day_and_served_on(self, crawl, client, hours, listed):
        """A deploy may be under way; only a prune takes its pages."""
        assert list(crawl()) == [KEPT, GONE]
        assert build().missing == ["gone"]
        now = timezone.now()
        rows = Section.objects.filter(name="gone", missing_since__isnull=False)
        assert rows.update(missing_since=now - timedelta(hours=hours)) == 1
        # An index that is older is rendered again by the audit, whatever it lists.
        indexes = Page.objects.filter(section__name=INDEX)
        indexes.update(checked_at=now - timedelta(hours=23))
        assert build().missing == ["gone"]
        assert list(crawl()) == listed
        assert client.get(GONE).status_code == 200

    @pytest.mark.parametrize("is_built", [False, True])
    def test_an_index_that_is_rendered_meanwhile_lists_it(self, crawl, is_built):
        """By a view, or by the next build: as after an edit of another section."""
        build()
        indexes = Page.objects.filter(section__name=INDEX)
        indexes.update(wanted=F("wanted") + 1)
        if is_built:
            build()
            assert not indexes.filter(wanted__gt=F("built")).exists()
        assert list(crawl()) == [KEPT, GONE]

    def test_the_log_names_it_once_and_the_command_each_time(self, run, caplog):
        """An error, since a person is to know if it was meant; no command fails."""
        for _ in range(2):
            assert run("build_sitemaps").endswith(
                "Section 'gone' is no longer registered: its pages leave the index "
                "after 24 hours, and are served until prune_sitemaps removes them. "
                "Register it again if it is to stay. If you renamed or removed it, run "
                "prune_sitemaps --section gone --now\n"
            )
        [record] = [r for r in caplog.records if r.msg.startswith("No longer")]
        assert (record.levelno, record.action) == (logging.ERROR, "section_missing")
        assert "section 'gone'" in record.getMessage()
        assert json.loads(run("build_sitemaps", json=True))["missing"] == ["gone"]
        assert run("build_sitemaps", verbosity=0) == ""
