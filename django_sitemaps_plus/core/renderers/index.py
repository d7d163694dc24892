"""The ``<sitemapindex>``: the list of a site's pages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from django_sitemaps_plus.core.locations import encode_url
from django_sitemaps_plus.core.xml import escape

_HEAD = (
    b'<?xml version="1.0" encoding="UTF-8"?>\n'
    b'<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
)
_TAIL = b"</sitemapindex>\n"

# Lines that go through hash and compressor together.
_CHUNK_LINES = 500


def page_lines(
    sample: str, number: int, pages: Iterable[tuple[object, int, str]]
) -> list[str]:
    """Return lines of pages whose URLs differ in their number alone.

    Args:
        sample: the absolute URL of one of them.
        number: its number; the last place where the URL has it is the one to change.
        pages: of each its section, whatever that is, number, and lastmod as W3C text
            or "".

    Raises:
        ValueError: the sample is not an absolute http(s) URL.
    """
    before, _, after = escape(encode_url(sample)).rpartition(str(number))
    before, dated = f"<sitemap><loc>{before}", f"{after}</loc><lastmod>"
    undated, end = f"{after}</loc></sitemap>\n", "</lastmod></sitemap>\n"
    # One expression a line, without a call: an index may have 50,000.
    return [
        f"{before}{page}{dated}{lastmod}{end}"
        if lastmod
        else f"{before}{page}{undated}"
        for _, page, lastmod in pages
    ]


def render_index(lines: Iterable[str]) -> Iterator[bytes]:
    """Yield the bytes of an index, from its lines."""
    yield _HEAD
    remaining = iter(lines)
    while chunk := list(islice(remaining, _CHUNK_LINES)):
        yield "".join(chunk).encode()
    yield _TAIL
