"""What the sitemaps of the atlas list, each in its languages."""

from __future__ import annotations

from django.db.models import F, QuerySet

from django_sitemaps_plus import ModelSource, Route, ViewSource, register

from .models import City, Country


@register("countries")
class CountrySource(ModelSource):
    """Every country."""

    model = Country
    languages = "all"
    x_default = True
    location = Route("atlas:country", slug="slug")
    lastmod = "updated_at"


@register("cities")
class CitySource(ModelSource):
    """Every city, in each language that it has a name in."""

    model = City
    languages = "all"
    x_default = True
    location = Route("atlas:city", geoname_id="geoname_id", slug="slug_{language}")
    lastmod = "updated_at"

    def get_queryset(self) -> QuerySet[City]:
        """Call the usual slug that of English."""
        cities: QuerySet[City] = super().get_queryset()
        return cities.annotate(slug_en=F("slug"))


@register("pages")
class PageSource(ViewSource):
    """The pages that belong to no country and no city."""

    views = ["atlas:home", "atlas:about"]
    languages = "all"
    x_default = True
