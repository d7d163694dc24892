"""A row is named by its model and key, however it is read."""

from __future__ import annotations

import pytest
from django.db.models import Value
from django.db.models.functions import Concat

from django_sitemaps_plus import ModelSource
from django_sitemaps_plus.exceptions import SourceError
from tests.support.rendered import render
from tests.support.shop import limited, make_products
from tests.support.testapp.models import Product, Shop

pytestmark = pytest.mark.database


@pytest.fixture
def bad() -> Product:
    """Add 1,200 products, of which one in the third batch has no URL."""
    products = make_products(1_200)
    Product.objects.filter(pk=products[1_100].pk).update(slug="\u4f60 \x1b")
    return products[1_100]


def path(self, row):
    """Return a path that contrib's method would."""
    return f"/{row.slug}/" if row.slug.isascii() else None


@pytest.mark.parametrize("attributes", [{}, {"location": path}])
def test_the_key_is_named(bad, attributes):
    """Though the tuples that are read do not have it."""
    [problem] = render(limited(2_000, **attributes)).tally.problems
    assert problem.startswith(f"Product {bad.pk} left out: ")


def test_the_key_is_named_where_a_column_is_converted():
    """As times are, which some databases give as text."""
    shop = Shop.objects.create(name="a")

    class ShopSource(ModelSource):
        model = Shop
        location = "updated_at"

    [problem] = render(ShopSource).tally.problems
    assert problem.startswith(f"Shop {shop.pk!r} left out: ")


def test_text_is_shown_as_it_is(bad):
    """What a terminal would obey is escaped."""
    [problem] = render(limited(2_000)).tally.problems
    assert "\u4f60 \\x1b" in problem


def test_an_error_that_stops_the_page_names_it_too(bad):
    with pytest.raises(SourceError, match=rf"\(Product {bad.pk}, location\)$"):
        render(limited(2_000, on_error="raise"))


@pytest.mark.django_db(transaction=True)  # PostgreSQL counts savepoints
def test_many_bad_rows_take_one_query(django_assert_num_queries):
    """It looks up the keys of all that are named, in whichever batch they are.

    The other two read the rows, and which of them are excluded.
    """
    keys = [product.pk for product in make_products(1_200)[::90]]
    bad = Product.objects.filter(pk__in=keys)
    bad.update(slug=Concat(Value("no slug "), "slug"))
    with django_assert_num_queries(3):
        tally = render(limited(2_000)).tally
    assert tally.skipped == 14
    named = [problem.split()[1] for problem in tally.problems]
    assert named == [str(key) for key in keys]
