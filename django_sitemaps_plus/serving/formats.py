"""Other formats of what is served: text sitemaps of pages, feeds of sections."""

from __future__ import annotations

from contextlib import suppress
from functools import partial

from django_sitemaps_plus.conf import get_settings, get_site
from django_sitemaps_plus.core.gzip import Document, inflate, write_document
from django_sitemaps_plus.core.renderers import render_text
from django_sitemaps_plus.exceptions import StoreError
from django_sitemaps_plus.models import Page
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.section import open_section
from django_sitemaps_plus.sources import Tally
from django_sitemaps_plus.sources.lines import MAX_NAMED
from django_sitemaps_plus.storage import read_document

from .feeds import MAX_ITEMS, Feed, newest_lines
from .live import cache_key, live_page, live_plan, shared


def text_sitemap(section: str, number: int, row: Page | None) -> Document | None:
    """Return the URLs of a page, one a line; None where it would have no entries.

    Number 0 stands for the only page of a section; None where it has several.
    """
    key = cache_key("text", section, number, get_site(), _made_of(section, row))
    return shared(key, partial(_render_text, section, number, row))


def newest_entries(feed: Feed, row: Page | None) -> Document | None:
    """Return a feed; None where no entry has a lastmod.

    The row is that of the section's last page; None where it is not planned.
    """
    configured = get_settings()
    # A hub that is notified of a change fetches the feed, which must have it then.
    seconds = min(configured.live_cache, int(configured.notify_delay_seconds))
    key = cache_key("feed", feed, _made_of(feed.section, row))
    return shared(key, partial(_render_feed, feed, row), seconds)


def _made_of(section: str, row: Page | None) -> object:
    """Return what decides a page: its object, or its source while it is not built."""
    return row.object if row is not None and row.built else registry.get(section)


def _render_text(section: str, number: int, row: Page | None) -> Document | None:
    if not number:
        is_whole = row is not None and row.low is None and row.high is None
        if not (_live_pages(section) == 1 if row is None else is_whole):
            return None
    urlset = _page(section, number, row)
    return write_document([render_text(urlset)]) if urlset else None


def _live_pages(section: str) -> int:
    plan = live_plan(open_section(section))
    return len(plan.ranges) if plan else 0


def _render_feed(feed: Feed, row: Page | None) -> Document | None:
    text = _newest_rows(feed.section)
    if text is None:
        text = _page(feed.section, 0, row).decode()
    lines = newest_lines(text.split("\n"))
    return write_document([feed.render(lines)]) if lines else None


def _newest_rows(section: str) -> str | None:
    """Return the lines of the newest rows; None where no index leads to them."""
    opened = open_section(section)
    with opened.reading():
        reader = opened.reader
        if (keys := reader.newest_keys(MAX_ITEMS)) is None:
            return None
        tally = Tally(section, problems=[""] * MAX_NAMED)  # the page names them
        rows = reader.lines_by_key(keys, tally)
        return "".join([lines for _, lines in rows])


def _page(section: str, number: int, row: Page | None) -> bytes:
    """Return a page, 0 for the last, as it is served; no bytes without entries."""
    if row is not None and row.built:
        if not row.object:
            return b""
        with suppress(StoreError):  # it is rendered then, as the page itself is
            return read_document(row.object)
    number = row.number if row else number or _live_pages(section)
    document = live_page(section, number, row) if number else None
    return inflate(document.gzip) if document else b""
