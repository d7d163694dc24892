"""The views of indexes and pages, from storage or rendered on request."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial, wraps

from django.db import Error
from django.http import Http404, HttpRequest, HttpResponse

from django_sitemaps_plus.conf import get_site
from django_sitemaps_plus.core.gzip import Document
from django_sitemaps_plus.exceptions import SitemapsPlusError, StoreError
from django_sitemaps_plus.models import INDEX, Page, Section
from django_sitemaps_plus.models.damage import note_damaged
from django_sitemaps_plus.outages import is_outage
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.serving.live import live_index, live_page

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

    While pages are being published, the list is rendered from their rows, once until
    the next of them is, so it never lags behind them. Where that fails, the list that
    was published last is better than none.
    """
    site = get_site(request)
    row = _row(site.name, INDEX, number)
    if row is None and number != "0":
        raise Http404("No such index")
    current = row if row is not None and row.built == row.wanted else None
    render = partial(live_index, int(number), site, row)
    return _answer(request, current, render, as_file, last=row)


@read_only
@_put_off
def page(
    request: HttpRequest, section: str, number: str, as_file: bool = False
) -> HttpResponse:
    """Answer with one page of a section.

    404 where it does not exist yet or has no entries, 410 where it once existed.
    """
    site = get_site(request)
    row = _row(site.name, section, number)
    if row is None:
        highest = _highest_number(site.name, section)
        if highest is not None and int(number) <= highest:
            return gone()  # it was merged into another, or a new plan has fewer
        if highest is not None or section not in registry:
            raise Http404("No such page")
    render = partial(live_page, section, int(number), site, row)
    return _answer(request, row, render, as_file)


def _row(site: str, section: str, number: str) -> Page | None:
    try:
        return Page.objects.served(site, section, int(number))
    except Error as error:
        if is_outage(error):
            raise  # a live plan has other pages than those that are published
        # Not migrated yet; the sources may be.
        logger.exception("Page rows cannot be read", extra={"action": "rows_failed"})
        return None


def _highest_number(site: str, section: str) -> int | None:
    """Return the highest page number ever used; None where there is no plan."""
    rows = Section.objects.filter(site=site, name=section, next_number__gt=1)
    try:
        found = rows.values_list("next_number", flat=True).first()
    except Error as error:
        if is_outage(error):
            raise
        return None  # as in _row()
    return None if found is None else found - 1


def _answer(
    request: HttpRequest,
    row: Page | None,
    render: Callable[[], Document | None],
    as_file: bool,
    last: Page | None = None,
) -> HttpResponse:
    """Answer with the published object, else with what is rendered now.

    Where that fails, with what was published last.
    """
    if row is not None and row.built and not row.object:
        raise Http404("No entries")
    if response := _published(request, row, as_file):
        return response
    try:
        document = render()
    except (SitemapsPlusError, Error):
        logger.exception("A sitemap cannot be made", extra={"action": "live_failed"})
        return _published(request, last, as_file) or unavailable()
    if document is None:
        raise Http404("No entries")
    return respond(request, Content.of_document(document), as_file)


def _published(
    request: HttpRequest, row: Page | None, as_file: bool
) -> HttpResponse | None:
    """Answer with the object of a page; None where it has none that can be served."""
    if row is None or not row.object:
        return None
    try:
        return respond(request, Content.of_page(row), as_file)
    except StoreError as error:
        logger.error("%s", error, extra={"action": "object_lost"})
        note_damaged(row)
        return None
