"""Render one page, and store its object if the bytes have changed."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any, NamedTuple

from django.utils import timezone

from django_sitemaps_plus.core.dates import parse_w3c
from django_sitemaps_plus.core.entry_lines import lastmods_in
from django_sitemaps_plus.core.gzip import Document, inflate
from django_sitemaps_plus.core.key_ranges import KeyRange
from django_sitemaps_plus.exceptions import StoreError
from django_sitemaps_plus.models import Page
from django_sitemaps_plus.rendering import RenderedPage, render_page
from django_sitemaps_plus.section import OpenSection
from django_sitemaps_plus.sources import ModelSource, Tally
from django_sitemaps_plus.sources.compiling import find_field
from django_sitemaps_plus.sources.contrib_fields import aware
from django_sitemaps_plus.sources.lines import LASTMOD_NOW, LeftOut
from django_sitemaps_plus.storage import is_intact, read_document, store_object
from django_sitemaps_plus.storage.objects import is_within

logger = logging.getLogger(__name__)

#: How long before it was published a page may have been rendered, to count as now.
RENDER_TIME = timedelta(minutes=1)

#: The name of an object that a dry run would store.
NOT_STORED = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltPage:
    """A page as it was just rendered, and where its bytes are."""

    object: str = ""  # name in storage; "" for a page without entries
    is_changed: bool = False  # its bytes differ from those that are published
    is_stored: bool = False  # as a new object
    entries: int = 0
    skipped: int = 0
    dropped: int = 0
    problems: list[LeftOut] = field(default_factory=list)
    newest: str = ""  # the latest lastmod of its entries as W3C text, or ""
    plain_size: int = 0
    gzip_size: int = 0
    plain_hash: str = ""
    gzip_hash: str = ""


class Result(NamedTuple):
    """A page as it was claimed, and what was built for it."""

    page: Page
    new: BuiltPage


def build_page(page: Page, section: OpenSection, *, stores: bool = True) -> BuiltPage:
    """Render a page of a section; store it, if asked to, where it has changed."""
    bounds, since = KeyRange(page.low, page.high), aware(timezone.now())
    rendered = render_page(section, bounds)
    since = since.replace(microsecond=0)
    is_now = _is_rendered_now(page, section.source, rendered, since)
    new = store_page(page, rendered.document, rendered.tally, stores=stores)
    if is_now:
        new.problems.insert(0, LASTMOD_NOW)
        extra = {"action": LASTMOD_NOW.action, "section": section.name}
        logger.warning("section=%s %s", section.name, LASTMOD_NOW, extra=extra)
    return new


def _is_rendered_now(
    page: Page, source: Any, rendered: RenderedPage, since: datetime
) -> bool:
    """Return whether each lastmod is the time of rendering, again.

    A single entry may have been saved in that very second, and a field of the model
    says when.
    """
    document, newest = rendered.document, rendered.tally.newest
    if document is None or not newest or parse_w3c(newest) < since:
        return False
    if not page.object or page.published_at is None:
        return False
    path = source.lastmod if isinstance(source, ModelSource) else None
    if isinstance(path, str) and find_field(source.model, path) is not None:
        return False
    moments = [parse_w3c(it) for it in lastmods_in(inflate(document.gzip))]
    if len(moments) < 2 or min(moments) < since:
        return False
    try:
        before = [parse_w3c(it) for it in lastmods_in(read_document(page.object))]
    except StoreError:
        return False
    ages = [aware(page.published_at) - moment for moment in before]
    return bool(ages) and max(map(abs, ages)) <= RENDER_TIME


def store_page(
    page: Page, document: Document | None, tally: Tally, *, stores: bool = True
) -> BuiltPage:
    """Store a document as a new object, unless its bytes are published already."""
    new_page = partial(
        BuiltPage,
        entries=tally.entries,
        skipped=tally.skipped,
        dropped=tally.dropped,
        problems=[*tally.left_out],
        newest=tally.newest,
    )
    if document is None:
        return new_page(is_changed=bool(page.plain_hash))
    is_changed = document.plain_hash != page.plain_hash
    namespace = page.section.namespace
    stays = not is_changed
    if stays and stores:  # another database may delete what is not its own
        is_own = is_within(page.object, namespace)
        stays = is_own and is_intact(page.object, page.gzip_hash)

    name, file = NOT_STORED, page if stays else document
    if stays:
        name = page.object
    elif stores:
        name = store_object(page.section.name, page.number, document, namespace)
    return new_page(
        object=name,
        is_changed=is_changed,
        is_stored=stores and not stays,
        plain_size=file.plain_size,
        gzip_size=file.gzip_size,
        plain_hash=file.plain_hash,
        gzip_hash=file.gzip_hash,
    )
