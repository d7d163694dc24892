"""What crawlers fetch: the index and the pages, from storage or rendered on request."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import wraps

from django.db import Error
from django.http import Http404, HttpRequest, HttpResponse

from django_sitemaps_plus.building.index import render_site_index
from django_sitemaps_plus.building.lost import note_lost
from django_sitemaps_plus.conf import Site, get_site
from django_sitemaps_plus.core.gzip import Document
from django_sitemaps_plus.core.key_ranges import KeyRange
from django_sitemaps_plus.core.limits import LimitExceededError
from django_sitemaps_plus.exceptions import (
    BuildError,
    SitemapsPlusError,
    StalePlanError,
    StoreError,
)
from django_sitemaps_plus.models import INDEX, Page, Section
from django_sitemaps_plus.outages import is_outage
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.rendering import render_page
from django_sitemaps_plus.serving.live import shared
from django_sitemaps_plus.serving.plans import render_live

from .responses import Content, gone, read_only, respond, unavailable

logger = logging.getLogger(__name__)


def _put_off(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Make a view answer 503 where not even its first rows can be read."""

    @wraps(view)
    def call(*args: HttpRequest | str, **kwargs: str | bool) -> HttpResponse:
        try:
            return view(*args, **kwargs)
        except Error:
            logger.exception("Rows cannot be read", extra={"action": "rows_failed"})
            return unavailable()

    return call


@read_only
@_put_off
def index(
    request: HttpRequest, number: str = "0", as_file: bool = False
) -> HttpResponse:
    """Answer with the list of the site's pages.

    While pages are being published, the list is made from their rows, once for all who
    ask until the next of them is, so it never lags behind them. Where it cannot be
    made, the one that was published last is better than none.

    Args:
        request: any GET or HEAD; nothing in it changes what is answered, but its
            conditions and the codings that it accepts.
        number: 2 and on for the lists after the first.
        as_file: answer with the gzip file, not with a gzip-encoded document.
    """
    site = get_site(request)
    row = _row(site, INDEX, number)
    if row is None and number != "0":
        raise Http404("No such index")

    def render() -> Document | None:
        has_rows = row is not None
        return render_site_index(site, int(number), live=True, has_rows=has_rows)[0]

    def live() -> Document | None:
        if row is None:
            return render()
        return shared(INDEX, int(number), site, render, row.wanted)

    is_current = row is not None and row.built == row.wanted
    return _answer(request, row if is_current else None, live, as_file, row)


@read_only
@_put_off
def page(
    request: HttpRequest, section: str, number: str, as_file: bool = False
) -> HttpResponse:
    """Answer with one page of a section.

    404 where it does not exist yet or has no entries, 410 where it once existed.
    """
    site = get_site(request)
    row = _row(site, section, number)
    if section not in registry and row is None:
        highest = _highest_number(site, section)
        if highest is not None and int(number) <= highest:
            return gone()
        raise Http404(f"No section {section!r}")

    def render() -> Document | None:
        if row is not None:
            return _rendered(section, row, site)
        highest = _highest_number(site, section)
        if highest is None:
            rendered = render_live(section, int(number), site)
            return rendered.document if rendered else None
        raise _Gone if int(number) <= highest else Http404("No such page")

    def live() -> Document | None:
        return shared(section, int(number), site, render)

    return _answer(request, row, live, as_file)


class _Gone(Exception):
    """A page that was merged into another, or that a new plan has not."""


def _highest_number(site: Site, section: str) -> int | None:
    """Return the highest page number ever used; None where there is no plan."""
    rows = Section.objects.filter(site=site.name, name=section, next_number__gt=1)
    try:
        found = rows.values_list("next_number", flat=True).first()
    except Error as error:
        if is_outage(error):
            raise
        return None  # as in _row()
    return None if found is None else found - 1


def _rendered(section: str, row: Page, site: Site) -> Document | None:
    """Render the rows of a planned page that is not built, or whose object is lost."""
    bounds = KeyRange(row.low, row.high)
    try:
        # Rows may have come in since it was planned, and only a build splits it.
        return render_page(section, bounds, site, is_roomy=True).document
    except (LimitExceededError, StalePlanError) as error:
        raise BuildError(f"section {section!r} awaits a build: {error}") from error


def _row(site: Site, section: str, number: str) -> Page | None:
    try:
        return Page.objects.served(site.name, section, int(number))
    except Error as error:
        if is_outage(error):
            raise  # a live plan has other pages than those that are published
        # Not migrated yet; the sources may be.
        logger.exception("Page rows cannot be read", extra={"action": "rows_failed"})
        return None


def _answer(
    request: HttpRequest,
    row: Page | None,
    live: Callable[[], Document | None],
    as_file: bool,
    last: Page | None = None,
) -> HttpResponse:
    """Answer from the published object, else with what is rendered now.

    Where that fails, with what was published last.
    """
    if row is not None and row.built and not row.object:
        raise Http404("No entries")
    try:
        if row is not None and row.object:
            try:
                return respond(request, Content.of_page(row), as_file)
            except StoreError as error:
                logger.error("%s", error, extra={"action": "object_lost"})
                note_lost(row)
        document = live()
    except _Gone:
        return gone()
    except (SitemapsPlusError, Error):
        logger.exception("A sitemap cannot be made", extra={"action": "live_failed"})
        return _published_last(request, last, as_file)
    if document is None:
        raise Http404("No entries")
    return respond(request, Content.of_document(document), as_file)


def _published_last(
    request: HttpRequest, row: Page | None, as_file: bool
) -> HttpResponse:
    if row is not None and row.object:
        try:
            return respond(request, Content.of_page(row), as_file)
        except StoreError as error:
            logger.error("%s", error, extra={"action": "object_lost"})
    return unavailable()
