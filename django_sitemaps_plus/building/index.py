"""The index: the list of all pages with entries, stored or made on request."""

from __future__ import annotations

from datetime import timedelta
from itertools import groupby
from operator import itemgetter
from typing import Any

from django.db import Error
from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.core.gzip import Document, write_document
from django_sitemaps_plus.core.limits import MAX_ENTRIES
from django_sitemaps_plus.core.renderers import page_lines, render_index
from django_sitemaps_plus.models import INDEX, Page, Section, State
from django_sitemaps_plus.models.prepared import fetch
from django_sitemaps_plus.outages import is_outage
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.serving.plans import live_plan
from django_sitemaps_plus.serving.single_flight import patience
from django_sitemaps_plus.sources import Tally, surroundings
from django_sitemaps_plus.sources.route import compile_route

from .store import BuiltPage, store_page

#: How long the pages of a section that is no longer registered stay listed: while a
#: deploy is rolled out, some processes do not know a section that others do.
MISSING_GRACE = timedelta(hours=24)

_Listed = tuple[Any, int, str]  # section, number and lastmod of a page

# A number that stands for any other in the URL of a page.
_SAMPLE = 123_456_789


def build_index_page(page: Page, site: Site) -> BuiltPage:
    """Render an index from the page rows, and store it where it has changed.

    Raises:
        StoreError: the storage failed.
    """
    document, total = render_site_index(site, page.number, live=False)
    return store_page(page, document, Tally(INDEX, entries=total))


def render_site_index(
    site: Site,
    number: int = 0,
    *,
    live: bool,
    has_rows: bool = True,
) -> tuple[Document | None, int]:
    """Render an index of a site from its page rows.

    Args:
        site: the site.
        number: 0 for the first index, 2 and on for the others.
        live: whether sections that have no plan yet are listed as well, by the plans
            that they are served by.
        has_rows: False where our own tables may not exist: then every section is
            listed as one without a plan.

    Returns:
        The document, None without any page; and the number of pages in it.

    Raises:
        SourceError: a section without a plan could not be read.
        DatabaseError: the page rows could not be read.
    """
    try:
        planned, listed = _listed(site, number)
    except Error as error:
        if has_rows or is_outage(error):
            raise
        planned, listed = set[str](), {}
    if live and not number:
        with patience():  # one for all sections together
            for name in registry:
                if name not in listed and name not in planned:
                    listed[name] = _unplanned(site, name)
    lines = _lines(site, listed)
    if not lines:
        return None, 0
    return write_document(render_index(lines)), len(lines)


def _lines(site: Site, listed: dict[str, list[_Listed]]) -> list[str]:
    names = [*registry, *(name for name in listed if name not in registry)]
    lines: list[str] = []
    with surroundings(site):
        url = compile_route("sitemaps_plus:page", ("section", "number"))
        for section in names:
            sample = site.origin + url((section, _SAMPLE))
            lines += page_lines(sample, _SAMPLE, listed.get(section, []))
    return lines[:MAX_ENTRIES]


def _listed(site: Site, number: int) -> tuple[set[str], dict[str, list[_Listed]]]:
    """Return the sections that have a plan, and the pages that an index lists of each.

    Sections are asked for first: one that is planned meanwhile counts as one without,
    and is listed all the same.
    """
    sections = fetch(_sections, site.name, tuple(registry))
    names = {pk: name for pk, name, _ in sections}
    ids = tuple(sorted(names))
    first = max(number - 1, 0) * MAX_ENTRIES
    rows = fetch(_pages, ids, first, first + MAX_ENTRIES)
    if not rows and not number and (places := fetch(_first_place, ids)):
        # A new plan of very many pages has left it empty. Who knows no other index
        # finds those of the next one in it.
        first = places[0][0] // MAX_ENTRIES * MAX_ENTRIES
        rows = fetch(_pages, ids, first, first + MAX_ENTRIES)
    # They come about in this order, so to sort them here is faster than there.
    rows.sort()
    by_section = groupby(rows, itemgetter(0))
    listed = {names[pk]: list(pages) for pk, pages in by_section}
    return {name for _, name, next_number in sections if next_number > 1}, listed


def _sections(site: str, registered: tuple[str, ...]) -> QuerySet[Section, Any]:
    recent = Q(missing_since__gt=Now() - MISSING_GRACE) | Q(missing_since=None)
    known = Section.objects.filter(Q(name__in=registered) | recent, site=site)
    return known.exclude(name=INDEX).values_list("pk", "name", "next_number")


def _pages(sections: tuple[int, ...], first: int, end: int) -> QuerySet[Page, Any]:
    # Without the name of its section, which is the same in thousands of rows.
    pages = Page.objects.listed().filter(section__in=sections)
    pages = pages.filter(index_position__gte=first, index_position__lt=end)
    return pages.values_list("section_id", "number", "lastmod")


def _first_place(sections: tuple[int, ...]) -> QuerySet[Page, Any]:
    pages = Page.objects.listed().filter(section__in=sections)
    return pages.order_by("index_position").values_list("index_position")[:1]


def _unplanned(site: Site, section: str) -> list[_Listed]:
    plan = live_plan(section, site)
    total = 0 if plan is None or plan.is_empty else len(plan.ranges)
    return [(section, number, "") for number in range(1, total + 1)]


def may_publish_index(site: Site) -> bool:
    """Return whether a first index would name every registered section.

    Until each page was built once, it is rendered live, which names them all. One that
    is published follows its sections, even while a new one awaits its build.
    """
    sections = Section.objects.filter(site=site.name, name__in=list(registry))
    planned = sections.filter(pages__isnull=False).distinct().count()
    unbuilt = Page.objects.filter(section__in=sections, built=0, state=State.ACTIVE)
    return planned == len(registry) and not unbuilt.exists()
