"""``ModelSource``: what it knows without asking the database."""

from __future__ import annotations

import pytest
from django.db.models import F

from django_sitemaps_plus import ModelSource, Route
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.sources import reader_of
from django_sitemaps_plus.sources.declarations import (
    declarations_of,
    get_absolute_url,
    uses_instances,
)
from django_sitemaps_plus.sources.reading import listed_rows
from tests.support.testapp.models import Book, Product


class Declared(ModelSource):
    """Declarations only."""

    model = Product
    location = Route("product-detail", slug="slug")
    lastmod = "updated_at"
    priority = F("popularity")
    changefreq = "weekly"


class WithMethod(Declared):
    """One method among declarations."""

    def images(self, obj):
        return []


class TestInstances:
    def test_declarations_need_none(self):
        """Rows are tuples."""
        assert not uses_instances(Declared())

    def test_one_method_needs_them(self):
        """It takes the object."""
        assert uses_instances(WithMethod())

    def test_without_a_location_the_object_is_asked(self):
        """By get_absolute_url(), as contrib does."""

        class Bare(ModelSource):
            model = Product

        assert declarations_of(Bare())["location"] is get_absolute_url
        assert uses_instances(Bare())
        assert get_absolute_url(Product(slug="shoe")) == "/products/shoe/"


class TestExtensions:
    def test_only_those_declared(self):
        """The root declares no other namespace."""
        assert list(reader_of(Declared()).extensions) == []
        assert list(reader_of(WithMethod()).extensions) == ["image"]


class TestQueryset:
    @pytest.mark.parametrize(
        "make",
        [
            lambda: Product.objects.all()[:5],
            lambda: Product.objects.values("slug"),
            lambda: Product.objects.values_list("slug"),
            lambda: Product.objects.union(Product.objects.all()),
            lambda: Product.objects.distinct("slug"),
            lambda: [Product()],
            lambda: None,
        ],
    )
    def test_what_has_no_key_ranges_is_refused(self, make):
        """With what to do instead."""

        class Odd(Declared):
            def get_queryset(self):
                return make()

        with pytest.raises(ConfigurationError, match="Use Source for anything else"):
            listed_rows(Odd())

    def test_a_filter_is_kept(self):
        """And so is the model."""

        class Filtered(Declared):
            def get_queryset(self):
                return super().get_queryset().filter(published=True)

        queryset = listed_rows(Filtered())
        assert queryset.model is Product
        assert "published" in str(queryset.query)

    def test_rows_are_read_where_they_are_written(self, settings):
        """A replica may lag behind."""
        assert listed_rows(Declared()).db == "default"

    def test_a_source_may_name_its_database(self):
        """Then nobody else is asked."""

        class Elsewhere(Declared):
            using = "replica"

        assert listed_rows(Elsewhere()).db == "replica"

    def test_a_queryset_that_names_its_database_keeps_it(self):
        """It knows why."""

        class Elsewhere(Declared):
            def get_queryset(self):
                return Product.objects.using("replica")

        assert listed_rows(Elsewhere()).db == "replica"

    def test_the_default_manager_gives_the_rows(self):
        """Without a get_queryset of its own."""

        class Books(ModelSource):
            model = Book

        assert str(listed_rows(Books()).query) == str(Book.objects.all().query)
