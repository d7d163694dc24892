"""Rendering: from a key range to a document, with a boundary around user code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.db import Error

from django_sitemaps_plus.conf import Site, get_settings
from django_sitemaps_plus.core.gzip import Document, write_document
from django_sitemaps_plus.core.key_ranges import KeyRange
from django_sitemaps_plus.core.limits import HISTORIC_BYTES, LimitExceededError
from django_sitemaps_plus.core.renderers import render_urlset
from django_sitemaps_plus.exceptions import BuildError, SourceError
from django_sitemaps_plus.models.lease import heartbeat
from django_sitemaps_plus.models.sections import is_well
from django_sitemaps_plus.models.transactions import contained
from django_sitemaps_plus.outages import ends_work, is_outage
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.site_urls import stylesheet_url
from django_sitemaps_plus.sites import in_force
from django_sitemaps_plus.sources import Source, Tally, reader_of, surroundings


@contextmanager
def reading(section: str | Source, site: Site) -> Iterator[Source]:
    """Run the code of a source, which is the user's, and say what its errors mean.

    Language, time zone, URLconf and script prefix are those of the site. A query that
    fails leaves a transaction of the caller usable.

    Raises:
        NotRegistered: there is no such section.
        SourceError: the source failed.
        BuildError, LimitExceededError: as they were raised.
        DatabaseError, InterfaceError: our own rows cannot be read either.
    """
    source = registry.get(section) if isinstance(section, str) else section
    try:
        with in_force(site), surroundings(site), contained():
            yield source
    except (BuildError, LimitExceededError):
        raise
    except Exception as error:
        if ends_work(error) or (isinstance(error, Error) and not is_well()):
            raise
        name = f"section {section!r}" if isinstance(section, str) else repr(source)
        notes = "".join([f" {note}" for note in getattr(error, "__notes__", ())])
        raise SourceError(
            f"{name} could not be read: {type(error).__name__}: {error}{notes}",
            is_outage=is_outage(error),
        ) from error


@dataclass(frozen=True, slots=True)
class RenderedPage:
    """A page as its source is now."""

    document: Document | None  # None without entries: an empty urlset is not valid
    tally: Tally


def render_page(
    section: str, key_range: KeyRange, site: Site, *, is_roomy: bool = False
) -> RenderedPage:
    """Render the rows of a key range.

    A roomy page may be as full as any sitemap, above the section's limit. Rows that are
    more than a page may hold raise LimitExceededError.
    """
    tally = Tally(section)
    with reading(section, site) as source:
        reader = reader_of(source)
        if is_roomy:
            reader.max_entries = reader.hard_limit
        lines = reader.chunks(key_range, site, tally)
        lines = _within(reader.max_entries, lines, tally)
        extensions = [*reader.extensions, *(["mobile"] if source.mobile else [])]
        pieces = render_urlset(lines, extensions, stylesheet_url(site))
        limits = [HISTORIC_BYTES] if get_settings().historic_limits else []
        document = write_document(pieces, *limits)
    return RenderedPage(document if tally.entries else None, tally)


def _within(limit: int, chunks: Iterator[str], tally: Tally) -> Iterator[str]:
    for chunk in chunks:
        heartbeat()
        if tally.entries > limit:
            raise LimitExceededError(f"more than {limit:,} entries in one file")
        yield chunk
