"""A section: its trend, its pages, and the entries of one of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from html import unescape
from urllib.parse import unquote

from django.contrib.admin import AdminSite
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import NoReverseMatch
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.core.entry_lines import entries_in
from django_sitemaps_plus.diagnostics.problems import shortened
from django_sitemaps_plus.diagnostics.section_pages import (
    read_history,
    read_pages,
)
from django_sitemaps_plus.models import Page
from django_sitemaps_plus.publishing.prune import removed_sections
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.site_urls import page_url
from django_sitemaps_plus.sites import in_force
from django_sitemaps_plus.views.html_site_map import ask
from django_sitemaps_plus.views.sitemaps import page

from .pages import chosen_site, show

#: Entries that are shown at once.
ENTRIES = 100

# As in the URLs of pages.
_NUMBER = re.compile("[1-9][0-9]{0,8}")


@dataclass(frozen=True, slots=True)
class Trend:
    """Numbers of days, drawn as an area with a step for each."""

    title: str
    values: Sequence[float | None]

    @property
    def highest(self) -> float:
        """The number that reaches to the top."""
        return max([value or 0 for value in self.values])

    @property
    def path(self) -> str:
        """The area as the path of an SVG: 1 wide for each day, and 100 high.

        The first day is the first that is known.
        """
        top, known = self.highest or 1, [it for it in self.values if it is not None]
        first = len(self.values) - len(known)
        heights = [100 - 100 * value / top for value in known]
        steps = [
            f"V{height:.2f}H{day}" for day, height in enumerate(heights, first + 1)
        ]
        return f"M{first} 100{''.join(steps)}V100Z"


@require_safe
def section_page(request: HttpRequest, admin_site: AdminSite) -> HttpResponse:
    """Show the trend of a section, and its pages from one of them on."""
    site = chosen_site(request)
    with in_force(site):
        name = _section(request, site)
        first = _number(request, "from") if request.GET.get("from") else None
        found = read_pages(name, site, first)
        history = read_history(name, site)

    notes = []
    if found.is_live:
        notes.append(_("Served live: no build has made pages of this section."))
    if found.has_next_plan:
        notes.append(_("A new plan of its pages is being built."))
    if found.fault:
        notes.append(_("Its pages are not known: %s") % shortened(found.fault))
    elif not found.pages:
        notes.append(_("There are no pages."))
    elif first and found.pages[0].number != first:
        notes.append(_("There is no such page."))

    trends = [
        Trend(_("Entries"), history.entries),
        Trend(_("Pages rendered in a day"), history.rendered),
    ]
    rows = zip(history.days, history.entries, history.rendered, strict=True)
    context = {
        "site": site,
        "section": name,
        "subtitle": name,
        "notes": notes,
        "found": found,
        "trends": [] if found.is_live or history.is_empty else trends,
        "days": [*rows][::-1],
    }
    return show(request, admin_site, "changelist", "section.html", **context)


@require_safe
def page_entries(request: HttpRequest, admin_site: AdminSite) -> HttpResponse:
    """Show the entries of a page that have a text in their URL."""
    site = chosen_site(request)
    with in_force(site):
        section, number = _section(request, site), _number(request, "number")
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
        found, wanted = entries_in(answer.text), request.GET.get("q", "").strip()
        word = wanted.casefold()
        entries = []
        for escaped, lastmod, _rest in found:
            url = unescape(escaped)
            if word in url.casefold() or word in unquote(url).casefold():
                is_link = url.startswith(("http://", "https://"))
                entries.append((url, lastmod, is_link))
        shown = Paginator(entries, ENTRIES).get_page(request.GET.get("page"))
        context |= {
            "q": wanted,
            "page_obj": shown,
            "all": len(found),
            "pages": shown.paginator.get_elided_page_range(shown.number),
            "entries": shown.object_list,
        }
    return show(request, admin_site, "changelist", "entries.html", **context)


def _section(request: HttpRequest, site: Site) -> str:
    """Return the section that a request names, or raise Http404."""
    name = request.GET.get("section", "")
    if name not in {*registry, *removed_sections(site)}:
        raise Http404("No such section")
    return name


def _number(request: HttpRequest, name: str) -> int:
    number = request.GET.get(name, "")
    if not _NUMBER.fullmatch(number):
        raise Http404("No such page")
    return int(number)


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
