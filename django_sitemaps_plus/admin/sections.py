"""A section: its trend, its pages, what they list, and downloads of it."""

from __future__ import annotations

import csv
import logging
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from io import StringIO
from typing import Any, TypeAlias

from django.contrib.admin import AdminSite
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect
from django.urls import NoReverseMatch, reverse
from django.utils import timezone
from django.utils.encoding import uri_to_iri
from django.utils.http import content_disposition_header
from django.utils.text import slugify
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from django_sitemaps_plus.conf import Site, in_force
from django_sitemaps_plus.core.entry_lines import locations_in
from django_sitemaps_plus.diagnostics import section_pages, site_problems
from django_sitemaps_plus.diagnostics.advice import form_of
from django_sitemaps_plus.diagnostics.conditions import plainly, read_changes
from django_sitemaps_plus.diagnostics.words import shortened
from django_sitemaps_plus.exceptions import SitemapsPlusError
from django_sitemaps_plus.models import Page
from django_sitemaps_plus.models.publications import KEPT_CHANGES
from django_sitemaps_plus.publishing.prune import removed_sections
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.section import open_section
from django_sitemaps_plus.site_urls import page_url
from django_sitemaps_plus.sites import silence_reason
from django_sitemaps_plus.views.html_site_map import ask
from django_sitemaps_plus.views.sitemaps import page

from .actions import allowed_actions
from .pages import Viewer, chosen_site, show

logger = logging.getLogger(__name__)

#: Entries that are shown at once.
ENTRIES = 100

#: How URLs begin that are shown as links.
WEB = ("http://", "https://")

#: Rows of a file, of which the cells may be of any type.
Rows: TypeAlias = list[Sequence[Any]]

_UNREAD = gettext_lazy("The page cannot be read now. The log of the server says why.")

#: The kinds of URL changes in words.
_CHANGES = {
    "added": gettext_lazy("added"),
    "updated": gettext_lazy("updated"),
    "removed": gettext_lazy("removed"),
}

# Spreadsheets run a cell that begins so.
_RUN = ("=", "+", "-", "@", "\t", "\r")

# As in the URLs of pages.
_NUMBER = re.compile("[1-9][0-9]{0,8}")


@dataclass(frozen=True, slots=True)
class Trend:
    """Numbers of days, drawn as an area with a step for each."""

    title: str
    values: Sequence[float | None]

    @property
    def highest(self) -> float:
        """The number at the top of the axis."""
        return max([1, *[value or 0 for value in self.values]])

    @property
    def path(self) -> str:
        """The area as the path of an SVG: 1 wide for each day, and 100 high.

        The first day is the first that is known.
        """
        top, known = self.highest, [it for it in self.values if it is not None]
        first = len(self.values) - len(known)
        heights = [100 - 100 * value / top for value in known]
        steps = [
            f"V{height:.2f}H{day}" for day, height in enumerate(heights, first + 1)
        ]
        return f"M{first} 100{''.join(steps)}V100Z"


def drawn(trends: Sequence[Trend]) -> dict[str, Any]:
    """Return what shows trends of the last 30 days, and their numbers."""
    days = section_pages.last_days()
    rows = zip(*[it.values for it in trends], strict=True)
    numbers = [*zip(days, rows, strict=True)][::-1]
    return {"trends": trends, "days": numbers, "ends": (days[0], days[-1])}


@require_safe
def section_page(request: HttpRequest, admin_site: AdminSite) -> HttpResponse:
    """Show how a section is read, its trend, a search, and its pages from one on."""
    site, word = chosen_site(request), request.GET.get("q", "").strip()
    form: Any = ""
    with in_force(site):
        name = _section(request, site)
        if word.lower().startswith(WEB):
            view, url = "admin:sitemaps_plus_dashboard_url", {"url": word}
            return redirect(reverse(view, current_app=admin_site.name, query=url))
        first = _number(request, "from") if request.GET.get("from") else None
        found = section_pages.read_pages(name, site, first)
        history = section_pages.read_history(name, site)
        changes = read_changes(name, site)
        if silence := silence_reason():
            silence = _("Engines are not notified: %s") % silence
        # Sections that are gone, or whose source fails, have no form.
        with suppress(SitemapsPlusError):
            section = open_section(name, site)
            with section.reading():
                form = form_of(section.source)
        say = Viewer(request, admin_site).words
        pages = [(replace(it, error=say(it.error)), "") for it in found.pages]
        with suppress(NoReverseMatch):
            pages = [(it, page_url(name, it.number, site)) for it, _url in pages]
        result = None
        if word and pages:
            numbers = section_pages.page_numbers(name, site)
            result = section_pages.search(word, numbers, _reader(request, name))

    notes = [*filter(None, [found.refused])]
    if found.is_live:
        notes.append(_("Served live: no build has made pages of this section."))
    if found.has_next_plan:
        notes.append(_("All of its pages are being built anew."))
    if found.fault:
        words = _("It could not be built: %s")
        if found.is_live and not found.pages:
            words = _("Its pages are not known: %s")
        notes.append(words % shortened(say(found.fault)))
    elif not found.pages:
        notes.append(_("There are no pages."))
    elif first and found.pages[0].number != first:
        notes.append(_("There is no such page."))

    is_empty = history["entries"][-1] is None
    trends = [
        Trend(_("Entries"), history["entries"]),
        Trend(_("Published pages"), history["pages"]),
        Trend(_("Rows left out"), history["skipped"]),
    ]
    yesterday = timezone.now() - timedelta(days=1)
    day = Counter([_CHANGES[it["kind"]] for it in changes if it["at"] > yesterday])
    context = {
        "site": site,
        "section": name,
        "subtitle": name,
        "day": day.items(),
        "is_day_cut": day.total() == KEPT_CHANGES,
        "form": form,
        "rate": history["rate"][-1],
        "notes": notes,
        "found": found,
        "pages": pages,
        "drawn": {} if found.is_live or is_empty else drawn(trends),
        "changes": [
            (it, uri_to_iri(it["url"]), it["url"].startswith(WEB), _CHANGES[it["kind"]])
            for it in changes
        ],
        "silence": silence,
        "actions": allowed_actions(request.user),
        "q": word,
        "search": result,
    }
    return show(request, admin_site, "changelist", "section.html", **context)


