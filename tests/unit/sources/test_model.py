"""``ModelSource``: what it knows without asking the database."""

from __future__ import annotations

from django.db.models import F

from django_sitemaps_plus import ModelSource, Route
from django_sitemaps_plus.sources import reader_of
from django_sitemaps_plus.sources.declarations import (
    declarations_of,
    get_absolute_url,
    uses_instances,
)
from tests.support.testapp.models import Product


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
