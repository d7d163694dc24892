"""Rendering: from a key range to a document."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.core.documents import render_urlset
from django_sitemaps_plus.core.gzip import Document, write_document
from django_sitemaps_plus.core.key_ranges import KeyRange
from django_sitemaps_plus.core.limits import LimitExceededError
from django_sitemaps_plus.models.claims import heartbeat
from django_sitemaps_plus.section import OpenSection
from django_sitemaps_plus.site_urls import stylesheet_url
from django_sitemaps_plus.sources import Tally


@dataclass(frozen=True, slots=True)
class RenderedPage:
    """A page as its source is now."""

    document: Document | None  # None without entries: an empty urlset is not valid
    tally: Tally


def render_page(
    section: OpenSection, key_range: KeyRange, *, is_roomy: bool = False
) -> RenderedPage:
    """Render the rows of a key range.

    A roomy page may be as full as any sitemap, above the section's limit. Rows that are
    more than a page may hold raise LimitExceededError.
    """
    tally = Tally(section.name)
    with section.reading():
        reader = section.reader
        if is_roomy:
            reader.max_entries = reader.hard_limit
        lines = reader.chunks(key_range, tally)
        lines = _within(reader.max_entries, lines, tally)
        mobile = ["mobile"] if section.source.mobile else []
        extensions = [*reader.extensions, *mobile]
        pieces = render_urlset(lines, extensions, stylesheet_url(section.site))
        document = write_document(pieces, get_settings().max_bytes)
    return RenderedPage(document if tally.entries else None, tally)


def _within(limit: int, chunks: Iterator[str], tally: Tally) -> Iterator[str]:
    for chunk in chunks:
        heartbeat()
        if tally.entries > limit:
            raise LimitExceededError(f"more than {limit:,} entries in one file")
        yield chunk