@require_safe
def page_entries(request: HttpRequest, admin_site: AdminSite) -> HttpResponse:
    """Show the entries of a page that have a text in their URL."""
    site = chosen_site(request)
    with in_force(site):
        section, number = _section(request, site), _number(request, "number")
        text = _reader(request, section)(number)
        if text == "" and Page.objects.served(site.name, section, number) is None:
            raise Http404("No such page")
        context = {
            "site": site,
            "section": section,
            "number": number,
            "subtitle": f"{section} {number}",
        }
        with suppress(NoReverseMatch):
            context["file_url"] = page_url(section, number, site)
    if text:
        word = request.GET.get("q", "").strip()
        entries = [*section_pages.entries_with(word, text)]
        shown = Paginator(entries, ENTRIES).get_page(request.GET.get("page"))
        context |= {
            "q": word,
            "page_obj": shown,
            "all": len(locations_in(text)),
            "pages": shown.paginator.get_elided_page_range(shown.number),
            "entries": [
                (url, uri_to_iri(url), lastmod, url.startswith(WEB))
                for url, lastmod in shown.object_list
            ],
        }
    else:
        context["words"] = _UNREAD if text is None else _("The page has no entries.")
    return show(request, admin_site, "changelist", "entries.html", **context)


@require_safe
def section_csv(
    request: HttpRequest, admin_site: AdminSite, kind: str
) -> StreamingHttpResponse:
    """Send the entries of a section, or what it leaves out, page by page as CSV."""
    if kind not in ("entries", "left-out"):
        raise Http404("No such file")
    site = chosen_site(request)
    with in_force(site):
        section = _section(request, site)
    pages = _rows(request, admin_site, site, section, kind)

    def lines() -> Iterator[str]:
        rows: Rows | None = []
        mark = "\ufeff"  # by which spreadsheets know UTF-8
        try:
            while rows is not None:
                if rows:
                    yield mark + _csv(rows)
                    mark = ""
                with in_force(site):  # never while the server sends a page
                    rows = next(pages, None)
        except Exception:  # the status is sent, so the file itself has to say it
            extra = {"action": "csv_failed"}
            logger.exception("A file of section %r broke off", section, extra=extra)
            yield _csv(
                [[_("The file is not complete. The log of the server says why.")]]
            )

    response = StreamingHttpResponse(lines(), content_type="text/csv; charset=utf-8")
    name = f"{slugify(section, allow_unicode=True) or 'section'}-{kind}.csv"
    response["Content-Disposition"] = content_disposition_header(True, name)
    return response


def _rows(
    request: HttpRequest, admin_site: AdminSite, site: Site, section: str, kind: str
) -> Iterator[Rows]:
    """Yield the header of a file, and the rows of one page after another."""
    if kind == "entries":
        yield [("url", "lastmod", "page")]
        read = _reader(request, section)
        for number in section_pages.page_numbers(section, site):
            text = read(number)
            entries = section_pages.entries_with("", text or "")
            bad = [(_UNREAD, "")] if text is None else []
            yield [(url, lastmod, number) for url, lastmod in [*bad, *entries]]
        return
    yield [("row", "model", "key", "field", "reason", "page")]
    for number, count, problems in site_problems.left_out_of(section, site):
        wanted = {(it.model, it.key) for it in problems if it.model}
        shown = Viewer(request, admin_site).names(wanted)
        rows: Rows = []
        for it in problems:
            place = it.model, it.key
            if not it.model or place in shown:
                is_whole = shown.get(place, site_problems.NOBODY)[2]()
                reason = plainly(it.reason, is_whole=is_whole)
                rows.append((it.row, *place, it.field, reason, number))
        if (more := count - len(rows)) > 0:
            rows.append((_("Others that are not named: %s") % more, *[""] * 4, number))
        yield rows


def _csv(rows: Rows) -> str:
    """Return rows as CSV; before what a spreadsheet would run comes an apostrophe."""
    text = StringIO()
    for row in rows:
        safe = [f"'{it}" if str(it).startswith(_RUN) else it for it in row]
        csv.writer(text).writerow(safe)
    return text.getvalue()


def _section(request: HttpRequest, site: Site) -> str:
    name = request.GET.get("section", "")
    if name not in {*registry, *removed_sections(site)}:
        raise Http404("No such section")
    return name


def _number(request: HttpRequest, name: str) -> int:
    number = request.GET.get(name, "")
    if not _NUMBER.fullmatch(number):
        raise Http404("No such page")
    return int(number)


def _reader(request: HttpRequest, section: str) -> section_pages.Read:
    """Return what reads pages of a section as crawlers get them; "" for no page."""

    def read(number: int) -> str | None:
        with suppress(Http404):
            answer = ask(request, page, section=section, number=str(number))
            if answer.status_code in (200, 503):
                return answer.text if answer.status_code == 200 else None
        return ""

    return read
