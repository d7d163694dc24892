"""Sitemaps as a crawler gets them, for the pages that show them to people."""

from __future__ import annotations

import re
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

# Location and lastmod of an entry, and the rest of its line.
_ENTRY = re.compile(
    r"^<(?:url|sitemap)><loc>(.*?)</loc>(?:<lastmod>(.*?)</lastmod>)?(.*)", re.MULTILINE
)


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


def entries_in(answer: HttpResponse) -> list[tuple[str, str, str]]:
    """Return location, lastmod and the rest of each entry, escaped as they stand."""
    return _ENTRY.findall(answer.text)
