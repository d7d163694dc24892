"""The ``<sitemapindex>``: the list of a site's pages."""

from __future__ import annotations

from collections.abc import Iterable

from django_sitemaps_plus.core.locations import encode_url
from django_sitemaps_plus.core.xml import escape, prolog

_ROOT = '<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
_TAIL = b"</sitemapindex>\n"


def page_lines(
    sample: str, number: int, pages: Iterable[tuple[object, int, str]]
) -> list[str]:
    """Return lines of pages whose URLs differ in their number alone.

    The sample is the absolute URL of the page with the number, which is replaced where
    it stands last. Of each page a section, number, and W3C text or "" are given.
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


def render_index(lines: Iterable[str], stylesheet: str = "") -> list[bytes]:
    """Return the bytes of an index, in pieces, from its lines."""
    return [(prolog(stylesheet) + _ROOT).encode(), "".join(lines).encode(), _TAIL]
