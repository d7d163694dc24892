"""The map: each section as a strip of its pages, and the entries of a page."""

from __future__ import annotations

import re
from contextlib import suppress
from html import unescape
from typing import Any
from urllib.parse import unquote

from django.contrib.admin import AdminSite
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.template.defaultfilters import floatformat
from django.urls import NoReverseMatch
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_safe

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.maintenance.page_map import (
    MapState,
    PageMap,
    read_map,
    section_names,
)
from django_sitemaps_plus.models import Page
from django_sitemaps_plus.site_urls import page_url
from django_sitemaps_plus.sites import in_force
from django_sitemaps_plus.views.crawled import ask, entries_in
from django_sitemaps_plus.views.sitemaps import page

from .pages import chosen_site, known_sites, show

#: Entries that are shown at once.
ENTRIES = 100

# As in the URLs of pages.
_NUMBER = re.compile("[1-9][0-9]{0,8}")


@require_safe
def page_map(request: HttpRequest, admin_site: AdminSite) -> HttpResponse:
    """Show the sections of a site, or one of them, as strips of their pages."""
    sites, fault = known_sites(request)
    context: dict[str, Any] = {"sites": sites, "fault": fault}
    if sites:
        site = chosen_site(request)
        with in_force(site):
            is_one = bool(request.GET.get("section"))
            names = [_section(request, site)] if is_one else section_names(site)
        context |= {"site": site, "sections": names, "is_one": is_one}
        context["states"] = MapState.choices
    return show(request, admin_site, "map", "map.html", **context)


@require_safe
def map_data(request: HttpRequest, admin_site: AdminSite) -> HttpResponse:
    """Answer with the pages of a section as JSON."""
    site = chosen_site(request)
    with in_force(site):
        found = read_map(_section(request, site), site)
    data = {
        "limit": found.limit,
        "notes": _notes(found),
        "file": found.file_url,
        "pages": found.pages,
    }
    return JsonResponse(data, json_dumps_params={"separators": (",", ":")})


@require_safe
def map_entries(request: HttpRequest, admin_site: AdminSite) -> HttpResponse:
    """Show the entries of a page that have a text in their URL."""
    site = chosen_site(request)
    with in_force(site):
        section, number = _section(request, site), _number(request)
        answer, words = _answer(request, site, section, number)
        context = {
            "site": site,
            "section": section,
            "number": number,
            "subtitle": f"{section} {number}",
            "words": words,
        }
        with suppress(NoReverseMatch):
            context["file_url"] = page_url(section, number, site)
    if answer is not None:
        context |= _entries(request, answer)
    return show(request, admin_site, "map", "entries.html", **context)


def _section(request: HttpRequest, site: Site) -> str:
    """Return the section that a request names, or raise Http404."""
    name = request.GET.get("section", "")
    if name not in section_names(site):
        raise Http404("No such section")
    return name


def _number(request: HttpRequest) -> int:
    number = request.GET.get("number", "")
    if not _NUMBER.fullmatch(number):
        raise Http404("No such page")
    return int(number)


def _notes(found: PageMap) -> list[str]:
    notes = []
    if found.is_live:
        notes.append(_("Served live: no build has made pages of this section."))
    if found.next_pages:
        words = ngettext(
            "A new plan of %s page is being built.",
            "A new plan of %s pages is being built.",
            found.next_pages,
        )
        notes.append(words % floatformat(found.next_pages, "g"))
    if found.fault:
        notes.append(_("Its pages are not known: %s") % found.fault)
    elif not found.pages:
        notes.append(_("There are no pages."))
    return notes


def _answer(
    request: HttpRequest, site: Site, section: str, number: int
) -> tuple[HttpResponse | None, str]:
    """Return a page, or why it shows no entries; or raise Http404 for no page."""
    with suppress(Http404):
        answer = ask(request, page, section=section, number=str(number))
        if answer.status_code == 200:
            return answer, ""
        if answer.status_code == 503:
            words = _("The page cannot be read now. The log of the server says why.")
            return None, words
    if Page.objects.served(site.name, section, number) is None:
        raise Http404("No such page")
    return None, _("The page has no entries.")


def _entries(request: HttpRequest, answer: HttpResponse) -> dict[str, Any]:
    """Return the entries that are shown, each with whether its URL may be a link."""
    found, wanted = entries_in(answer), request.GET.get("q", "").strip()
    entries = [it for it in found if _has(unescape(it[0]), wanted.casefold())]
    shown = Paginator(entries, ENTRIES).get_page(request.GET.get("page"))
    rows = [(unescape(loc), lastmod) for loc, lastmod, _rest in shown]
    return {
        "q": wanted,
        "page_obj": shown,
        "all": len(found),
        "pages": shown.paginator.get_elided_page_range(shown.number),
        "entries": [(*it, it[0].startswith(("http://", "https://"))) for it in rows],
    }


def _has(url: str, wanted: str) -> bool:
    return wanted in url.casefold() or wanted in unquote(url).casefold()
