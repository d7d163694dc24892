"""The URLs of a site's indexes and pages."""

from __future__ import annotations

from django.urls import reverse

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.core.limits import MAX_ENTRIES
from django_sitemaps_plus.core.renderers import page_lines
from django_sitemaps_plus.models.listing import Listed, index_numbers
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.sources import surroundings

# A number that stands for any other in the URL of a page.
_SAMPLE = 123_456_789


def page_url(section: str, number: int, site: Site) -> str:
    """Return the URL of a page.

    Raises:
        NoReverseMatch: the URLconf does not include ours.
    """
    with surroundings(site):
        return site.origin + reverse("sitemaps_plus:page", args=[section, number])


def index_url(site: Site, number: int = 0) -> str:
    """Return the URL of an index: of the first, or of one with a number.

    Raises:
        NoReverseMatch: the URLconf does not include ours.
    """
    name, args = ("index-more", [number]) if number else ("index", [])
    with surroundings(site):
        return site.origin + reverse(f"sitemaps_plus:{name}", args=args)


def index_urls(site: Site) -> list[str]:
    """Return the URLs of all indexes of a site, by one query.

    Raises:
        DatabaseError: the page rows cannot be read.
        NoReverseMatch: the URLconf does not include ours.
    """
    return [index_url(site, number) for number in (0, *index_numbers(site.name))]


def index_lines(site: Site, listed: Listed) -> list[str]:
    """Return the lines of an index: by section in the order of the registry.

    Sections that are not registered come last.
    """
    names = [*registry, *(name for name in listed if name not in registry)]
    lines: list[str] = []
    for name in names:
        if name in listed:
            sample = page_url(name, _SAMPLE, site)
            lines += page_lines(sample, _SAMPLE, listed[name])
    return lines[:MAX_ENTRIES]
