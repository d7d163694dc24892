"""The URLs of a site's indexes and pages."""

from __future__ import annotations

from django.urls import reverse

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.core.limits import MAX_ENTRIES
from django_sitemaps_plus.core.renderers import page_lines
from django_sitemaps_plus.models import Page
from django_sitemaps_plus.models.listing import Listed
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.sources import surroundings

# A number that stands for any other in the URL of a page.
_SAMPLE = 123_456_789


def page_url(section: str, number: int, site: Site) -> str:
    """Return the URL of a page; NoReverseMatch where the URLconf lacks ours."""
    with surroundings(site):
        return site.origin + reverse("sitemaps_plus:page", args=[section, number])


def index_url(site: Site, number: int = 0) -> str:
    """Return the URL of the first index, or of one with a number."""
    name, args = ("index-more", [number]) if number else ("index", [])
    with surroundings(site):
        return site.origin + reverse(f"sitemaps_plus:{name}", args=args)


def index_urls(site: Site) -> list[str]:
    """Return the URLs of all indexes of a site, by one query."""
    rows = [(0,), *Page.objects.index_numbers(site.name)]
    return [index_url(site, number) for (number,) in rows]


def index_lines(site: Site, listed: Listed) -> list[str]:
    """Return the lines of an index: registered sections in their order, then others."""
    names = dict.fromkeys([*registry, *listed])
    lines: list[str] = []
    for name in filter(listed.get, names):
        lines += page_lines(page_url(name, _SAMPLE, site), _SAMPLE, listed[name])
    return lines[:MAX_ENTRIES]
