"""Live pages and indexes: render them on request, and keep them for a while."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from functools import partial

from django.db import Error

from django_sitemaps_plus.cache import recall, remember
from django_sitemaps_plus.conf import Site, get_settings
from django_sitemaps_plus.core.gzip import Document, write_document
from django_sitemaps_plus.core.key_ranges import KeyRange
from django_sitemaps_plus.core.limits import LimitExceededError
from django_sitemaps_plus.core.renderers import render_index
from django_sitemaps_plus.exceptions import BuildError, SourceError, StalePlanError
from django_sitemaps_plus.models import INDEX, Page
from django_sitemaps_plus.models.listing import Listed, listed_pages
from django_sitemaps_plus.outages import is_outage
from django_sitemaps_plus.planning import Plan, bounded_plan, first_plan
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.rendering import render_page
from django_sitemaps_plus.site_urls import index_lines

from .single_flight import SingleFlight, patience

logger = logging.getLogger(__name__)

#: Gzipped bytes of a page above which it is not kept.
MAX_BYTES = 1_000_000

# To be raised when Plan or Document changes: while a release is rolled out, the old
# one and the new one share a cache.
_FORMAT = 2


def live_index(number: int, site: Site, row: Page | None) -> Document | None:
    """Return an index as its pages are now; None where it would list none.

    With a row it is kept until a page is published.

    Raises:
        SourceError, DatabaseError: rows of a source, or ours, could not be read.
    """
    render = partial(_render_index, number, site, has_rows=row is not None)
    if row is None:
        return render()
    return _shared(
        _key("page", INDEX, number, site, list(registry), row.wanted), render
    )


def live_page(
    section: str, number: int, site: Site, row: Page | None
) -> Document | None:
    """Return a page as its source is now; None where it would have no entries.

    Without a row it is a page of the live plan.

    Raises:
        SourceError: the source could not be read.
        BuildError: only a build can split the page.
    """
    if row is None:
        render = partial(_render_unplanned, section, number, site)
    else:
        render = partial(_render_planned, section, KeyRange(row.low, row.high), site)
    return _shared(_page_key(section, number, site), render)


def live_plan(section: str, site: Site) -> Plan | None:
    """Return the plan by which a section is served while it is not built.

    None for a section without entries. One of more than LIVE_MAX_ROWS rows has no
    ranges: it is absent until it is built.
    """
    make, seconds = partial(_make_plan, section, site), get_settings().plan_seconds
    return SingleFlight(_plan_key(section, site), Plan, seconds, make).value()


def _shared(key: str, render: Callable[[], Document | None]) -> Document | None:
    seconds = get_settings().live_cache_seconds
    return SingleFlight(key, Document, seconds, render, _is_small).value()


def _is_small(document: Document) -> bool:
    return len(document.gzip) < MAX_BYTES


def _key(kind: str, section: str, *parts: object) -> str:
    digest = hashlib.sha256(repr((_FORMAT, *parts)).encode()).hexdigest()[:24]
    return f"{kind}:{section}:{digest}"


def _page_key(section: str, number: int, site: Site) -> str:
    return _key("page", section, number, site, registry.get(section))


def _plan_key(section: str, site: Site) -> str:
    source = registry.get(section)
    limits = (source.limit, get_settings().live_max_rows)
    return _key("plan", section, site, source, limits)


def _render_index(number: int, site: Site, *, has_rows: bool) -> Document | None:
    try:
        listed, planned = listed_pages(site.name, registry, number)
    except Error as error:
        if has_rows or is_outage(error):
            raise
        listed, planned = {}, set()  # our tables may not exist yet
    if not number:
        _list_unplanned(listed, planned, site)
    lines = index_lines(site, listed)
    return write_document(render_index(lines)) if lines else None


def _list_unplanned(listed: Listed, planned: set[str], site: Site) -> None:
    """List the sections that have no plan yet by the plans they are served by."""
    with patience():  # one for all sections together
        for name in registry:
            if name not in listed and name not in planned:
                plan = live_plan(name, site)
                numbers = range(1, len(plan.ranges) + 1) if plan else ()
                listed[name] = [(name, number, "") for number in numbers]


def _render_planned(section: str, bounds: KeyRange, site: Site) -> Document | None:
    """Render a planned page that is not built, or whose object is damaged."""
    try:
        # Rows may have come in since it was planned, and only a build splits it.
        return render_page(section, bounds, site, is_roomy=True).document
    except (LimitExceededError, StalePlanError) as error:
        raise BuildError(f"section {section!r} awaits a build: {error}") from error


def _render_unplanned(section: str, number: int, site: Site) -> Document | None:
    """Render a page of a live plan; where one does not fit, the section is replanned.

    First with as many rows a page, since rows have come in; then with half as many.
    """
    plan = live_plan(section, site)
    step = plan.step if plan else 0
    if kept := recall(_page_key(section, number, site), Document):
        return kept  # an only page is rendered for its plan
    while plan and number <= len(plan.ranges):
        try:
            return render_page(section, plan.ranges[number - 1], site).document
        except (LimitExceededError, StalePlanError):
            plan = _smaller_plan(section, site, step)
            step //= 2
    return None


def _smaller_plan(section: str, site: Site, step: int) -> Plan:
    if step < 1:
        raise SourceError(f"section {section!r}: one row alone fills more than a page")
    plan = first_plan(section, site, step)
    remember(_plan_key(section, site), plan, get_settings().plan_seconds)
    return plan


def _make_plan(section: str, site: Site) -> Plan | None:
    """Make a plan; the only page of one is rendered, to see if it lists anything."""
    limit = get_settings().live_max_rows
    plan = bounded_plan(section, site, limit)
    if plan is None:
        logger.error(
            "Section %r has more than %s rows (LIVE_MAX_ROWS) and is not built, so it "
            "is left out. Run: manage.py build_sitemaps %s",
            section,
            limit,
            section,
            extra={"action": "section_too_large", "section": section},
        )
        return Plan([], 0)  # kept, so that the rows are not counted again
    if len(plan.ranges) > 1:
        return plan
    try:
        page = render_page(section, plan.ranges[0], site).document
    except LimitExceededError:
        return plan
    if page is not None and _is_small(page):
        seconds = get_settings().live_cache_seconds
        remember(_page_key(section, 1, site), page, seconds)
    return plan if page else None
