"""Problems: each page keeps what it leaves out, as long as it does."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.building.flip import MAX_PROBLEM
from django_sitemaps_plus.models import Page, Section
from tests.support.shop import limited, make_products
from tests.support.testapp.models import Product

from .plan.plans import replace

pytestmark = pytest.mark.database

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
