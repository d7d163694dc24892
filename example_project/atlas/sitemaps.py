"""What the sitemaps of the atlas list."""

from __future__ import annotations

from django_sitemaps_plus import ModelSource, Route, ViewSource, register

from .models import City, Country


@register("countries")
class CountrySource(ModelSource):
    """Every country."""

    model = Country
    location = Route("atlas:country", slug="slug")
    lastmod = "updated_at"


@register("cities")
class CitySource(ModelSource):
    """Every city."""

    model = City
    location = Route("atlas:city", geoname_id="geoname_id", slug="slug")
    lastmod = "updated_at"


@register("pages")
class PageSource(ViewSource):
    """The pages that belong to no country and no city."""

    views = ["atlas:home", "atlas:about"]
