"""The ``<sitemapindex>``: the list of a site's pages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date

from django_sitemaps_plus.core.dates import w3c
from django_sitemaps_plus.core.escaping import escape
from django_sitemaps_plus.core.locations import encode_url

_HEAD = (
    b'<?xml version="1.0" encoding="UTF-8"?>\n'
    b'<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
)
_TAIL = b"</sitemapindex>\n"


@dataclass(frozen=True, slots=True)
class IndexItem:
    """One page in the index.

    Attributes:
        loc: absolute URL of the page, encoded.
        lastmod: when its content changed, or None where nobody knows.
    """

    loc: str
    lastmod: date | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "loc", encode_url(self.loc))
        if self.lastmod is not None:
            w3c(self.lastmod)


def render_index(items: Iterable[IndexItem]) -> Iterator[bytes]:
    """Yield the bytes of an index, one page a line."""
    yield _HEAD
    for item in items:
        lastmod = f"<lastmod>{w3c(item.lastmod)}</lastmod>" if item.lastmod else ""
        yield f"<sitemap><loc>{escape(item.loc)}</loc>{lastmod}</sitemap>\n".encode()
    yield _TAIL
