"""The URLs of contrib's view, such as ``/sitemap-products.xml?p=2``."""

from __future__ import annotations

import re

from django.contrib.sitemaps import Sitemap
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponsePermanentRedirect,
)

from django_sitemaps_plus.conf import get_settings, get_site
from django_sitemaps_plus.models import Page
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.section import open_section
from django_sitemaps_plus.site_urls import page_url
from django_sitemaps_plus.sources import SitemapSource

_NUMBER = re.compile(r"[1-9][0-9]{0,5}", re.ASCII)


def redirect_old_page(request: HttpRequest, section: str) -> HttpResponse:
    """Redirect to the page that has the first row of a page of contrib's view.

    404 where there is no such section or page.
    """
    old = request.GET.get("p", "1")
    if section not in registry or not _NUMBER.fullmatch(old):
        raise Http404("No such page")
    number = _number(section, int(old))
    if number is None:
        raise Http404("No such page")
    site = get_site()
    url = page_url(section, number, site).removeprefix(site.origin)
    response = HttpResponsePermanentRedirect(url)
    # The rows may come to another page.
    seconds = get_settings().client_cache_seconds
    response["Cache-Control"] = f"public, max-age={seconds}"
    return response


def _number(section: str, old: int) -> int | None:
    """Return the number of a page by the entries of those before it."""
    opened = open_section(section)
    source = opened.source
    with opened.reading():
        kind = source.sample if isinstance(source, SitemapSource) else Sitemap
        before, limit = (old - 1) * int(kind.limit), max(1, source.limit)
    pages = Page.objects.entries_of(opened.site.name, section)
    if not pages:
        return before // limit + 1
    by_low = {low: others for low, *others in pages}
    low = None
    while found := by_low.pop(low, None):
        low, number, entries, built = found
        before -= entries if built else limit
        if before < 0:
            return int(number)
    return None
