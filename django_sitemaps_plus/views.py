"""What crawlers fetch: the index and the pages, from storage or rendered on request."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from django.db import Error, transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.cache import get_conditional_response, patch_vary_headers
from django.utils.http import http_date
from django.views.decorators.http import require_safe

from .building.index import render_site_index
from .building.live import shared
from .building.lost import note_lost
from .building.page import render_page
from .building.plans import render_live
from .conf import Site, get_settings, get_site
from .core.compression import Document, inflate
from .core.limits import LimitExceededError
from .core.plan import KeyRange
from .exceptions import BuildError, SitemapsPlusError, StalePlanError, StoreError
from .models import INDEX, Page, Section
from .registry import registry
from .storage import read_object

logger = logging.getLogger(__name__)

#: Seconds after which a crawler may ask again when a source could not be read.
RETRY_AFTER = 120

# More of a header than any client sends is not read.
_MAX_HEADER = 4_096


@require_safe
@transaction.non_atomic_requests
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


@require_safe
@transaction.non_atomic_requests
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
            return _gone()
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
    except Error:
        return None  # as in _row()
    return None if found is None else found - 1


def _rendered(section: str, row: Page, site: Site) -> Document | None:
    """Render the rows of a published page whose object is lost."""
    try:
        return render_page(section, KeyRange(row.low, row.high), site).document
    except (LimitExceededError, StalePlanError) as error:
        raise BuildError(f"section {section!r} awaits a build: {error}") from error


def _row(site: Site, section: str, number: str) -> Page | None:
    try:
        return Page.objects.served(site.name, section, int(number))
    except Error:
        # Not migrated yet, or our tables are out of reach: the sources may not be.
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
                return _respond(request, _Content.of_page(row), as_file)
            except StoreError as error:
                logger.error("%s", error, extra={"action": "object_lost"})
                note_lost(row)
        document = live()
    except _Gone:
        return _gone()
    except (SitemapsPlusError, Error):
        logger.exception("A sitemap cannot be made", extra={"action": "live_failed"})
        return _published_last(request, last, as_file)
    if document is None:
        raise Http404("No entries")
    return _respond(request, _Content.of_document(document), as_file)


def _published_last(
    request: HttpRequest, row: Page | None, as_file: bool
) -> HttpResponse:
    if row is not None and row.object:
        try:
            return _respond(request, _Content.of_page(row), as_file)
        except StoreError as error:
            logger.error("%s", error, extra={"action": "object_lost"})
    return _unavailable()


@dataclass(frozen=True, slots=True)
class _Content:
    """What an answer is made of; the bytes are fetched only if they are sent."""

    plain_hash: str
    gzip_hash: str
    plain_size: int
    gzip_size: int
    read: Callable[[], bytes]  # the gzip bytes
    published_at: datetime | None = None

    @classmethod
    def of_page(cls, row: Page) -> _Content:
        return cls(
            row.plain_hash,
            row.gzip_hash,
            row.plain_size,
            row.gzip_size,
            lambda: read_object(row.object, row.gzip_hash),
            row.published_at,
        )

    @classmethod
    def of_document(cls, document: Document) -> _Content:
        return cls(
            document.plain_hash,
            document.gzip_hash,
            document.plain_size,
            len(document.gzip),
            lambda: document.gzip,
        )

    def last_modified(self) -> int | None:
        """Return the second of publication, once no other can fall into it."""
        if self.published_at is None:
            return None
        second = int(self.published_at.timestamp())
        return second if timezone.now().timestamp() >= second + 1 else None


def _respond(request: HttpRequest, content: _Content, as_file: bool) -> HttpResponse:
    """Answer with a 304, the head or the whole of a document."""
    is_gzip = as_file or accepts_gzip(request.headers.get("Accept-Encoding", ""))
    etag = f'"{content.gzip_hash if is_gzip else content.plain_hash}"'
    last_modified = content.last_modified()
    response = get_conditional_response(request, etag, last_modified)
    if response is None:
        body = b""
        if request.method != "HEAD":
            body = content.read() if is_gzip else inflate(content.read())
        response = _FinalResponse(body)
        size = content.gzip_size if is_gzip else content.plain_size
        response["Content-Length"] = str(size)
        response["Content-Type"] = "application/gzip" if as_file else "application/xml"
        response["X-Robots-Tag"] = "noindex"
        if is_gzip and not as_file:
            response["Content-Encoding"] = "gzip"
    if not as_file:
        patch_vary_headers(response, ["Accept-Encoding"])
    response["ETag"] = etag
    if last_modified is not None:
        response["Last-Modified"] = http_date(last_modified)
    response["Cache-Control"] = f"public, max-age={get_settings().cache_max_age}"
    return response


def _gone() -> HttpResponse:
    return HttpResponse("This page is gone.\n", "text/plain", 410)


def _unavailable() -> HttpResponse:
    response = HttpResponse("The sitemap cannot be made now.\n", "text/plain", 503)
    response["Retry-After"] = str(RETRY_AFTER)
    response["Cache-Control"] = "no-store"
    return response


class _FinalResponse(HttpResponse):
    """A response whose coding is settled.

    GZipMiddleware would compress a gzip file a second time, and send gzip to a client
    that said ``gzip;q=0``. It leaves alone what has a Content-Encoding.
    """

    def has_header(self, header: str) -> bool:
        return header.lower() == "content-encoding" or super().has_header(header)


def accepts_gzip(header: str) -> bool:
    """Return whether an Accept-Encoding header allows gzip (RFC 9110, 12.5.3)."""
    quality = {}
    for part in header[:_MAX_HEADER].lower().split(","):
        coding, _, parameters = part.partition(";")
        quality[coding.strip()] = _quality(parameters)
    return quality.get("gzip", quality.get("x-gzip", quality.get("*", 0.0))) > 0


def _quality(parameters: str) -> float:
    name, _, value = parameters.partition("=")
    if name.strip() != "q":
        return 1.0
    try:
        return float(value)
    except ValueError:
        return 0.0
