"""The index: the list of all pages with entries, stored or made on request."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from django.db import Error
from django.db.models import Q
from django.utils import timezone

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.core.compression import Document, write_document
from django_sitemaps_plus.core.limits import MAX_ENTRIES
from django_sitemaps_plus.core.renderers import IndexItem, render_index
from django_sitemaps_plus.models import INDEX, Page, Section, State
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.sources import Tally, rendering
from django_sitemaps_plus.sources.route import compile_route

from .page import BuiltPage, store_page
from .plans import live_plan

#: How long the pages of a section that is no longer registered stay listed: while a
#: deploy is rolled out, some processes do not know a section that others do.
MISSING_GRACE = timedelta(hours=24)

_Listed = tuple[int, datetime | None]


def build_index_page(page: Page, site: Site) -> BuiltPage:
    """Render an index from the page rows, and store it where it has changed.

    Raises:
        StoreError: the storage failed.
    """
    document, total = render_site_index(site, page.number, live=False)
    return store_page(page, document, Tally(INDEX, entries=total))


def render_site_index(
    site: Site, number: int = 0, *, live: bool
) -> tuple[Document | None, int]:
    """Render an index of a site from its page rows.

    Args:
        site: the site.
        number: 0 for the first index, 2 and on for the others.
        live: whether sections that have no plan yet are listed as well, by the plans
            that they are served by.

    Returns:
        The document, None without any page; and the number of pages in it.

    Raises:
        SourceError: a section without a plan could not be read.
    """
    items = list(_items(site, number, live=live))[:MAX_ENTRIES]
    if not items:
        return None, 0
    return write_document(render_index(items)), len(items)


def _items(site: Site, number: int, *, live: bool) -> Iterator[IndexItem]:
    try:
        planned = _planned(site, number)
    except Error:
        if not live:
            raise
        planned = {}  # not migrated yet, or our tables are out of reach
    names = [*registry, *(name for name in planned if name not in registry)]
    with rendering(site):
        url = compile_route("sitemaps_plus:page", ("section", "number"))
        for section in names:
            pages = planned.get(section)
            if pages is None:
                pages = _unplanned(site, section) if live and not number else []
            for page, lastmod in pages:
                if lastmod is not None and timezone.is_naive(lastmod):  # USE_TZ = False
                    zone = timezone.get_default_timezone()
                    lastmod = timezone.make_aware(lastmod, zone)
                yield IndexItem(site.origin + url((section, page)), lastmod)


def _planned(site: Site, number: int) -> dict[str, list[_Listed]]:
    """Return number and lastmod of the listed pages of each section with a plan."""
    first = max(number - 1, 0) * MAX_ENTRIES
    rows = (
        Page.objects.filter(section__site=site.name, state=State.ACTIVE)
        .exclude(section__name=INDEX)
        .filter(_is_known())
        .order_by("section_id", "number")
        .values_list("section__name", "number", "lastmod", "entries", "built", "place")
    )
    found: dict[str, list[_Listed]] = {}
    for section, page, lastmod, entries, built, place in rows:
        pages = found.setdefault(section, [])
        if first <= place < first + MAX_ENTRIES and (entries or not built):
            pages.append((page, lastmod))
    return found


def _is_known() -> Q:
    recent = Q(section__missing_since__gt=timezone.now() - MISSING_GRACE)
    return recent | Q(section__missing_since=None)


def _unplanned(site: Site, section: str) -> list[_Listed]:
    plan = live_plan(section, site)
    total = 0 if plan is None or plan.is_empty else len(plan.ranges)
    return [(number, None) for number in range(1, total + 1)]


def may_publish_index(site: Site) -> bool:
    """Return whether an index is published, or would name every registered section.

    Until each page was built once, a first index is rendered live, which names them
    all. One that is published follows its sections, even while a new one awaits its
    build.
    """
    if Page.objects.of(site.name, INDEX).filter(built__gt=0).exists():
        return True
    sections = Section.objects.filter(site=site.name, name__in=list(registry))
    planned = sections.filter(pages__isnull=False).distinct().count()
    unbuilt = Page.objects.filter(section__in=sections, built=0, state=State.ACTIVE)
    return planned == len(registry) and not unbuilt.exists()
