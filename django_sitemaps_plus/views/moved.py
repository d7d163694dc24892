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

from django_sitemaps_plus.conf import get_settings
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

    opened = open_section(section)
    source = opened.source
    with opened.reading():
        kind = source.sample if isinstance(source, SitemapSource) else Sitemap
        before, limit = (int(old) - 1) * int(kind.limit), max(1, source.limit)
    pages = Page.objects.entries_of(opened.site.name, section)
    number, low = (None if pages else before // limit + 1), None
    by_low = {first: others for first, *others in pages}
    while number is None and (page := by_low.pop(low, None)):
        low, own, entries, built = page
        before -= entries if built else limit
        if before < 0:
            number = int(own)
    if number is None:
        raise Http404("No such page")

    site = opened.site
    url = page_url(section, number, site).removeprefix(site.origin)
    response = HttpResponsePermanentRedirect(url)
    # The rows may come to another page.
    seconds = get_settings().client_cache_seconds
    response["Cache-Control"] = f"public, max-age={seconds}"
    return response
