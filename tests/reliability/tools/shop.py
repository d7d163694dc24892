"""Products on small pages, whose changes only their signals tell."""

from __future__ import annotations

import os
import random
import time
from datetime import date
from typing import Any

import pytest
from django.db import connection
from django.db.models.functions import Now

from django_sitemaps_plus import ModelSource, Route
from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.core.key_ranges import in_plan_order
from django_sitemaps_plus.models import INDEX, Change, Page, Section, State
from django_sitemaps_plus.models.sections import SUMS
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.storage import read_object
from tests.support.testapp.models import Product

IS_SOAK = bool(os.environ.get("SOAK"))

#: Marks tests of files, for which it does not matter what holds the rows.
ON_SQLITE = pytest.mark.skipif(
    connection.vendor != "sqlite", reason="it works on the file of SQLite"
)

#: Of histories that chance decides: one that is always the same, and a new one.
SEEDS = [1, 0] if IS_SOAK else [1]

LIMIT = 10

#: Distance of the keys, so that rows can come in between.
STEP = 100

#: Builds as who knows that rows are meant to go.
ALLOW = {"allow_shrink": True}

ORIGIN = "https://example.com"


class PlainSource(ModelSource):
    """Without lastmod, so that no look-back makes up for a change that was lost."""

    model = Product
    location = Route("product-detail", slug="slug")
    limit = LIMIT


class DatedSource(PlainSource):
    """With a date that no column has, since feeds need one."""

    lastmod = date(2026, 1, 1)


class SlowSource(PlainSource):
    """Each page takes a while, so that a builder can be killed at work."""

    def location(self, item: Product) -> str:
        """Return its URL."""
        time.sleep(0.01)
        return f"/products/{item.slug}/"


def add(keys: Any, prefix: str = "p") -> None:
    """Add a product for each key, with signals."""
    for key in keys:
        slug = f"{prefix}-{key}"
        Product(pk=key, name=slug, slug=slug).save(force_insert=True)


def add_quietly(keys: Any, prefix: str = "p") -> None:
    """Add a product for each key, without signals."""
    slugs = {key: f"{prefix}-{key}" for key in keys}
    Product.objects.bulk_create(
        [Product(pk=key, name=slug, slug=slug) for key, slug in slugs.items()]
    )


def stock(
    count: int, source: type[ModelSource] = PlainSource, *, name: str = "products"
) -> None:
    """Have so many products in a section that is not built."""
    add_quietly(range(0, count * STEP, STEP))
    registry.register(name, source)


def publish(count: int, source: type[ModelSource] = PlainSource, **name: str) -> None:
    """Have so many products in a section that is built."""
    stock(count, source, **name)
    build()


def rename(keys: Any, prefix: str) -> None:
    """Save products under other slugs."""
    for product in Product.objects.filter(pk__in=list(keys)):
        product.slug = f"{prefix}-{product.pk}"
        product.save(update_fields=["slug"])


def table() -> list[str]:
    """Return the URLs that the table lists, sorted."""
    slugs = Product.objects.filter(published=True).values_list("slug", flat=True)
    return sorted(f"{ORIGIN}/products/{slug}/" for slug in slugs)


def unfinished() -> list[str]:
    """Return what a refresh that has succeeded leaves nothing of, in words."""
    found = []
    if changes := Change.objects.count():
        found.append(f"{changes} changes are not read")
    if dirty := Page.objects.dirty().count():
        found.append(f"{dirty} pages are dirty")
    for name in set(Page.objects.values_list("section__name", flat=True)) - {""}:
        found += broken_plan(name)
    return found + lost_objects() + wrong_totals()


def wrong_totals() -> list[str]:
    """Return the sections whose row is not the sums over their pages, in words."""
    found = []
    for row in Section.objects.exclude(name=INDEX):
        planned = [it for it in row.pages.all() if it.state != State.RETIRED]
        pages = [it for it in planned if it.state == State.ACTIVE]
        right = {
            "planned": len(planned),
            "listed_pages": len([it for it in pages if it.entries]),
            **{name: sum([getattr(it, name) for it in pages]) for name in SUMS},
        }
        kept = {name: getattr(row, name) for name in right}
        was_published = any([it.published_at for it in pages])
        if kept != right or (was_published and not row.published_at):
            found.append(f"{row} has {kept} and not {right}, {row.published_at}")
    return found


def broken_plan(section: str) -> list[str]:
    """Return what is wrong with the plan of a section, in words."""
    pages = Page.objects.of("default", section).filter(state=State.ACTIVE)
    try:
        in_plan_order(pages)
    except ValueError as error:
        return [str(error)]
    return []


def lost_objects() -> list[str]:
    """Return the pages whose objects are missing or damaged, in words."""
    found = []
    for page in Page.objects.filter(state=State.ACTIVE).exclude(object=""):
        try:
            read_object(page.object, page.gzip_hash)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is reported
            found.append(f"{page}: {error}")
    return found


def age_claims() -> None:
    """Let the clock of every claim pass, as if an hour had gone by."""
    Page.objects.exclude(claimed_at=None).update(
        claimed_at=Now() - 60 * get_settings().lease
    )


def hashes() -> list[tuple[Any, ...]]:
    """Return what every page serves."""
    rows = Page.objects.filter(state=State.ACTIVE)
    return list(
        rows.order_by("section__name", "number").values_list(
            "section__name", "number", "low", "high", "object", "plain_hash"
        )
    )


def some_seed(number: int) -> int:
    """Return the seed of a run: fixed, but for run 0 a new one each time."""
    return number or random.SystemRandom().randrange(1, 10**9)
