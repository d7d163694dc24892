"""Responses: decide on a 304 first, and read bytes only if they are sent."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from django.contrib.auth.decorators import login_not_required
from django.db import Error, connections, transaction
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.cache import get_conditional_response, patch_vary_headers
from django.utils.http import http_date
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.core.gzip import Document, inflate
from django_sitemaps_plus.models import Page
from django_sitemaps_plus.outages import in_one_line
from django_sitemaps_plus.storage import read_object

V = TypeVar("V", bound=Callable[..., HttpResponse])

#: Seconds after which a crawler may ask again when a source could not be read.
RETRY_AFTER = 120

# More of a header than any client sends is not read: Django parses a megabyte of
# commas for seconds.
_MAX_HEADER = 4_096
_PARSED = {
    *("HTTP_ACCEPT", "HTTP_ACCEPT_ENCODING", "HTTP_IF_MATCH", "HTTP_IF_NONE_MATCH"),
    *("HTTP_IF_MODIFIED_SINCE", "HTTP_IF_UNMODIFIED_SINCE"),
}


def read_only(view: V) -> V:
    """Let a view answer GET and HEAD, and all else with a 405, to anyone.

    ``LoginRequiredMiddleware`` lets it pass, since crawlers have no account. No
    ATOMIC_REQUESTS wraps it: rendering must hold no transaction open, and another
    database that is down must not cost an answer. The beginning alone is read of
    headers that are parsed.
    """

    @wraps(view)
    def call(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        for name in _PARSED.intersection(request.META):
            request.META[name] = request.META[name][:_MAX_HEADER]
        return view(request, *args, **kwargs)

    safe: Any = login_not_required(csrf_exempt(require_safe(call)))
    for alias in connections:
        safe = transaction.non_atomic_requests(using=alias)(safe)
    return cast(V, safe)


def respond(
    request: HttpRequest,
    content: Page | Document,
    as_file: bool,
    content_type: str = "application/xml",
) -> HttpResponse:
    """Answer with a 304, the head or the whole of what was published or rendered.

    The object of a page is read only if it is sent; StoreError if it is lost.
    """
    is_gzip = as_file or accepts_gzip(request.META.get("HTTP_ACCEPT_ENCODING", ""))
    etag = _etag(content, is_gzip)
    last_modified = None
    if isinstance(content, Page) and content.published_at is not None:
        second = int(content.published_at.timestamp())
        if timezone.now().timestamp() >= second + 1:  # no other can fall into it
            last_modified = second
    response = get_conditional_response(request, etag, last_modified)
    if response is None:
        body = b""
        if request.method != "HEAD":
            body = _gzip_of(content) if is_gzip else inflate(_gzip_of(content))
        response = _FinalResponse(body)
        size = content.gzip_size if is_gzip else content.plain_size
        response["Content-Length"] = str(size)
        response["Content-Type"] = "application/gzip" if as_file else content_type
        response["X-Robots-Tag"] = "noindex"
        if is_gzip and not as_file:
            response["Content-Encoding"] = "gzip"
    if not as_file:
        patch_vary_headers(response, ["Accept-Encoding"])
    response["ETag"] = etag
    if last_modified is not None:
        response["Last-Modified"] = http_date(last_modified)
    response["Cache-Control"] = f"public, max-age={get_settings().client_cache_seconds}"
    return response


def _etag(content: Page | Document, is_gzip: bool) -> str:
    return f'"{content.gzip_hash if is_gzip else content.plain_hash}"'


def _gzip_of(content: Page | Document) -> bytes:
    if isinstance(content, Document):
        return content.gzip
    return read_object(content.object, content.gzip_hash)


def gone() -> HttpResponse:
    """Answer for a page that existed once."""
    return HttpResponse("This page is gone.\n", "text/plain", 410)


def unavailable(error: Exception) -> HttpResponse:
    """Answer 503 while the content is unknown, so that crawlers keep what they have."""
    response: Any = HttpResponse("The sitemap cannot be made now.\n", "text/plain", 503)
    # For requests of this process. An error of our database may name hosts and users.
    is_ours = isinstance(error, Error)
    response.fault = "the database cannot be read" if is_ours else in_one_line(error)
    response["Retry-After"] = str(RETRY_AFTER)
    response["Cache-Control"] = "no-store"
    return cast(HttpResponse, response)


class _FinalResponse(HttpResponse):
    """A response that GZipMiddleware leaves alone, as if it had a Content-Encoding.

    GZipMiddleware would compress gzip again, and send it to who said ``gzip;q=0``.
    """

    def has_header(self, header: str) -> bool:
        return header.lower() == "content-encoding" or super().has_header(header)


def accepts_gzip(header: str) -> bool:
    """Return whether an Accept-Encoding header allows gzip (RFC 9110, 12.5.3)."""
    quality = {}
    for part in header.lower().split(","):
        coding, _, parameters = part.partition(";")
        name, _, value = parameters.partition("=")
        try:
            weight = float(value) if name.strip() == "q" else 1.0
        except ValueError:
            weight = 0.0
        quality[coding.strip()] = weight
    return quality.get("gzip", quality.get("x-gzip", quality.get("*", 0.0))) > 0
