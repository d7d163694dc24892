"""One page: rendered for whoever asks, or rendered and stored."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.core.compression import Document, write_document
from django_sitemaps_plus.core.limits import LimitExceededError
from django_sitemaps_plus.core.plan import KeyRange
from django_sitemaps_plus.core.renderers import render_urlset
from django_sitemaps_plus.exceptions import SitemapsPlusError, SourceError
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.sources import Tally, rendering
from django_sitemaps_plus.storage import object_exists, store_object


@dataclass(frozen=True, slots=True)
class RenderedPage:
    """A page as its source is now.

    Attributes:
        document: None where the page has no entries; an empty urlset is not valid.
        tally: what happened to its rows.
    """

    document: Document | None
    tally: Tally


def render_page(section: str, key_range: KeyRange, site: Site) -> RenderedPage:
    """Render the rows of a key range.

    Raises:
        NotRegistered: there is no such section.
        LimitExceededError: the rows are more than one page may hold.
        SourceError: the source failed as a whole.
    """
    source = registry.get(section)
    tally = Tally(section)
    try:
        with rendering(site):
            lines = source.chunks(key_range, site, tally)
            lines = _within(source.max_entries, lines, tally)
            document = write_document(render_urlset(lines, source.extensions))
    except (LimitExceededError, SitemapsPlusError):
        raise
    except Exception as error:  # a source is the user's code, and a database
        raise SourceError(
            f"section {section!r} could not be read: {type(error).__name__}: {error}"
        ) from error
    return RenderedPage(document if tally.entries else None, tally)


def _within(limit: int, chunks: Iterator[str], tally: Tally) -> Iterator[str]:
    for chunk in chunks:
        if tally.entries > limit:
            raise LimitExceededError(limit, "entries")
        yield chunk


@dataclass(frozen=True, slots=True, kw_only=True)
class PageJob:
    """What a worker needs to know to build a page."""

    section: str
    number: int
    key_range: KeyRange
    site: Site
    known_hash: str = ""  # of the plain bytes that are published already
    known_object: str = ""  # where they are
    known_size: int = 0  # and how many, gzipped
    is_stored: bool = True  # False: render only


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltPage:
    """What a worker reports of a page that it built."""

    number: int
    key_range: KeyRange
    object: str | None = None  # name in storage; None where none had to be stored
    entries: int = 0
    skipped: int = 0
    dropped: int = 0
    problems: list[str] = field(default_factory=list)
    newest: str = ""  # latest lastmod of its entries as W3C text
    plain_size: int = 0
    gzip_size: int = 0
    plain_hash: str = ""
    gzip_hash: str = ""


def build_page(job: PageJob) -> BuiltPage:
    """Render a page, and store it as a new object where its bytes have changed.

    Raises:
        LimitExceededError, SourceError, StoreError: as the steps do.
    """
    rendered = render_page(job.section, job.key_range, job.site)
    return store_page(job, rendered.document, rendered.tally)


def store_page(job: PageJob, document: Document | None, tally: Tally) -> BuiltPage:
    """Store a document as a new object, unless its bytes are published already.

    Raises:
        StoreError: the storage failed.
    """
    page = partial(
        BuiltPage,
        number=job.number,
        key_range=job.key_range,
        entries=tally.entries,
        skipped=tally.skipped,
        dropped=tally.dropped,
        problems=tally.problems,
        newest=tally.newest,
    )
    if document is None:
        return page()
    stored = None
    if job.is_stored and not _is_published(job, document):
        stored = store_object(job.section, job.number, document)
    return page(
        object=stored,
        plain_size=document.plain_size,
        gzip_size=len(document.gzip),
        plain_hash=document.plain_hash,
        gzip_hash=document.gzip_hash,
    )


def _is_published(job: PageJob, document: Document) -> bool:
    if document.plain_hash != job.known_hash:
        return False
    return object_exists(job.known_object, job.known_size)
