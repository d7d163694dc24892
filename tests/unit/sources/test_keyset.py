"""Reading by key: what can be known without a query."""

from __future__ import annotations

from uuid import UUID

import pytest

from django_sitemaps_plus.core.key_ranges import KeyRange
from django_sitemaps_plus.exceptions import ConfigurationError, StalePlanError
from django_sitemaps_plus.sources.keys import key_field
from django_sitemaps_plus.sources.querysets import in_range, pages_by_key
from tests.support.testapp.models import Author, Book, Label, Product, Shop


class TestKeyField:
    @pytest.mark.parametrize(
        ("model", "key", "field"),
        [
            (Product, "pk", Product._meta.get_field("id")),
            (Product, "slug", Product._meta.get_field("slug")),
            (Label, "pk", Label._meta.get_field("code")),
            (Book, "author", Author._meta.get_field("id")),
        ],
    )
    def test_the_field_is_found(self, model, key, field):
        """Of a relation, the field whose values it holds."""
        assert key_field(model, key) is field

    def test_one_that_is_missing_is_named(self):
        """With what to do."""
        with pytest.raises(ConfigurationError, match=r"testapp.Product has no such"):
            key_field(Product, "nothing")


class TestPagesByKey:
    def test_a_plain_queryset_does(self):
        """Filtered, annotated, ordered and deferred ones too."""
        assert pages_by_key(Product.objects.all())
        assert pages_by_key(Product.objects.filter(pk=1).order_by("-slug").only("slug"))

    @pytest.mark.parametrize(
        "items",
        [
            [1, 2],
            None,
            Product.objects.all()[:5],
            Product.objects.values("pk"),
            Product.objects.values_list("pk", flat=True),
            Product.objects.distinct("slug"),
            Product.objects.union(Product.objects.all()),
        ],
    )
    def test_anything_else_does_not(self, items):
        """It has no key, or no range of it can be read."""
        assert not pages_by_key(items)


class TestInRange:
    def sql(self, key_range: KeyRange) -> str:
        return str(in_range(Product.objects.all(), "pk", key_range).query)

    def test_rows_are_ordered_by_key_alone(self):
        """Whatever the model's own ordering is."""
        assert self.sql(KeyRange()).endswith('ORDER BY "testapp_product"."id" ASC')

    def test_the_low_bound_is_in_the_range_and_the_high_one_is_not(self):
        """So each key is in one range."""
        sql = self.sql(KeyRange("5", "9"))
        assert '"id" >= 5 AND "testapp_product"."id" < 9' in sql

    def test_infinity_is_no_condition(self):
        """At either end."""
        assert "WHERE" not in self.sql(KeyRange())
        assert "<" not in self.sql(KeyRange("5", None))
        assert ">=" not in self.sql(KeyRange(None, "5"))

    @pytest.mark.parametrize(
        ("model", "bound"),
        [
            (Product, "a"),
            (Product, ""),
            (Shop, "5"),
            (Shop, str(UUID(int=5))[:-1]),
        ],
    )
    def test_a_bound_of_another_type_is_a_stale_plan(self, model, bound):
        """The type of the key has changed since."""
        with pytest.raises(StalePlanError, match="has changed"):
            in_range(model.objects.all(), "pk", KeyRange(bound, None))
