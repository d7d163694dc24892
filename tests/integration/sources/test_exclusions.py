"""Excluded rows: no source writes them, and nothing else changes."""

from typing import Any

import pytest
from django.contrib.sitemaps import GenericSitemap, Sitemap
from django.db import ProgrammingError

from django_sitemaps_plus import ModelSource, Route
from django_sitemaps_plus.core.key_ranges import EVERYTHING
from django_sitemaps_plus.exceptions import SourceError
from django_sitemaps_plus.models import Exclusion
from django_sitemaps_plus.models.exclusions import label_of
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.section import open_section
from django_sitemaps_plus.sources import Tally, reader_of, surroundings
from django_sitemaps_plus.sources.conditions import excluded_keys
from django_sitemaps_plus.tracking.deploys import fingerprint
from tests.integration.sources import contrib_zoo as zoo
from tests.support.documents import locs
from tests.support.faults import fail_queries
from tests.support.rendered import SITE, plain, queries_of, render
from tests.support.shop import ProductSource, limited, make_products, product_urls
from tests.support.testapp.models import Cafe, Label, Place, PlaceProxy, Product, Shop

pytestmark = pytest.mark.database


class Items(Sitemap):
    def items(self) -> Any:
        return Product.objects.order_by("name")


FORMS = {
    "columns": ProductSource,
    "instances": limited(50, location=lambda self, it: it.get_absolute_url()),
    "another key": limited(50, key="slug"),
    "aggregates": limited(50, get_queryset=lambda self: Product.objects.distinct()),
    "contrib": Items,
    "generic": lambda: GenericSitemap({"queryset": Product.objects.all()}),
}


def exclude(*rows: Any, **fields: Any) -> None:
    for row in rows:
        given = {"model": label_of(type(row)), "key": str(row.pk)}
        Exclusion.objects.create(**given, **fields)


def listed(source: Any) -> list[str]:
    return locs(plain(render(source)))


def lines_of(source: Any, keys: list[Any]) -> set[str]:
    with surroundings(SITE):
        return {key for key, _ in source.lines_by_key(keys, Tally("section"))}


@pytest.mark.parametrize("form", FORMS)
def test_neither_a_page_nor_single_rows_have_them(sections, form):
    products = make_products(4)
    exclude(products[1], products[3], note="gone")
    sections.register("products", FORMS[form])
    source = registry.get("products")
    found = render(source)
    assert sorted(locs(plain(found))) == product_urls([0, 2])
    assert (found.tally.skipped, found.tally.problems) == (0, [])
    reader = reader_of(source)
    keys = [getattr(it, getattr(source, "key", "pk")) for it in products]
    assert lines_of(reader, keys) == {str(keys[0]), str(keys[2])}
    reader.has_excluded = True
    assert lines_of(reader, keys) == set(map(str, keys))


def sourced(model: Any, location: Route) -> Any:
    return type("Sourced", (ModelSource,), {"model": model, "location": location})


def test_keys_of_any_type_are_found():
    shops = [Shop.objects.create(name=name) for name in "ab"]
    labels = [Label.objects.create(code=code) for code in ("a/b", "it's", "ü")]
    exclude(shops[0], labels[0], labels[1])
    found = listed(sourced(Shop, Route("shop-detail", pk="pk")))
    assert found == [f"https://example.com/shops/{shops[1].pk}/"]
    found = listed(sourced(Label, Route("label-detail", code="code")))
    assert found == ["https://example.com/labels/%C3%BC/"]


def test_a_proxy_and_a_child_are_the_row_of_their_parent():
    cafe = Cafe.objects.create(slug="cafe")
    place = Place.objects.create(slug="place")
    exclude(cafe, PlaceProxy.objects.get(pk=place.pk))
    for model in (Place, PlaceProxy, Cafe):
        assert sorted(excluded_keys(model)) == sorted([cafe.pk, place.pk])
    page = render(sourced(Place, Route("product-detail", slug="slug")))
    assert page.document is None


def test_keys_that_are_none_of_the_model_are_ignored():
    """As after a deploy that has changed its type."""
    make_products(2)
    for key in ("", "x", "9" * 200, "1; DROP TABLE"):
        Exclusion.objects.create(model="testapp.product", key=key)
    Exclusion.objects.create(model="testapp.shop", key=str(Product.objects.first().pk))
    assert listed(ProductSource) == product_urls([0, 1])


def test_the_fingerprint_is_the_same(sections):
    [product] = make_products(1)
    sections.register("products", ProductSource)
    before = fingerprint(open_section("products", SITE))
    exclude(product)
    assert fingerprint(open_section("products", SITE)) == before


def test_rows_on_another_database_are_excluded_there(other_database):
    """Our own rows stay where they are: no query joins both."""
    rows = [Product.objects.using(other_database).create(slug=slug) for slug in "ab"]
    exclude(rows[0])
    source = limited(10, using=other_database)
    assert listed(source) == ["https://example.com/products/b/"]
    [read] = queries_of(source, EVERYTHING, other_database)
    assert "sitemaps_plus" not in read


def test_without_our_tables_nothing_is_excluded_but_an_outage_is_none():
    """A project may serve its sitemaps before it migrates."""
    make_products(1)
    of_ours = "sitemaps_plus_exclusion"
    missing = ProgrammingError("relation does not exist")
    with fail_queries(lambda sql: of_ours in sql, error=lambda _: missing):
        assert listed(ProductSource) == product_urls([0])
    with fail_queries(lambda sql: of_ours in sql), pytest.raises(SourceError):
        listed(ProductSource)


@pytest.mark.parametrize("kind", zoo.BY_KEY, ids=zoo.name_of)
def test_a_page_takes_one_query_for_them(kind):
    """Whatever the form of the source is; that is what the helper asserts."""
    exclude(make_products(2)[0])
    assert queries_of(kind, EVERYTHING)
