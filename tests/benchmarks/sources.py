"""The same section as this app and as django.contrib.sitemaps have it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib.sitemaps import GenericSitemap, Sitemap
from django.db.models import QuerySet

from django_sitemaps_plus import ModelSource, Route
from tests.support.testapp.models import Author, Product

#: Entries of the page that is compared: as many as the protocol allows.
FULL_PAGE = 50_000


class DeclaredSource(ModelSource):
    """The usual source: everything declared."""

    model = Product
    location = Route("product-detail", slug="slug")
    lastmod = "updated_at"

    def __init__(self, rows: int | None = None) -> None:
        self.rows = rows

    def get_queryset(self) -> QuerySet[Any]:
        """Return the first rows; their keys count from 1."""
        products = super().get_queryset()
        return products if self.rows is None else products.filter(pk__lte=self.rows)


def sized_source(rows: int, limit: int) -> DeclaredSource:
    """Return the usual source with so many rows, and so many entries a page."""
    source = DeclaredSource(rows)
    source.limit = limit
    return source


def small_source(number: int) -> DeclaredSource:
    """Return the usual source with the rows of one of :data:`SMALL_SITEMAPS`."""
    source = DeclaredSource()
    source.get_queryset = _few(number).all  # type: ignore[method-assign]
    return source


def _few(number: int) -> QuerySet[Any]:
    first = number * 20
    return Product.objects.filter(pk__gt=first, pk__lte=first + 20)


class NarrowSource(ModelSource):
    """Rows of little more than a key."""

    model = Author
    location = Route("product-detail", slug="name")

    def __init__(self, rows: int) -> None:
        self.rows = rows

    def get_queryset(self) -> QuerySet[Any]:
        """Return the first rows; their keys count from 1."""
        return super().get_queryset().filter(pk__lte=self.rows)


class MethodSource(ModelSource):
    """A source that asks each object for its address."""

    model = Product
    lastmod = "updated_at"

    def get_queryset(self) -> QuerySet[Any]:
        """Load no more than what the entries need, as contrib's sitemap does."""
        return super().get_queryset().only("slug")

    def location(self, obj: Product) -> str:
        """Return the path of a product."""
        return obj.get_absolute_url()


class FullDeclaredSource(DeclaredSource):
    """The usual source in pages of 50,000."""

    limit = FULL_PAGE


class FullMethodSource(MethodSource):
    """The source with a method in pages of 50,000."""

    limit = FULL_PAGE


class ProductSitemap(Sitemap):
    """contrib's usual form at its best: ordered, and no column that is not needed."""

    limit = FULL_PAGE

    def items(self) -> QuerySet[Product]:
        """Return the products in the order of their keys."""
        return Product.objects.order_by("pk").only("slug", "updated_at")

    def lastmod(self, item: Product) -> datetime | None:
        """Return when a product changed."""
        return item.updated_at


#: contrib's form that asks the database for the newest lastmod.
GENERIC_SITEMAP = GenericSitemap(
    {"queryset": ProductSitemap().items(), "date_field": "updated_at"}
)

#: Sixty sections of twenty rows each.
SMALL_SITEMAPS = {
    f"small-{number}": GenericSitemap(
        {"queryset": _few(number).order_by("pk"), "date_field": "updated_at"}
    )
    for number in range(60)
}
