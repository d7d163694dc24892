"""Documents as streams of bytes; the same input always gives the same bytes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from datetime import date

from .dates import w3c
from .entry_lines import urls_in
from .extensions import Alternate, News, Video
from .locations import encode_url
from .xml import escape, prolog, written

#: Raised whenever the same entries come to be written in other bytes.
RENDERER_VERSION = 1

#: Prefix and namespace of each extension, in the order in which roots declare them.
NAMESPACES = {
    "image": "http://www.google.com/schemas/sitemap-image/1.1",
    "video": "http://www.google.com/schemas/sitemap-video/1.1",
    "news": "http://www.google.com/schemas/sitemap-news/0.9",
    "xhtml": "http://www.w3.org/1999/xhtml",
    "mobile": "http://www.google.com/schemas/sitemap-mobile/1.0",  # historic
}

_URLSET = '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"{}>\n'
_URLSET_END = b"</urlset>\n"
_INDEX = '<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
_INDEX_END = b"</sitemapindex>\n"


def alternate_element(alternate: Alternate) -> str:
    """Return the element of a language version."""
    return (
        f'<xhtml:link rel="alternate" hreflang="{escape(alternate.hreflang)}" '
        f'href="{escape(alternate.href)}"/>'
    )


def news_element(news: News) -> str:
    """Return the element of an article."""
    return (
        "<news:news><news:publication>"
        f"<news:name>{escape(written(news.name))}</news:name>"
        f"<news:language>{news.language}</news:language></news:publication>"
        f"<news:publication_date>{w3c(news.publication_date)}</news:publication_date>"
        f"<news:title>{escape(written(news.title))}</news:title></news:news>"
    )


def video_element(video: Video) -> str:
    """Return the element of a video."""
    rating = None if video.rating is None else f"{video.rating:.1f}"
    # The sequence of sitemap-video.xsd; Google's own page lists it otherwise.
    parts = [
        _element("thumbnail_loc", video.thumbnail_loc),
        _element("title", video.title),
        _element("description", video.description),
        _element("content_loc", video.content_loc),
        _element("player_loc", video.player_loc),
        _element("duration", video.duration),
        _element("expiration_date", video.expiration_date),
        _element("rating", rating),
        _element("view_count", video.view_count),
        _element("publication_date", video.publication_date),
        *[_element("tag", tag) for tag in video.tags],
        _element("family_friendly", video.family_friendly),
        _relation("restriction", video.allowed_countries, video.denied_countries),
        _element("requires_subscription", video.requires_subscription),
        _element("uploader", video.uploader),
        _relation("platform", video.allowed_platforms, video.denied_platforms),
        _element("live", video.live),
    ]
    return f"<video:video>{''.join(parts)}</video:video>"


def _element(name: str, value: str | bool | int | date | None) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        value = "yes" if value else "no"
    elif isinstance(value, date):
        value = w3c(value)
    return f"<video:{name}>{escape(written(str(value)))}</video:{name}>"


def _relation(name: str, allowed: str | None, denied: str | None) -> str:
    if allowed is None and denied is None:
        return ""
    relationship = "deny" if allowed is None else "allow"
    text = f'<video:{name} relationship="{relationship}">'
    return f"{text}{allowed or denied}</video:{name}>"


def render_urlset(
    chunks: Iterable[str], extensions: Collection[str] = (), stylesheet: str = ""
) -> Iterator[bytes]:
    """Yield the bytes of a urlset, from chunks of whole lines of entries.

    The namespaces of extensions that may occur, those of ``NAMESPACES``, are declared
    once, on the root. Browsers show it by a stylesheet.
    """
    declared = [kind for kind in NAMESPACES if kind in extensions]
    namespaces = [f' xmlns:{kind}="{NAMESPACES[kind]}"' for kind in declared]
    yield (prolog(stylesheet) + _URLSET.format("".join(namespaces))).encode()
    for chunk in chunks:
        yield chunk.encode()
    yield _URLSET_END


def page_lines(
    sample: str, number: int, pages: Iterable[tuple[object, int, str]]
) -> list[str]:
    """Return lines of pages whose URLs differ in their number alone.

    The sample is the absolute URL of the page with the number, which is replaced where
    it stands last. A page is a section, a number, and W3C text or "".
    """
    before, _, after = escape(encode_url(sample)).rpartition(str(number))
    before, dated = f"<sitemap><loc>{before}", f"{after}</loc><lastmod>"
    undated, end = f"{after}</loc></sitemap>\n", "</lastmod></sitemap>\n"
    # Each line is one expression without a call: an index may have 50,000.
    return [
        f"{before}{page}{dated}{lastmod}{end}"
        if lastmod
        else f"{before}{page}{undated}"
        for _, page, lastmod in pages
    ]


def render_index(lines: Iterable[str], stylesheet: str = "") -> list[bytes]:
    """Return the bytes of an index, in pieces, from its lines."""
    return [(prolog(stylesheet) + _INDEX).encode(), "".join(lines).encode(), _INDEX_END]


def render_text(urlset: bytes) -> bytes:
    """Return the URLs of an urlset of ours, each once, in alphabetical order."""
    return "".join([f"{url}\n" for url in urls_in(urlset)]).encode()
