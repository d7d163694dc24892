"""Sections of the dashboard's site: one of many pages, and one that loses its rows."""

from __future__ import annotations

from django.db.models import QuerySet

from django_sitemaps_plus import register
from example_project.atlas.models import City
from example_project.atlas.sitemaps import CitySource


@register("towns")
class TownSource(CitySource):
    """All cities, on many small pages."""

    limit = 10


@register("harbours")
class HarbourSource(CitySource):
    """Cities whose latitude is known."""

    limit = 20

    def get_queryset(self) -> QuerySet[City]:
        """Leave out what lies on the equator."""
        return super().get_queryset().exclude(latitude=0)
