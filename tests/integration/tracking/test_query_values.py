"""Values in queries: what rows or the time give a query is not part of a deploy."""

from __future__ import annotations

import operator
from datetime import timedelta
from functools import reduce

import pytest
from django.contrib.sitemaps import GenericSitemap, Sitemap
from django.db.models import Case, Exists, OuterRef, Q, When
from django.utils import timezone

from django_sitemaps_plus.models import Section
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.section import open_section
from django_sitemaps_plus.signals import urls_changed
from django_sitemaps_plus.tracking.deploys import fingerprint, query_values
from tests.support.builds import build_and_relay
from tests.support.shop import limited, make_products, product_urls
from tests.support.testapp.models import Product
from tests.support.told import hearing

from .rows import dirty

pytestmark = pytest.mark.database

FEATURED: list[int] = []


def listed(rows):
    """Return a source of three rows a page, whose query rows or the time decide."""
    return limited(3, get_queryset=lambda self: rows())


def of_slugs(slugs):
    return reduce(operator.or_, [Q(slug__startswith=slug) for slug in slugs])


def inner(pks):
    return Exists(Product.objects.filter(pk=OuterRef("pk"), pk__in=pks))


#: Makes a query of a list of keys.
FROM_ROWS = {
    "in": lambda pks: Product.objects.filter(pk__in=pks),
    "not in": lambda pks: Product.objects.exclude(pk__in=pks),
    "or": lambda pks: Product.objects.filter(Q(pk__in=pks) | Q(name="x")),
    "exists": lambda pks: Product.objects.filter(inner(pks)),
    "a subquery": lambda pks: Product.objects.filter(
        pk__in=Product.objects.filter(pk__in=pks).values("pk")
    ),
    "conditions": lambda pks: Product.objects.filter(of_slugs(["x", *map(str, pks)])),
    "several conditions": lambda pks: Product.objects.filter(
        reduce(operator.or_, [Q(pk=pk) | Q(slug=f"{pk}") for pk in [0, *pks]])
    ),
    "an order": lambda pks: Product.objects.order_by(
        Case(When(pk=0, then=0), *[When(pk=pk, then=pk) for pk in pks])
    ),
}


def prints(rows):
    """Return the fingerprint of a source, and the hash of its values."""
    registry.unregister("products")
    registry.register("products", listed(rows))
    section = open_section("products")
    found = fingerprint(section)
    return found, query_values(section, found)


@pytest.mark.parametrize("kind", FROM_ROWS)
def test_values_from_rows_are_no_part_of_the_fingerprint(kind, sections):
    sections.register("products", limited(3))
    found = [
        prints(lambda pks=pks: FROM_ROWS[kind](pks))
        for pks in ([], [1], [1, 2], [7, 8, 9])
    ]
    assert len({code for code, _ in found}) == 1
    assert len({values for _, values in found}) == 4


def test_large_numbers_in_a_list_are_no_times(sections):
    """Keys that began at a thousand million are from rows as all others are."""
    sections.register("products", limited(3))
    lists = [[10**9 + 7], [10**9 + 7, 10**9 + 8], [10**9 + 8]]
    found = {prints(lambda it=it: Product.objects.filter(pk__in=it)) for it in lists}
    assert len(found) == 3


def test_a_list_in_another_order_is_the_same(sections):
    sections.register("products", limited(3))
    orders = ([1, 2, 3], [3, 1, 2], (2, 3, 1), {3, 2, 1})
    found = {prints(lambda it=it: Product.objects.filter(pk__in=it)) for it in orders}
    assert len(found) == 1


@pytest.mark.parametrize(
    "rows",
    [
        lambda moment: Product.objects.filter(updated_at__lt=moment),
        lambda moment: Product.objects.filter(created_on__in=[moment.date()]),
        lambda moment: Product.objects.filter(pk__lt=int(moment.timestamp())),
        lambda moment: Product.objects.filter(pk__lt=moment.timestamp() * 1000),
    ],
    ids=["time", "days", "seconds", "thousandths"],
)
def test_the_present_time_is_no_value(rows, sections):
    """Each build would mark all pages."""
    sections.register("products", limited(3))
    moments = [timezone.now() + timedelta(days=n) for n in range(3)]
    assert len({prints(lambda it=it: rows(it)) for it in moments}) == 1


def of_contrib():
    """Return a contrib class that lists featured rows."""

    class Featured(Sitemap):
        limit = 3

        def items(self):
            return Product.objects.filter(pk__in=FEATURED).order_by("pk")

        def location(self, item):
            return f"/products/{item.slug}/"

    return Featured


def of_generic():
    rows = Product.objects.filter(pk__in=list(FEATURED)).order_by("pk")
    made = GenericSitemap({"queryset": rows})
    made.location = lambda item: f"/products/{item.slug}/"
    made.limit = 3
    return made


SOURCES = {
    "source": lambda: listed(lambda: Product.objects.filter(pk__in=FEATURED)),
    "contrib": of_contrib,
    "generic": of_generic,
}


@pytest.mark.parametrize("kind", SOURCES)
def test_a_change_of_them_is_found_by_the_next_build_and_announced(
    kind, publish, crawl
):
    """As a change of rows: of a page only what differs is announced."""
    pks = [product.pk for product in make_products(10)]
    FEATURED[:] = pks[:9]
    section = publish(SOURCES[kind]())
    before = Section.objects.get(pk=section.pk).fingerprint
    FEATURED[:] = [*reversed(pks[1:9]), pks[9]]
    if kind == "generic":
        registry.unregister("products")
        registry.register("products", of_generic())
    with hearing(urls_changed) as heard:
        build_and_relay()
    added = [url for it in heard if it["announce"] for url in it["added"]]
    removed = [url for it in heard if it["announce"] for url in it["removed"]]
    updated = [url for it in heard for url in it["updated"]]
    assert (added, removed, updated) == (product_urls([9]), product_urls([0]), [])
    assert Section.objects.get(pk=section.pk).fingerprint == before
    assert sorted(url for page in crawl().values() for url in page) == product_urls(
        range(1, 10)
    )
    assert build_and_relay().sections[0].rendered == 0
    assert dirty(section) == []


def test_a_query_by_the_time_marks_nothing(publish):
    make_products(9)
    publish(listed(lambda: Product.objects.filter(updated_at__lt=timezone.now())))
    assert build_and_relay().sections[0].rendered == 0
