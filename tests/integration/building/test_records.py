"""Builds record the problems of each page, and the figures of the hour."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from django_sitemaps_plus.building import settle
from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.building.flip import MAX_PROBLEM, flip
from django_sitemaps_plus.building.plan.replan import serve_live
from django_sitemaps_plus.building.store import BuiltPage, Result
from django_sitemaps_plus.conf import get_site
from django_sitemaps_plus.models import Figure, Page, Section, State
from django_sitemaps_plus.publishing.prune import prune
from tests.support.builds import build_and_relay, build_fully
from tests.support.faults import fail_queries
from tests.support.shop import limited, make_products
from tests.support.testapp.models import Product

from .plan.plans import replace

pytestmark = [pytest.mark.database, pytest.mark.usefixtures("right_totals")]


HOUR = timezone.now().replace(minute=0, second=0, microsecond=0)

#: What a database could take for something else, in a slug that no URL may have.
ODD = 'it\'s "bad" \\ \x01 %s {} \U0001f600 '


def spoil(*products: Product) -> None:
    """Give products slugs without a URL, as a saved edit does."""
    for product in products:
        product.slug = f"{ODD}{product.pk}"
        product.save()


def mend(*products: Product) -> None:
    for product in products:
        product.slug = f"mended-{product.pk}"
        product.save()


def kept(section: Section) -> dict[int, list[int]]:
    """Return the keys of the rows that the active pages say they leave out."""
    pages = section.pages.active().order_by("number")
    rows = pages.values_list("number", "problems")
    return {number: [int(it["key"]) for it in found] for number, found in rows}


def test_a_build_keeps_them_and_the_next_forgets_them(shop):
    """As data, also those of a page whose bytes stay as they were."""
    section = shop(30)
    products = list(Product.objects.order_by("pk"))
    assert kept(section) == {1: [], 2: [], 3: []}
    spoil(products[3], products[4], products[25])
    build()
    bad = [products[3].pk, products[4].pk]
    assert kept(section) == {1: bad, 2: [], 3: [products[25].pk]}
    page = section.pages.get(number=1)
    reason = page.problems[0].pop("reason")
    assert page.problems[0] == {
        "action": "row_skipped",
        "row": f"Product {bad[0]}",
        "model": "testapp.Product",
        "key": str(bad[0]),
        "field": "location",
    }
    assert reason.startswith("NoReverseMatch: ")
    assert "\\x01 %s {} \U0001f600" in reason

    products[3].name = "another"  # its bytes have no name
    products[4].delete()
    products[3].save()
    build()
    assert kept(section)[1] == [products[3].pk]
    assert section.pages.get(number=1).object == page.object

    mend(products[3], products[25])
    build()
    assert kept(section) == {1: [], 2: [], 3: []}


def test_a_split_a_merge_and_a_new_plan_share_them_out(shop):
    """Each page has those of the rows in its own range."""
    section = shop(40)
    products = list(Product.objects.order_by("pk"))
    bad = [products[n] for n in (12, 19, 34, 38)]
    spoil(*bad)
    build()
    before = section.pages.active().count()
    make_products(20, 40)
    bad.append(Product.objects.order_by("pk")[45])
    spoil(bad[-1])
    build()
    assert section.pages.active().count() > before
    assert_shared_out(section, bad)
    for product in [*products[2:12], *products[13:19], *products[22:30]]:
        product.delete()
    build(allow_shrink=True)
    assert section.pages.filter(state="retired").exists()
    assert_shared_out(section, bad)
    replace(limited(7))
    build(replan=True)
    assert_shared_out(section, bad)


def assert_shared_out(section: Section, bad: list[Product]) -> None:
    found = kept(section)
    for page in section.pages.active():
        low, high = int(page.low or 0), int(page.high or 10**9)
        assert found[page.number] == [it.pk for it in bad if low <= it.pk < high]


def test_a_held_page_keeps_those_of_what_is_published(shop):
    """What the guard holds is not what visitors see."""
    section = shop(150, limit=200)
    products = list(Product.objects.order_by("pk"))
    spoil(products[7])
    build()
    spoil(*products[50:])
    build()
    assert Page.objects.filter(hold="held").count() == 1
    assert kept(section) == {1: [products[7].pk]}


def test_they_are_bounded(shop):
    """However many rows are bad, and however long the words are."""

    def location(self: Any, row: Product) -> str:
        raise ValueError("x" * 10_000)

    section = shop(50, limit=100, location=location)
    [problems] = section.pages.values_list("problems", flat=True)
    assert len(problems) == 20
    assert max(len(it["reason"]) for it in problems) <= MAX_PROBLEM


def test_neither_a_view_nor_a_build_reads_them(shop, client):
    """They are for people, and may be long."""
    section = shop(10)
    with CaptureQueriesContext(connection) as asked:
        assert client.get("/sitemap-products-1.xml").status_code == 200
    assert "problems" not in asked[0]["sql"]
    spoil(Product.objects.all()[0])
    section.pages.update(wanted=2)
    [page] = Page.objects.claim([section.pk])
    assert page.get_deferred_fields() == {"problems"}


def figures(name: str) -> dict[str, float]:
    """Return the figures of a section by their kind."""
    rows = Figure.objects.filter(site="default", name=name, hour=HOUR)
    return dict(rows.values_list("kind", "value"))


@pytest.mark.django_db(transaction=True)
class TestFigures:
    @pytest.fixture(autouse=True)
    def two_sections(self, sections: Any, monkeypatch: Any) -> None:
        """Have two sections, of three pages and one, and a clock that stands."""
        make_products(25)
        sections.register("products", limited(10))
        sections.register("others", limited(50))
        monkeypatch.setattr(timezone, "now", lambda: HOUR.replace(minute=59))

    def test_builds_add_to_those_of_their_sections(self):
        """An hour has the sums of all, and the entries that the last one left."""
        build_and_relay()
        assert figures("products") == {"entries": 25, "pages": 3, "skipped": 0}
        assert figures("others") == {"entries": 25, "pages": 1, "skipped": 0}
        Product.objects.get(slug="product-00024").delete()
        for number in (2, 1):  # rows left out are no sum
            spoil(Product.objects.get(slug=f"product-0000{number}"))
            build_fully(["products"])
        assert figures("products") == {"entries": 22, "pages": 9, "skipped": 2}
        assert figures("others") == {"entries": 25, "pages": 1, "skipped": 0}
        assert not Figure.objects.filter(name="").exists()  # no index

    def test_who_helps_a_build_adds_its_pages(self):
        build()
        Page.objects.update(wanted=F("wanted") + 1)
        build(notices=False)
        assert figures("products") == {"entries": 25, "pages": 6, "skipped": 0}

    def test_a_build_with_nothing_to_do_asks_nothing_more(self):
        build_and_relay()
        before = list(Figure.objects.order_by("pk").values())
        with CaptureQueriesContext(connection) as queries:
            build()
        assert not [q for q in queries if Figure._meta.db_table in q["sql"]]
        assert list(Figure.objects.order_by("pk").values()) == before

    def test_a_build_that_cannot_record_has_built(self, client, caplog):
        """The pages are published by then, and the log says what is missing."""
        with fail_queries(lambda sql: Figure._meta.db_table in sql):
            assert build().problems == []
        assert client.get("/sitemap-products-3.xml").status_code == 200
        assert "The figures of products are lost: the server closed" in caplog.text
        assert not Figure.objects.exists()


class TestTotals:
    """Rows of sections say what their pages come to, as a fixture compares."""

    def test_they_count_what_leaves_no_trace_in_the_bytes(self, shop):
        """Rows that are left out, and whose page stays as it was."""
        section = shop(30)
        new = make_products(2, 30)
        spoil(*new)
        build()
        before = Section.objects.get(pk=section.pk)
        assert (before.planned, before.listed_pages) == (4, 3)
        assert (before.entries, before.skipped) == (30, 2)
        for product in new:
            product.delete()
        build()
        after = Section.objects.get(pk=section.pk)
        assert (after.entries, after.skipped) == (30, 0)
        assert after.published_at == before.published_at

    def test_a_section_that_empties_and_returns(self, shop):
        section = shop(30)
        Product.objects.all().delete()
        build(allow_shrink=True)
        row = Section.objects.get(pk=section.pk)
        assert (row.planned > 0, row.listed_pages, row.entries) == (True, 0, 0)
        assert (row.plain_size, row.gzip_size) == (0, 0)
        make_products(5, 30)
        build()
        assert Section.objects.get(pk=section.pk).entries == 5

    def test_a_plan_to_come_counts_once_it_is_served(self, shop, monkeypatch):
        section = shop(30)
        replace(limited(6))
        with monkeypatch.context() as patch:
            patch.setattr(settle, "finish_replan", lambda section: False)
            build(replan=True)
        row = Section.objects.get(pk=section.pk)
        assert (row.planned, row.listed_pages, row.entries) == (8, 3, 30)
        build()
        row = Section.objects.get(pk=section.pk)
        assert (row.planned, row.listed_pages, row.entries) == (5, 5, 30)

    def test_a_builder_that_saw_the_old_plan_counts_by_the_new_one(self, shop):
        """Its page was of the next plan when it was claimed."""
        section = shop(30)
        page = section.pages.get(number=2)
        page.state = State.NEXT
        new = BuiltPage(object="x", is_changed=True, entries=9)
        Page.objects.filter(pk=page.pk).update(wanted=2, token="a")
        page.wanted, page.token = 2, "a"
        [done] = flip([Result(page, new)])
        assert done.page.state == State.ACTIVE
        assert Section.objects.get(pk=section.pk).entries == 29

    @pytest.mark.parametrize("options", [{}, {"replan": True}])
    def test_what_somebody_has_damaged_fails_no_build(self, shop, options):
        """A new plan sets it right, also one that has the pages of the old one."""
        section = shop(30)
        Section.objects.filter(pk=section.pk).update(entries=0, planned=-9, dropped=7)
        Product.objects.all()[0].delete()
        assert build(**options).problems == []
        build(replan=True)

    def test_what_is_served_live_or_gone_counts_nothing(self, shop, sections):
        section = shop(30)
        serve_live(["products"])
        row = Section.objects.get(pk=section.pk)
        assert (row.planned, row.entries, row.published_at) == (0, 0, None)
        build()
        sections.unregister("products")
        prune(get_site(), removed=["products"])
        row = Section.objects.get(pk=section.pk)
        assert (row.planned, row.entries, row.published_at) == (0, 0, None)
