"""The index: the list of all pages with entries, stored or made on request."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from django.db import Error
from django.db.models import QuerySet

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.core.compression import Document, write_document
from django_sitemaps_plus.core.limits import MAX_ENTRIES
from django_sitemaps_plus.core.plan import KeyRange
from django_sitemaps_plus.core.renderers import IndexItem, render_index
from django_sitemaps_plus.exceptions import BuildError
from django_sitemaps_plus.models import INDEX, Page, Section
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.sources import Tally, rendering
from django_sitemaps_plus.sources.route import compile_route

from .page import PageJob, store_page
from .plans import live_plan
from .publisher import flip


def render_site_index(site: Site, *, live: bool) -> tuple[Document | None, int]:
    """Render the index of a site from its page rows.

    Args:
        site: the site.
        live: whether sections that are not built are listed as well, by the plans
            that they are served by.

    Returns:
        The document, None without any page; and the number of pages in it.

    Raises:
        BuildError: more pages than one index may list, or a source failed.
    """
    items = list(_items(site, live=live))
    if not items:
        return None, 0
    if len(items) > MAX_ENTRIES:
        raise BuildError(
            f"{len(items):,} pages: an index lists at most {MAX_ENTRIES:,}. Raise the "
            "limit of the largest sources."
        )
    return write_document(render_index(items)), len(items)


def _items(site: Site, *, live: bool) -> Iterator[IndexItem]:
    try:
        built = _built_pages(site)
    except Error:
        if not live:
            raise
        built = {}  # not migrated yet, or our tables are out of reach
    with rendering(site):
        url = compile_route("sitemaps_plus:page", ("section", "number"))
        for section in registry:
            pages = built.get(section)
            if pages is None and live:
                plan = live_plan(section, site)
                total = 0 if plan is None or plan.is_empty else len(plan.ranges)
                pages = [(number, None) for number in range(1, total + 1)]
            for number, lastmod in pages or ():
                yield IndexItem(site.origin + url((section, number)), lastmod)


def _built_pages(site: Site) -> dict[str, list[tuple[int, datetime | None]]]:
    """Return number and lastmod of the listed pages of each section with a plan."""
    rows = (
        Page.objects.filter(section__site=site.name)
        .exclude(section__name=INDEX)
        .order_by("section_id", "number")
        .values_list("section__name", "number", "lastmod", "object")
    )
    found: dict[str, list[tuple[int, datetime | None]]] = {}
    for section, number, lastmod, stored in rows:
        pages = found.setdefault(section, [])
        if stored:
            pages.append((number, lastmod))
    return found


def index_rows(site: Site) -> QuerySet[Page]:
    """Return the published index of a site, as page rows."""
    return Page.objects.of(site.name, INDEX)


def may_publish_index(site: Site) -> bool:
    """Return whether an index is published, or would name every registered section.

    Until each was built once, a first index is rendered live, which names them all.
    One that is published follows its sections, even while a new one awaits its build.
    """
    if index_rows(site).exists():
        return True
    built = Section.objects.filter(site=site.name, pages__isnull=False)
    return set(registry) <= set(built.values_list("name", flat=True))


def publish_index(site: Site) -> int:
    """Store and publish the index of what is published, if it has changed.

    Returns:
        How many pages it lists.

    Raises:
        BuildError: it could not be made or stored, or another build was faster.
    """
    section, _ = Section.objects.get_or_create(site=site.name, name=INDEX)
    row = section.pages.first()
    document, total = render_site_index(site, live=False)
    job = PageJob(
        section=INDEX,
        number=0,
        key_range=KeyRange(),
        site=site,
        known_hash=row.plain_hash if row else "",
        known_object=row.object if row else "",
        known_size=row.gzip_size if row else 0,
    )
    flip(section, [store_page(job, document, Tally(INDEX, entries=total))])
    return total
