"""Render one page, and store its object if the bytes have changed."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.core.gzip import Document
from django_sitemaps_plus.core.key_ranges import KeyRange
from django_sitemaps_plus.models import Page
from django_sitemaps_plus.rendering import render_page
from django_sitemaps_plus.sources import Tally
from django_sitemaps_plus.storage import object_exists, store_object


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltPage:
    """A page as it was just rendered, and where its bytes are."""

    object: str = ""  # name in storage; "" for a page without entries
    is_new: bool = False  # its bytes differ from those that are published
    is_stored: bool = False  # as a new object
    entries: int = 0
    skipped: int = 0
    dropped: int = 0
    problems: list[str] = field(default_factory=list)
    newest: str = ""  # the latest lastmod of its entries as W3C text, or ""
    plain_size: int = 0
    gzip_size: int = 0
    plain_hash: str = ""
    gzip_hash: str = ""


#: A page as it was claimed, and what was built for it.
Result = tuple[Page, BuiltPage]


def build_page(page: Page, site: Site, *, is_stored: bool = True) -> BuiltPage:
    """Render a page of a section; store it, if asked to, where it has changed."""
    bounds = KeyRange(page.low, page.high)
    rendered = render_page(page.section.name, bounds, site)
    return store_page(page, rendered.document, rendered.tally, is_stored=is_stored)


def store_page(
    page: Page, document: Document | None, tally: Tally, *, is_stored: bool = True
) -> BuiltPage:
    """Store a document as a new object, unless its bytes are published already."""
    built = partial(
        BuiltPage,
        entries=tally.entries,
        skipped=tally.skipped,
        dropped=tally.dropped,
        problems=tally.problems,
        newest=tally.newest,
    )
    if document is None:
        return built(is_new=bool(page.plain_hash))
    is_new = document.plain_hash != page.plain_hash
    if not is_new and (not is_stored or object_exists(page.object, page.gzip_size)):
        return built(
            object=page.object,
            plain_size=page.plain_size,
            gzip_size=page.gzip_size,
            plain_hash=page.plain_hash,
            gzip_hash=page.gzip_hash,
        )
    section = page.section.name
    return built(
        object=store_object(section, page.number, document) if is_stored else "-",
        is_new=is_new,
        is_stored=is_stored,
        plain_size=document.plain_size,
        gzip_size=len(document.gzip),
        plain_hash=document.plain_hash,
        gzip_hash=document.gzip_hash,
    )
