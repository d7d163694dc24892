"""Finds the cities around a city."""

from __future__ import annotations

import math
from dataclasses import dataclass

from django.db.models import ExpressionWrapper, F, FloatField

from .models import City

EARTH_RADIUS_KM = 6_371.0
# About 330 km: nearly every city has neighbours in it, and no big country fits it.
SEARCH_DEGREES = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """A city and how far away it is."""

    city: City
    distance_km: float


def find_neighbours(city: City, *, count: int = 8) -> list[Neighbour]:
    """Return the cities of the same country nearest to this one, nearest first.

    The database ranks by flat distance, which is wrong only next to the poles and
    misses cities on the other side of the 180th meridian.
    """
    north = F("latitude") - city.latitude
    east = (F("longitude") - city.longitude) * math.cos(math.radians(city.latitude))
    nearest = (
        City.objects.filter(
            country_id=city.country_id,
            latitude__range=(
                city.latitude - SEARCH_DEGREES,
                city.latitude + SEARCH_DEGREES,
            ),
        )
        .exclude(pk=city.pk)
        .order_by(
            ExpressionWrapper(north * north + east * east, output_field=FloatField()),
            "geoname_id",
        )[:count]
    )
    neighbours = [
        Neighbour(city=near, distance_km=_measure(city, near)) for near in nearest
    ]
    return sorted(neighbours, key=lambda neighbour: neighbour.distance_km)


def _measure(start: City, end: City) -> float:
    """Return the length in kilometres of the great circle between two cities."""
    start_latitude, end_latitude = (
        math.radians(start.latitude),
        math.radians(end.latitude),
    )
    half_north = (end_latitude - start_latitude) / 2
    half_east = math.radians(end.longitude - start.longitude) / 2
    haversine = (
        math.sin(half_north) ** 2
        + math.cos(start_latitude) * math.cos(end_latitude) * math.sin(half_east) ** 2
    )
    return 2 * EARTH_RADIUS_KM * math.asin(min(1.0, math.sqrt(haversine)))
