"""Rows and sources that many tests use."""

from datetime import UTC, datetime, timedelta
from typing import Any

from django_sitemaps_plus import ModelSource, Route

from .testapp.models import Product

START = datetime(2026, 1, 1, 12, tzinfo=UTC)


class ProductSource(ModelSource):
    """The usual source: everything declared."""

    model = Product
    location = Route("product-detail", slug="slug")
    lastmod = "updated_at"


def make_products(count: int, first: int = 0, **fields: Any) -> list[Product]:
    """Add products whose keys and slugs rise, and whose names fall."""
    made = [
        Product(
            **{
                "name": f"Name {100_000 - number}",
                "slug": f"product-{number:05}",
                "updated_at": START + number * timedelta(minutes=1),
                **fields,
            }
        )
        for number in range(first, first + count)
    ]
    Product.objects.bulk_create(made)
    return list(Product.objects.order_by("pk")[first:])


def recreate_products() -> None:
    """Delete all products, and add such ones again, under the keys that follow."""
    rows = list(Product.objects.order_by("pk"))
    last = rows[-1].pk
    Product.objects.all().delete()
    for number, row in enumerate(rows, 1):
        row.pk = last + number
    Product.objects.bulk_create(rows)


def limited(limit: int, **attributes: Any) -> type[ProductSource]:
    """Return the usual source with so many entries a page, and other attributes."""
    return type("LimitedSource", (ProductSource,), {"limit": limit, **attributes})


def product_urls(numbers: Any, origin: str = "https://example.com") -> list[str]:
    """Return the URLs of products by their numbers."""
    return [f"{origin}/products/product-{number:05}/" for number in numbers]
