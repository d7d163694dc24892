"""Sections of the dashboard's site: one of many pages, and one that loses its rows."""

from django.db.models import QuerySet

from django_sitemaps_plus import register
from example_project.atlas.models import City
from example_project.atlas.sitemaps import CitySource


@register("towns")
class TownSource(CitySource):
    limit = 10


@register("harbours")
class HarbourSource(CitySource):
    limit = 20

    def get_queryset(self) -> QuerySet[City]:
        return super().get_queryset().exclude(latitude=0)
