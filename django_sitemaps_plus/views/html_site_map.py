"""The view of the HTML site map: what the sitemaps list, as links for people."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from html import unescape
from itertools import takewhile
from time import monotonic
from urllib.parse import unquote, urlsplit

from django.conf import settings
from django.core.paginator import InvalidPage, Paginator
from django.db import Error
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import get_language
from django.views.decorators.http import conditional_page

from django_sitemaps_plus.conf import get_settings, in_force
from django_sitemaps_plus.core.dates import W3C_LENGTH
from django_sitemaps_plus.core.entry_lines import entries_in
from django_sitemaps_plus.core.gzip import Document, inflate, write_document
from django_sitemaps_plus.core.key_ranges import KeyRange
from django_sitemaps_plus.core.limits import LimitExceededError
from django_sitemaps_plus.exceptions import SitemapsPlusError
from django_sitemaps_plus.models import Page
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.section import open_section
from django_sitemaps_plus.serving.live import cache_key, live_plan, shared
from django_sitemaps_plus.sites import get_site
from django_sitemaps_plus.sources import Tally

from .responses import read_only
from .sitemaps import index, page

logger = logging.getLogger(__name__)

#: Links on one page for people.
LINKS = 500

#: Seconds for which the titles of a page are kept, and for which they are read.
TITLES_SECONDS, MAX_SECONDS = 600, 2

_TITLE = re.compile(r"<loc>([^<]*)</loc><title>([^<]+)")
_PAGE = re.compile(r"/sitemap-([^/]+)-([0-9]+)\.xml\Z")


@dataclass(frozen=True, slots=True)
class Link:
    """An entry as people see it."""

    url: str
    title: str
    lastmod: date | None


@read_only
@conditional_page
def site_map(
    request: HttpRequest, section: str | None = None, number: int | None = None
) -> HttpResponse:
    """Answer with the sections of the site, or with links of one.

    The links are those of one sitemap of the section, by default of its first.
    """
    answer = ask(request, index)
    if answer.status_code != 200:
        return answer
    sections: dict[str, list[int]] = {}  # each with the numbers of its pages
    for loc, *_ in entries_in(answer.text):
        if match := _PAGE.search(unquote(unescape(loc))):
            sections.setdefault(match[1], []).append(int(match[2]))
    if section is None:
        return render(request, "sitemaps_plus/site_map.html", {"sections": sections})
    parts = sections.get(section, [])
    if number is None and parts:
        number = parts[0]
    if number not in parts:
        raise Http404("No such section or part")
    answer = ask(request, page, section=section, number=str(number))
    if answer.status_code != 200:
        return answer

    # Entries in the language of the reader, or without a version that is.
    version = f'hreflang="{get_language()}" href="'
    entries = [
        (loc, lastmod)
        for loc, lastmod, rest in entries_in(answer.text)
        if version not in rest or f'{version}{loc}"' in rest
    ]
    try:
        shown = Paginator(entries, LINKS).page(request.GET.get("page", 1))
    except InvalidPage as error:
        raise Http404("No such page") from error
    site = get_site(request)
    with in_force(site):
        titles = _titles(section, number, answer.get("ETag"))
    near = Paginator(parts, 1).get_elided_page_range(parts.index(number) + 1)
    context = {
        "sections": sections,
        "section": section,
        "number": number,
        # Places of pages of the section, with their numbers; None for an ellipsis.
        "parts": [(it, parts[it - 1] if isinstance(it, int) else None) for it in near],
        "page_obj": shown,
        "links": [
            _link(unescape(loc), lastmod, site.origin, titles.get(loc, ""))
            for loc, lastmod in shown
        ],
        "pages": shown.paginator.get_elided_page_range(shown.number),
    }
    return render(request, "sitemaps_plus/site_map_section.html", context)


def _titles(section: str, number: int, version: str | None) -> dict[str, str]:
    """Return the titles of a page by location; without those that cannot be read.

    No sitemap has them, so the source is read: once for a version of the page, within
    TITLES_SECONDS, and for no longer than MAX_SECONDS.
    """
    language = get_language() or settings.LANGUAGE_CODE

    def render() -> Document | None:
        row = Page.objects.served(opened.site.name, section, number)
        if row is not None:
            bounds = KeyRange(row.low, row.high)
        elif (plan := live_plan(opened)) and number <= len(plan.ranges):
            bounds = plan.ranges[number - 1]
        else:
            return None
        until = monotonic() + MAX_SECONDS
        with opened.reading():
            reader = opened.reader
            reader.titles_in, reader.max_entries = language, reader.hard_limit
            chunks = reader.chunks(bounds, Tally(section, most=0))
            timely = takewhile(lambda chunk: monotonic() < until, chunks)
            return write_document(chunk.encode() for chunk in timely)

    if section not in registry:
        return {}
    try:
        opened = open_section(section)
        with opened.reading():
            if not opened.reader.has_titles:
                return {}
        key = cache_key(
            "titles", section, number, opened.site, opened.source, version, language
        )
        seconds = TITLES_SECONDS if get_settings().live_cache else 0
        document = shared(key, render, seconds)
    except (SitemapsPlusError, LimitExceededError, Error) as error:
        logger.warning("No titles: %s", error, extra={"action": "titles_failed"})
        return {}
    return dict(_TITLE.findall(inflate(document.gzip).decode())) if document else {}


def _link(url: str, lastmod: str, origin: str, title: str) -> Link:
    parts = urlsplit(url)
    path = [name for name in unquote(parts.path).split("/") if name]
    names = path[-1:]
    if names and names[0].isdecimal():  # a number alone says nothing
        names = path[-2:]
    if not names or not url.startswith(f"{origin}/"):
        names.insert(0, parts.netloc)
    last = " / ".join(names) + (f" ?{unquote(parts.query)}" if parts.query else "")
    kind = datetime if len(lastmod) == W3C_LENGTH else date
    moment = kind.fromisoformat(lastmod) if lastmod else None
    return Link(url, unescape(title) or last, moment)


def ask(
    request: HttpRequest, view: Callable[..., HttpResponse], **kwargs: str
) -> HttpResponse:
    """Return a whole sitemap as a crawler gets it, from storage or rendered now."""
    plain = HttpRequest()
    plain.method = "GET"
    ours = ("HTTP_IF_", "HTTP_ACCEPT_ENCODING")  # they ask about the HTML
    meta = request.META.items()
    plain.META = {key: value for key, value in meta if not key.startswith(ours)}
    return view(plain, **kwargs)
