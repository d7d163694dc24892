"""The code of a user, who expects it to pass a strict type checker."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from typing import Any

from django.contrib.sitemaps import Sitemap
from django.db.models import QuerySet

from django_sitemaps_plus import (
    Alternate,
    Entry,
    Image,
    ModelSource,
    News,
    Route,
    Source,
    Video,
    ViewSource,
    register,
    registry,
    under,
)
from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.testing import temporary_source
from example_project.atlas.models import City, Country


@register("typed-cities")
class CitySource(ModelSource):
    """Declarations, and methods that take the object."""

    model = City
    location = Route("atlas:city", geoname_id="geoname_id", slug="slug")
    watch = {
        City: under("tree_id", "lft", "rght"),
        Country: lambda country: City.objects.filter(country=country),
    }
    lastmod = "updated_at"
    changefreq = "weekly"
    limit = 5_000

    def get_queryset(self) -> QuerySet[Any]:
        """Filter."""
        return super().get_queryset().filter(population__gt=0)

    def images(self, city: City) -> list[Image]:
        """Return pictures."""
        return [Image(f"https://cdn.example/{city.pk}.jpg")]


class CitySourceOfSites(ModelSource):
    """Rows of one site or another."""

    model = City
    sites = ["de", "fr"]
    site_path = "country__code"

    def get_queryset(self, site: Site | None = None) -> QuerySet[Any]:
        """Filter by the site."""
        rows = super().get_queryset()
        return rows if site is None else rows.filter(country__code=site.name)


@register("typed-pages")
class PageSource(ViewSource):
    """Views."""

    views = ["atlas:home", ("atlas:country", {"slug": "andorra"})]
    lastmod = date(2026, 11, 20)


class NewsSource(Source):
    """Entries of any origin."""

    def entries(self, origin: str) -> Iterator[Entry]:
        """Yield one."""
        now = datetime(2026, 11, 20, tzinfo=UTC)
        yield Entry(
            f"{origin}/news/1/",
            lastmod=now,
            priority=0.5,
            images=(Image(f"{origin}/a.jpg"),),
            videos=(
                Video(
                    thumbnail_loc=f"{origin}/v.jpg",
                    title="Dam opens",
                    description="The dam opens.",
                    content_loc=f"{origin}/v.mp4",
                ),
            ),
            news=News(
                name="The Paper", language="en", publication_date=now, title="Dam opens"
            ),
            alternates=(Alternate("en", f"{origin}/news/1/"),),
        )


class BlogSitemap(Sitemap[City]):
    """One of contrib's."""


register("typed-blog", BlogSitemap)
source: Source = registry.get("typed-cities")

with temporary_source("typed-news", NewsSource()) as sections:
    names: list[str] = list(sections)
