"""The views of indexes, pages, texts and feeds, and redirects from contrib's pages."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from contextlib import suppress
from functools import partial, wraps
from typing import Any

from django.conf import settings
from django.contrib.sitemaps import Sitemap
from django.db import Error
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponsePermanentRedirect,
)

from django_sitemaps_plus.conf import AppSettings, get_settings, in_force
from django_sitemaps_plus.core.gzip import Document
from django_sitemaps_plus.core.limits import LimitExceededError
from django_sitemaps_plus.exceptions import SitemapsPlusError, SourceError, StoreError
from django_sitemaps_plus.models import INDEX, Page, Section
from django_sitemaps_plus.models.base import contained
from django_sitemaps_plus.models.pages import note_damaged
from django_sitemaps_plus.models.sections import check_origin
from django_sitemaps_plus.outages import in_one_line, is_outage
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.section import open_section
from django_sitemaps_plus.serving.live import live_index, live_page
from django_sitemaps_plus.site_urls import feed_url, has_feed, page_url
from django_sitemaps_plus.sites import get_site
from django_sitemaps_plus.sources import SitemapSource
from django_sitemaps_plus.tracking.collecting import waiting_changes

from .responses import gone, read_only, respond, unavailable

logger = logging.getLogger(__name__)


View = Callable[..., HttpResponse]

_TEXT = "text/plain; charset=utf-8"

# Numbers of contrib's pages, as in /sitemap-products.xml?p=2.
_OLD_NUMBER = re.compile(r"[1-9][0-9]{0,5}", re.ASCII)


class _Gone(Exception):
    """A page existed once: it was merged into another, or a new plan has fewer."""


def put_off(view: View) -> View:
    """Make a view answer 503, and log why, where there can be no sitemap."""

    @wraps(view)
    def call(*args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return view(*args, **kwargs)
        except (SitemapsPlusError, LimitExceededError, Error) as error:
            _log_failure(error)
            return unavailable(error)

    return call


def _of_site(view: View) -> View:
    """Make a view answer GET and HEAD for the site of the request."""

    @wraps(view)
    def call(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        with in_force(get_site(request)):
            try:
                return view(request, *args, **kwargs)
            except _Gone:
                return gone()
            except Http404:
                registry.must_be_whole()
                raise

    return read_only(put_off(call))


@_of_site
def index(
    request: HttpRequest, number: str = "0", as_file: bool = False
) -> HttpResponse:
    """Answer with the list of the site's pages.

    While pages are being published, the list is rendered from their rows, once until
    the next of them is, so it never lags behind them. Where that fails, the list that
    was published last is better than none.
    """
    row, fault = _row(INDEX, int(number))
    if row is None and number != "0":
        raise Http404("No such index")
    current = row if row is not None and row.built == row.wanted else None
    render = partial(live_index, int(number), row)
    return _answer(request, current, render, as_file, fault, last=row)


@_of_site
def page(
    request: HttpRequest, section: str, number: str, as_file: bool = False
) -> HttpResponse:
    """Answer with one page of a section.

    404 where it does not exist yet or has no entries, 410 where it once existed.
    """
    try:
        row, fault = _page_row(section, int(number))
    except Http404:
        if as_file:
            raise
        return redirect_old_page(request, f"{section}-{number}")
    render = partial(live_page, section, int(number), row)
    return _answer(request, row, render, as_file, fault)


@_of_site
def moved(request: HttpRequest, section: str) -> HttpResponse:
    """Redirect from a URL of contrib's view to the page that has these rows now."""
    return redirect_old_page(request, section)


@_of_site
def text(
    request: HttpRequest, section: str, number: str = "0", as_file: bool = False
) -> HttpResponse:
    """Answer with the URLs of a page, one a line; without a number, of the only page.

    404 where a section has several, since no text file may list the others.
    """
    from django_sitemaps_plus.serving.feeds import text_sitemap  # few ask for it

    if int(number) and (name := f"{section}-{number}") in registry:
        section, number = name, "0"
    row, fault = _page_row(section, int(number) or None)
    render = partial(text_sitemap, section, int(number), row)
    try:
        return _answer(request, None, render, as_file, fault, content_type=_TEXT)
    except Http404:
        if int(number):
            raise
        words = "It has no entries, or several pages, such as /sitemap-"
        raise Http404(f"{words}{section}-1.txt") from None


@_of_site
def feed(
    request: HttpRequest, section: str, form: str, as_file: bool = False
) -> HttpResponse:
    """Answer with the newest entries of a section, as RSS or Atom.

    404 where none has a lastmod.
    """
    from django_sitemaps_plus.notifications.engines.websub import hubs_of
    from django_sitemaps_plus.serving.feeds import Feed, newest_entries

    site = get_site()
    if not has_feed(section):
        raise Http404("No such feed")
    row, fault = _row(section, None)
    url = feed_url(section, form, site)
    kind = Feed(site=site, section=section, form=form, url=url, hubs=hubs_of(url))
    render = partial(newest_entries, kind, row)
    response = _answer(
        request, None, render, as_file, fault, content_type=kind.content_type
    )
    if kind.hubs:
        links = [*[(hub, "hub") for hub in kind.hubs], (url, "self")]
        response["Link"] = ", ".join([f'<{link}>; rel="{rel}"' for link, rel in links])
        if "ETag" in response:
            # A hub that is notified of a change would else get the copy of a CDN.
            response["Cache-Control"] = "no-cache"
    return response


