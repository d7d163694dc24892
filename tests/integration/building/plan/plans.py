"""Plans as short words to compare."""

from itertools import chain
from typing import Any

from django.db.models import F

from django_sitemaps_plus import ModelSource, Route
from django_sitemaps_plus.core.key_ranges import in_plan_order
from django_sitemaps_plus.models import Page, Section
from django_sitemaps_plus.registry import registry
from tests.support.testapp.models import Label, Product, Shop


def plan_of(section: Section) -> list[Page]:
    """Return the pages that are served, in the order of their ranges."""
    return in_plan_order(section.pages.filter(state="active"))


def numbers(section: Section) -> list[int]:
    return [page.number for page in plan_of(section)]


def sizes(section: Section) -> list[int]:
    return [page.entries for page in plan_of(section)]


def dirty(section: Section) -> list[int]:
    """Return the numbers of the pages that are to be built again."""
    pages = section.pages.planned().filter(wanted__gt=F("built")).order_by("number")
    return list(pages.values_list("number", flat=True))


def objects(section: Section) -> dict[int, str]:
    """Return what each page serves."""
    rows = section.pages.filter(state="active").values_list("number", "object")
    return dict(rows)


def spread(count: int, step: int = 10) -> list[Product]:
    """Add products with room between their keys."""
    made = [
        Product(pk=n * step, name=f"p-{n * step}", slug=f"p-{n * step}")
        for n in range(1, count + 1)
    ]
    return Product.objects.bulk_create(made)


def add(*keys: int) -> list[Product]:
    return [
        Product.objects.create(pk=key, name=f"p-{key}", slug=f"p-{key}") for key in keys
    ]


def of_shops(limit: int) -> type[ModelSource]:
    """Return a source whose keys fall anywhere."""
    attributes = {"model": Shop, "location": Route("shop-detail", pk="pk")}
    return type("Shops", (ModelSource,), {"limit": limit, **attributes})


def of_labels(limit: int) -> type[ModelSource]:
    """Return a source whose keys are texts."""
    attributes = {"model": Label, "location": Route("label-detail", code="code")}
    return type("Labels", (ModelSource,), {"limit": limit, **attributes})


def everything(pages: dict[str, list[str]]) -> list[str]:
    return sorted(chain.from_iterable(pages.values()))


def replace(source: Any) -> None:
    """Register another source of products, as a deploy does."""
    registry.unregister("products")
    registry.register("products", source)
