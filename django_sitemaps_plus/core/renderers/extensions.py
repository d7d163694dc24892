"""Extension elements of a ``<url>``, with children in the order of their XSDs."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from django_sitemaps_plus.core.dates import w3c
from django_sitemaps_plus.core.extensions import Alternate, News, Video
from django_sitemaps_plus.core.xml import escape

#: Prefix and namespace of each extension, in the order in which roots declare them.
NAMESPACES = {
    "image": "http://www.google.com/schemas/sitemap-image/1.1",
    "video": "http://www.google.com/schemas/sitemap-video/1.1",
    "news": "http://www.google.com/schemas/sitemap-news/0.9",
    "xhtml": "http://www.w3.org/1999/xhtml",
    "mobile": "http://www.google.com/schemas/sitemap-mobile/1.0",  # historic
}


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
        f"<news:name>{_line(news.name)}</news:name>"
        f"<news:language>{news.language}</news:language></news:publication>"
        f"<news:publication_date>{w3c(news.publication_date)}</news:publication_date>"
        f"<news:title>{_line(news.title)}</news:title></news:news>"
    )


def video_element(video: Video) -> str:
    """Return the element of a video."""
    return f"<video:video>{''.join(_video_parts(video))}</video:video>"


def _video_parts(video: Video) -> Iterator[str]:
    # The sequence of sitemap-video.xsd; Google's own page lists it otherwise.
    yield _element("thumbnail_loc", video.thumbnail_loc)
    yield _element("title", video.title)
    yield _element("description", video.description)
    yield _element("content_loc", video.content_loc)
    yield _element("player_loc", video.player_loc)
    yield _element("duration", video.duration)
    yield _element("expiration_date", video.expiration_date)
    yield _element("rating", None if video.rating is None else f"{video.rating:.1f}")
    yield _element("view_count", video.view_count)
    yield _element("publication_date", video.publication_date)
    for tag in video.tags:
        yield _element("tag", tag)
    yield _element("family_friendly", video.family_friendly)
    yield _relation("restriction", video.allowed_countries, video.denied_countries)
    yield _element("requires_subscription", video.requires_subscription)
    yield _element("uploader", video.uploader)
    yield _relation("platform", video.allowed_platforms, video.denied_platforms)
    yield _element("live", video.live)


def _element(name: str, value: str | bool | int | date | None) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        value = "yes" if value else "no"
    elif isinstance(value, date):
        value = w3c(value)
    return f"<video:{name}>{_line(str(value))}</video:{name}>"


def _relation(name: str, allowed: str | None, denied: str | None) -> str:
    if allowed is None and denied is None:
        return ""
    relationship = "deny" if allowed is None else "allow"
    text = f'<video:{name} relationship="{relationship}">'
    return f"{text}{allowed or denied}</video:{name}>"


def _line(text: str) -> str:
    # One entry a line: a line end inside a text would make one entry two lines.
    return escape(" ".join(text.splitlines()))
