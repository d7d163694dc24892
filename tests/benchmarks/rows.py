"""The rows that everything is measured on."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

from django.db import connection, transaction

from tests.support.testapp.models import Author, Product

_TEXT = (
    "amber basket birch blue bottle brass canvas cedar chair classic copper cotton "
    "cushion deep desk double enamel felt folding garden glass green grey hand heavy "
    "holder jacket kettle ladder lamp large leather light linen maple mirror narrow "
    "oak olive oval paper pillow pine plate quilt rack red rope round rubber shelf "
    "short silver slate small steel stone stool table tall tray walnut warm white wool"
)
_WORDS = _TEXT.split()
_BATCH = 5_000
_START = datetime(2024, 1, 1, tzinfo=UTC)
_SECONDS = 60_000_000  # two years, about


def add_products(total: int) -> None:
    """Add so many products, the same each time, and let the database count them."""
    chance = random.Random(1)
    with transaction.atomic():
        for first in range(0, total, _BATCH):
            numbers = range(first, min(first + _BATCH, total))
            Product.objects.bulk_create([_product(n, chance) for n in numbers])
    _analyze()


def add_authors(total: int) -> None:
    """Add so many narrow rows, by the database itself."""
    table = Author._meta.db_table
    with connection.cursor() as cursor:
        cursor.execute(
            "WITH RECURSIVE numbers(n) AS "  # noqa: S608
            "(SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < %s) "
            f"INSERT INTO {table} (id, name) SELECT n, 'a-' || n FROM numbers",
            [total],
        )
    _analyze()


def _analyze() -> None:
    vacuum = "VACUUM ANALYZE" if connection.vendor == "postgresql" else "ANALYZE"
    with connection.cursor() as cursor:
        cursor.execute(vacuum)


def _product(number: int, chance: random.Random) -> Product:
    words = chance.choices(_WORDS, k=chance.randint(2, 4))
    return Product(
        name=" ".join(words).capitalize(),
        slug="-".join([*words, str(number)]),
        updated_at=_START + timedelta(seconds=chance.uniform(0, _SECONDS)),
    )
