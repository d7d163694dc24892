"""Asking: a request to the project in this process, which nobody else hears of."""

from __future__ import annotations

import logging
import sys
from contextlib import suppress
from contextvars import ContextVar
from functools import lru_cache
from io import BytesIO
from typing import Any
from urllib.parse import unquote_to_bytes, urlsplit

from django import urls
from django.conf import settings
from django.core.exceptions import BadRequest, PermissionDenied, SuspiciousOperation
from django.core.handlers.base import BaseHandler
from django.core.handlers.exception import handle_uncaught_exception
from django.core.handlers.wsgi import WSGIRequest
from django.http import Http404

from django_sitemaps_plus.conf import Site, in_force
from django_sitemaps_plus.outages import in_one_line
from django_sitemaps_plus.sources import surroundings

# An address that nobody has (RFC 5737), so that none is let in by it.
_CLIENT = "192.0.2.1"

_PORTS = {"http": 80, "https": 443}

# Errors that are answers; all others are a 500.
_STATUS: dict[Any, int] = {Http404: 404, PermissionDenied: 403}
_STATUS |= {(BadRequest, SuspiciousOperation): 400}

# Whether a view is asked by us: what it logs is logged nowhere.
_is_asking: ContextVar[bool] = ContextVar("is_asking", default=False)


def response_of(url: str, site: Site) -> Any:
    """Return what :func:`ask` gets, or raise what a view has raised."""
    response = ask(url, site)
    if response.error is not None:
        raise response.error
    return response


def ask(url: str, site: Site, **headers: str) -> Any:
    """Return the response of the project to a GET for a URL of a site.

    No signal is sent and nothing logged of it, and it stays open: to close it would
    send ``request_finished``. Its attribute ``error`` is what was raised, or None,
    ``fault`` says why there is no sitemap, and ``is_ours`` if the view is ours.
    """
    parts, prefix = urlsplit(url), _as_wsgi(site.script_prefix.encode())
    path = _as_wsgi(unquote_to_bytes(parts.path or "/"))
    if path.startswith(prefix):  # which a web server takes away
        path = path[len(prefix) - 1 :]
    request: Any = WSGIRequest(
        {
            "REQUEST_METHOD": "GET",
            "SCRIPT_NAME": prefix.rstrip("/"),
            "PATH_INFO": path,
            "QUERY_STRING": parts.query,
            "SERVER_PROTOCOL": "HTTP/1.1",
            "SERVER_NAME": parts.hostname,
            "SERVER_PORT": str(parts.port or _PORTS[parts.scheme]),
            "REMOTE_ADDR": _CLIENT,
            "HTTP_HOST": parts.netloc,
            "HTTP_USER_AGENT": "django-sitemaps-plus",
            "wsgi.url_scheme": parts.scheme,
            "wsgi.input": BytesIO(),
            "wsgi.errors": sys.stderr,
            **headers,
        }
    )
    if settings.DEBUG:  # BASE_URL may be that of production, which is not allowed
        request.get_host = lambda: parts.netloc
    request.error = None
    token = _is_asking.set(True)
    try:
        with surroundings(site), in_force(None):  # the host chooses the site
            urls.set_script_prefix(site.script_prefix)
            response: Any = _handler(tuple(settings.MIDDLEWARE)).get_response(request)
            match = getattr(request, "resolver_match", None)
            with suppress(urls.Resolver404):  # a cache may have answered before
                match = match or urls.resolve(request.path_info)
    finally:
        _is_asking.reset(token)
    response.error = request.error
    response.is_ours = "sitemaps_plus" in getattr(match, "app_names", ())
    fault = "" if response.error is None else in_one_line(response.error)
    response.fault = getattr(response, "fault", fault)
    return response


class _Handler(BaseHandler):
    """Answers as Django does, but tells nobody: errors send no signal, and no log."""

    def adapt_method_mode(
        self, is_async: bool, method: Any, *mode: Any, **names: Any
    ) -> Any:
        """Adapt what Django calls; a middleware or view instead of its wrapper."""
        adapt = super().adapt_method_mode
        if not mode:  # a hook of a middleware
            return adapt(is_async, method)
        get_response = adapt(False, method.__wrapped__, *mode)

        def inner(request: Any) -> Any:
            try:
                response: Any = get_response(request)
            except Exception as error:  # noqa: BLE001 - whatever the project raises
                response = _response_for(error, request)
            response._has_been_logged = True
            return response

        return adapt(is_async, inner, False)


def _response_for(error: Exception, request: Any) -> Any:
    """Return what Django answers for an error; 500 where its view fails as well."""
    resolver: Any = urls.get_resolver(urls.get_urlconf())
    try:
        codes = [code for kind, code in _STATUS.items() if isinstance(error, kind)]
        if not codes:
            raise error
        view = resolver.resolve_error_handler(codes[0])
        response: Any = view(request, exception=error)
    except Exception as fault:  # noqa: BLE001 - whatever the project raises
        request.error = fault
        raised: Any = sys.exc_info()
        response = handle_uncaught_exception(request, resolver, raised)
    return response if getattr(response, "is_rendered", True) else response.render()


@lru_cache(1)
def _handler(middleware: tuple[str, ...]) -> BaseHandler:
    handler = _Handler()
    handler.load_middleware()
    return handler


def _as_wsgi(path: bytes) -> str:
    return path.decode("latin-1")  # PEP 3333


def _is_logged(record: logging.LogRecord) -> bool:
    # The hint that changes wait is given once in a process.
    return getattr(record, "action", "") == "changes_wait" or not _is_asking.get()


# A bad answer is logged as an error, and may be mailed: here that is each minute. So
# are rows that live pages leave out.
for _name in ("views.sitemaps", "serving.live", "sources.lines"):
    logging.getLogger(f"django_sitemaps_plus.{_name}").addFilter(_is_logged)
