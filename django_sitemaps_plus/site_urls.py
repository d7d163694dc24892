"""The URLs of a site's indexes."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.urls import reverse

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.models import INDEX, Page
from django_sitemaps_plus.sources import surroundings

from .models.prepared import fetch


def index_urls(site: Site) -> list[str]:
    """Return the URLs of all indexes of a site, by one query.

    Raises:
        DatabaseError: the page rows cannot be read.
        NoReverseMatch: the URLconf does not include ours.
    """
    numbers = [number for (number,) in fetch(_numbers, site.name)]
    with surroundings(site):
        more = [reverse("sitemaps_plus:index-more", args=[n]) for n in numbers]
    return [first_index_url(site), *[site.origin + path for path in more]]


def first_index_url(site: Site) -> str:
    """Return the URL of the index that a site has before anything is built.

    Raises:
        NoReverseMatch: the URLconf does not include ours.
    """
    with surroundings(site):
        return site.origin + reverse("sitemaps_plus:index")


def _numbers(site: str) -> QuerySet[Page, Any]:
    """Return the numbers of the indexes after the first that have something to list."""
    listed = Page.objects.of(site, INDEX).listed().filter(number__gt=0)
    return listed.order_by("number").values_list("number")
