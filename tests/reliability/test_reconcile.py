"""T8c: what no signal tells is found by comparing, and exactly that is told."""

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection

from django_sitemaps_plus.models import Page
from django_sitemaps_plus.notifications.dispatch import notify_engines
from django_sitemaps_plus.testing import RecordingEngine, temporary_registry
from tests.support.builds import build_and_relay
from tests.support.testapp.models import Product

from .tools.shop import IS_SOAK, ORIGIN, SEEDS, STEP, PlainSource, some_seed, stock

pytestmark = pytest.mark.django_db(transaction=True)

ROWS = 2_000
EDITS = 10_000 if IS_SOAK else 250

#: Edits before each comparison.
ROUND = 250

START = datetime(2026, 1, 1, tzinfo=UTC)


class DatedSource(PlainSource):
    """Its entries change with their dates, too."""

    limit = 100
    lastmod = "updated_at"

    def get_queryset(self) -> Any:
        return super().get_queryset().filter(published=True)


def listed() -> dict[str, Any]:
    rows = Product.objects.filter(published=True).values_list("slug", "updated_at")
    return {f"{ORIGIN}/products/{slug}/": date for slug, date in rows}


class Editor:
    """Edits rows in all the ways that send no signal of ours."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.number = 0

    def edit(self) -> None:
        self.number += 1
        row = Product.objects.filter(pk=self._key())
        ways = [self.update, self.hide, self.date, self.create, self.by_sql, self.save]
        self.chance.choice(ways)(row)

    def _key(self) -> int:
        return self.chance.randrange(ROWS) * STEP

    def update(self, row: Any) -> None:
        row.update(slug=f"renamed-{self.number}")

    def hide(self, row: Any) -> None:
        row.update(published=self.chance.random() < 0.5)

    def date(self, row: Any) -> None:
        row.update(updated_at=START + timedelta(hours=self.number))

    def create(self, row: Any) -> None:
        key, slug = self._key() + 1 + self.number % 99, f"new-{self.number}"
        new = Product(pk=key, name=slug, slug=slug)
        Product.objects.bulk_create([new], ignore_conflicts=True)

    def by_sql(self, row: Any) -> None:
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM testapp_product WHERE id = %s", [self._key()])

    def save(self, row: Any) -> None:
        """Save it while nobody listens."""
        with temporary_registry():
            for product in row:
                product.slug = f"saved-{self.number}"
                product.save()


@pytest.mark.parametrize("number", SEEDS)
@pytest.mark.parametrize(
    "how", ["full", pytest.param("audit", marks=pytest.mark.database)]
)
def test_edits_that_nobody_told(number, how, sections, configure, figures):
    """Neither more nor less than what differs is told."""
    configure(
        ENGINES={
            "recording": {"BACKEND": "django_sitemaps_plus.testing.RecordingEngine"}
        },
        NOTIFY=True,
        NOTIFY_DELAY_SECONDS=0,
        NOTIFY_INTERVAL_SECONDS=0,
        AUDIT_BUDGET_SECONDS=600,
    )
    editor = Editor(random.Random(seed := some_seed(number)))
    options = {"allow_shrink": True, "full": True, "audits": False}
    if how == "audit":  # which alone is to find them
        options |= {"full": False, "audits": True, "notices": False}
    stock(ROWS, DatedSource)
    build_and_relay()
    missed = spurious = told = 0
    for _ in range(EDITS // ROUND):
        RecordingEngine.clear()
        before = listed()
        for _ in range(ROUND):
            editor.edit()
        Page.objects.update(checked_at=START)
        build_and_relay(**options)
        notify_engines()
        differing = {url for url, _ in before.items() ^ listed().items()}
        found = set(RecordingEngine.told())
        missed += len(differing - found)
        spurious += len(found - differing) + len(RecordingEngine.told()) - len(found)
        told += len(found)
    figures(
        f"reconciled by {how}",
        seed=seed,
        points=EDITS,
        told=told,
        missed=missed,
        spurious=spurious,
    )
    RecordingEngine.clear()
    assert (missed, spurious) == (0, 0)
    assert told
