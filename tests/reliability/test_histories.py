"""T6 and T7: after any history, what is published is what the table says."""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from django.db import transaction

from django_sitemaps_plus import ModelSource, Route, notify_changed
from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.core.key_ranges import in_plan_order
from django_sitemaps_plus.models import Change, Section, State
from django_sitemaps_plus.testing import temporary_registry
from tests.support.testapp.models import Product

from .tools.published import crawl, published_urls

START = datetime(2026, 1, 1, tzinfo=UTC)
LIMIT = 10
HISTORIES = 300 if os.environ.get("SOAK") else 6


class ProductSource(ModelSource):
    """Pages so small that they split and merge all the time."""

    model = Product
    location = Route("product-detail", slug="slug")
    lastmod = "updated_at"
    limit = LIMIT

    def get_queryset(self):
        """List what is published."""
        return super().get_queryset().filter(published=True)


class History:
    """Random changes of products, each in a way that a project may choose."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.clock = START
        self.numbers = itertools.count(1)
        self.keys = itertools.count(1_000)  # of those that are added at the end

    def step(self) -> None:
        """Do one thing."""
        choices: list[Callable[[], None]] = [
            self.insert,
            self.insert_between,
            self.edit,
            self.edit,
            self.hide_or_show,
            self.delete,
            self.bulk_update,
            self.bulk_insert,
            self.roll_back,
            self.savepoint,
            self.delete_many,
        ]
        self.random.choice(choices)()

    def _now(self) -> datetime:
        self.clock += timedelta(seconds=1)
        return self.clock

    def _new(self, pk: int | None = None) -> Product:
        slug = f"p-{next(self.numbers)}"
        pk = next(self.keys) if pk is None else pk
        return Product(pk=pk, name=slug, slug=slug, updated_at=self._now())

    def _any(self) -> Product | None:
        keys = list(Product.objects.order_by("pk").values_list("pk", flat=True))
        return Product.objects.get(pk=self.random.choice(keys)) if keys else None

    def insert(self) -> None:
        """Add one at the end."""
        self._new().save(force_insert=True)

    def insert_between(self) -> None:
        """Add one at a random key."""
        pk = self.random.randrange(1, 500)
        if not Product.objects.filter(pk=pk).exists():
            self._new(pk).save(force_insert=True)

    def edit(self) -> None:
        """Save one."""
        if product := self._any():
            product.slug = f"p-{next(self.numbers)}"
            product.updated_at = self._now()
            product.save()

    def hide_or_show(self) -> None:
        """Let one enter or leave the filter, by that column alone."""
        if product := self._any():
            product.published = not product.published
            product.save(update_fields=["published"])

    def delete(self) -> None:
        """Delete one."""
        if product := self._any():
            product.delete()

    def delete_many(self) -> None:
        """Delete a stretch of keys at once."""
        if product := self._any():
            Product.objects.filter(pk__gte=product.pk, pk__lt=product.pk + 12).delete()

    def bulk_update(self) -> None:
        """Change many without a signal."""
        if product := self._any():
            rows = Product.objects.filter(pk__gte=product.pk, pk__lt=product.pk + 9)
            rows.update(published=True, updated_at=self._now())
            notify_changed(rows)

    def bulk_insert(self) -> None:
        """Add many without a signal."""
        made = Product.objects.bulk_create(
            [self._new() for _ in range(self.random.randrange(1, 30))]
        )
        notify_changed(Product.objects.filter(pk__in=[product.pk for product in made]))

    def roll_back(self) -> None:
        """Change something, then think better of it."""
        with transaction.atomic():
            self.edit()
            self.insert()
            transaction.set_rollback(True)

    def savepoint(self) -> None:
        """Save, roll back to a savepoint, save again."""
        with transaction.atomic():
            try:
                with transaction.atomic():
                    self.edit()
                    raise RuntimeError
            except RuntimeError:
                self.edit()


def expected() -> list[str]:
    """Return what the table lists."""
    slugs = Product.objects.filter(published=True).values_list("slug", flat=True)
    return sorted(f"https://example.com/products/{slug}/" for slug in slugs)


def check_plan() -> None:
    """The ranges part the key space, and no page is over its limit."""
    section = Section.objects.get(name="products")
    pages = in_plan_order(section.pages.filter(state=State.ACTIVE))
    assert pages[0].low is None
    assert pages[-1].high is None
    assert max(page.entries for page in pages) <= LIMIT + LIMIT // 10


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("number", range(HISTORIES))
def test_after_any_history_the_pages_list_the_table(number, figures):
    """Random changes between refreshes are all published by the next refresh."""
    seed = number if number else random.SystemRandom().randrange(10**9)
    history = History(seed)
    with temporary_registry() as sections:
        sections.register("products", ProductSource)
        build()
        for _ in range(25):
            for _ in range(history.random.randrange(0, 6)):
                history.step()
            if history.random.random() < 0.1:
                build(replan=True, allow_shrink=True)
            build(allow_shrink=True)
            assert published_urls() == expected(), f"seed {seed}"
            check_plan()
        assert Change.objects.count() == 0
        before = crawl()
        report = build(full=True)
        assert crawl() == before, f"seed {seed}"
        assert sum(section.stored for section in report.sections) == 0
    if not number:
        figures("histories", seed=seed, points=HISTORIES, kills=0, lost=0, bad=0)
