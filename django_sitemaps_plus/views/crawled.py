"""Sitemaps as a crawler gets them, for the pages that show them to people."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse


def ask(
    request: HttpRequest, view: Callable[..., HttpResponse], **kwargs: str
) -> HttpResponse:
    """Return a whole sitemap as a crawler gets it, from storage or rendered now."""
    plain = HttpRequest()
    plain.method = "GET"
    ours = ("HTTP_IF_", "HTTP_ACCEPT_ENCODING")  # they ask about the HTML
    meta = request.META.items()
    plain.META = {key: value for key, value in meta if not key.startswith(ours)}
    return view(plain, **kwargs)