def _row(section: str, number: int | None) -> tuple[Page | None, str]:
    """Return a page's row; None, and why, before the first migration of our tables.

    Without a number it is the last page.
    """
    site = get_site()
    try:
        if number is None:
            number = Page.objects.last_number(site.name, section)
        row = Page.objects.served(site.name, section, number)
    except Error as error:
        planned, is_fatal = Section.objects.filter(site=site.name), is_outage(error)
        if not is_fatal:
            with suppress(Error):  # it was planned by a release that was migrated
                is_fatal = planned.filter(next_number__gt=1).exists()
        if is_fatal:
            raise  # a live plan has other pages than those that are published
        return None, in_one_line(error)  # the sources may be migrated
    if row is not None:
        check_origin(row.origin, site)
    return row, ""


def _page_row(section: str, number: int | None) -> tuple[Page | None, str]:
    """Return the same; without a row it is a page of the live plan.

    Raises:
        _Gone: it existed once.
        Http404: it never did, nor could it be live.
    """
    row, fault = _row(section, number)
    if row is not None:
        return row, fault
    own = Section.objects.filter(site=get_site().name, name=section)
    try:
        planned = own.filter(next_number__gt=1)
        next_number = planned.values_list("next_number", flat=True).first()
    except Error as error:
        if is_outage(error):
            raise
        next_number = None  # as in _row()
    if next_number is not None:
        # The plan may have come since its page was looked for.
        row, fault = _row(section, number)
        if row is None and number is not None and number < next_number:
            raise _Gone
    if row is None and (next_number is not None or section not in registry):
        raise Http404("No such page")
    return row, fault


def _answer(
    request: HttpRequest,
    row: Page | None,
    render: Callable[[], Document | None],
    as_file: bool,
    fault: str,
    last: Page | None = None,
    content_type: str = "application/xml",
) -> HttpResponse:
    """Answer with the published object, else with what is rendered now.

    Where that fails, with what was published last. A fault of our tables is logged in
    the place of what follows from it.
    """
    if row is not None and row.built and not row.object:
        raise Http404("No entries")
    if response := _published(request, row, as_file):
        return response
    if fault:
        logger.error("Rows cannot be read: %s", fault, extra={"action": "rows_failed"})
    try:
        document = render()
    except (SitemapsPlusError, Error) as error:
        if not fault:
            _log_failure(error)
        return _published(request, last, as_file) or unavailable(error)
    if document is None:
        raise Http404("No entries")
    return respond(request, document, as_file, content_type)


def _log_failure(error: Exception) -> None:
    """Log in one line why there is no page; with the traceback of the user's code."""
    cause = error.__cause__ if isinstance(error, SourceError) else None
    logger.error(
        "A sitemap cannot be made: %s",
        in_one_line(error),
        exc_info=cause is not None and not isinstance(cause, Error),
        extra={"action": "live_failed"},
    )


def _published(
    request: HttpRequest, row: Page | None, as_file: bool
) -> HttpResponse | None:
    """Answer with the object of a page; None where it has none that can be served."""
    if row is None or not row.object:
        return None
    say_that_changes_wait()
    try:
        return respond(request, row, as_file)
    except StoreError as error:
        logger.error("%s", error, extra={"action": "object_lost"})
        note_damaged(row)
        return None


_is_known = False


def say_that_changes_wait() -> None:
    """Log once, until they are built, that what is served is not up to date.

    Under DEBUG only, and not where an executor wakes workers.
    """
    global _is_known
    if not settings.DEBUG or get_settings().executor != AppSettings().executor:
        return
    with suppress(Exception), contained():  # an answer needs none of it
        waiting = sum([number for number, _ in waiting_changes(registry).values()])
        if waiting and not _is_known:
            words = "1 change waits" if waiting == 1 else f"{waiting:,} changes wait"
            logger.warning(
                "%s: run manage.py build_sitemaps, or a worker",
                words,
                extra={"action": "changes_wait"},
            )
        _is_known = bool(waiting)


def redirect_old_page(request: HttpRequest, section: str) -> HttpResponse:
    """Redirect to the page that has the first row of a page of contrib's view.

    404 where there is no such section or page.
    """
    old = request.GET.get("p", "1")
    if section not in registry or not _OLD_NUMBER.fullmatch(old):
        raise Http404("No such page")

    opened = open_section(section)
    source = opened.source
    with opened.reading():
        kind = source if isinstance(source, SitemapSource) else SitemapSource(Sitemap)
        before, limit = (int(old) - 1) * kind.own_limit, max(1, source.limit)
    pages = Page.objects.entries_of(opened.site.name, section)
    number, low = (None if pages else before // limit + 1), None
    by_low = {first: others for first, *others in pages}
    while number is None and (page := by_low.pop(low, None)):
        low, own, entries, built = page
        before -= entries if built else limit
        if before < 0:
            number = int(own)
    if number is None:
        raise Http404("No such page")

    site = opened.site
    url = page_url(section, number, site).removeprefix(site.origin)
    response = HttpResponsePermanentRedirect(url)
    # The rows may come to another page.
    seconds = get_settings().client_cache_seconds
    response["Cache-Control"] = f"public, max-age={seconds}"
    return response
