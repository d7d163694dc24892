"""The text sitemap: the URLs of one page, one a line."""

from __future__ import annotations

from django_sitemaps_plus.core.diff import urls_in


def render_text(urlset: bytes) -> bytes:
    """Return the URLs of an urlset of ours, each once, in alphabetical order."""
    return "".join([f"{url}\n" for url in urls_in(urlset)]).encode()
