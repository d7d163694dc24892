"""Other formats of what is served: text sitemaps, RSS 2.0 and Atom 1.0."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from heapq import nlargest
from typing import Any
from urllib.parse import urlsplit
from xml.etree import ElementTree

from django.utils.feedgenerator import Atom1Feed, Rss201rev2Feed

from django_sitemaps_plus.conf import Site, get_settings
from django_sitemaps_plus.core.dates import parse_w3c
from django_sitemaps_plus.core.documents import NAMESPACES, render_text, render_urlset
from django_sitemaps_plus.core.entry_lines import dated_lines
from django_sitemaps_plus.core.gzip import Document, inflate, write_document
from django_sitemaps_plus.core.validation.reader import SITEMAP
from django_sitemaps_plus.exceptions import StoreError
from django_sitemaps_plus.models import Page
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.section import open_section
from django_sitemaps_plus.sites import get_site
from django_sitemaps_plus.sources import Tally
from django_sitemaps_plus.storage import read_document

from .live import cache_key, live_page, live_plan, noted, shared

#: Entries of a feed.
MAX_ITEMS = 100

_NAMES = {"": SITEMAP, **NAMESPACES}


def text_sitemap(section: str, number: int, row: Page | None) -> Document | None:
    """Return the URLs of a page, one a line; None where it would have no entries.

    Number 0 stands for the only page of a section; None where it has several.
    """

    def render() -> Document | None:
        if not number:
            is_whole = row is not None and row.low is None and row.high is None
            if not (_live_pages(section) == 1 if row is None else is_whole):
                return None
        urlset = _page(section, number, row)
        return write_document([render_text(urlset)]) if urlset else None

    key = cache_key("text", section, number, get_site(), _made_of(section, row))
    return shared(key, render)


def newest_entries(feed: Feed, row: Page | None) -> Document | None:
    """Return a feed; None where no entry has a lastmod.

    The row is that of the section's last page; None where it is not planned.
    """

    def render() -> Document | None:
        opened = open_section(feed.section)
        with opened.reading():
            reader = opened.reader
            keys = reader.newest_keys(MAX_ITEMS)  # None where no index leads to them
            if keys is not None:
                # Bad rows are not named here: the page names them.
                tally = Tally(feed.section, most=0)
                text = "".join([lines for _, lines in reader.lines_by_key(keys, tally)])
        if keys is None:
            text = _page(feed.section, 0, row).decode()
        lines = newest_lines(text.split("\n"))
        return write_document([feed.render(lines)]) if lines else None

    configured = get_settings()
    # A hub that is notified of a change fetches the feed, which must have it then.
    seconds = min(configured.live_cache, int(configured.notify_delay_seconds))
    key = cache_key("feed", feed, _made_of(feed.section, row))
    return shared(key, render, seconds)


def _made_of(section: str, row: Page | None) -> object:
    """Return what decides a page: its object, or its source while it is not built."""
    return row.object if row is not None and row.built else registry.get(section)


def _live_pages(section: str) -> int:
    opened = open_section(section)
    with noted(opened, 0):
        plan = live_plan(opened)
    return len(plan.ranges) if plan else 0


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


class _Rss(Rss201rev2Feed):
    dated = "pubdate"

    def rss_attributes(self) -> dict[str, str]:
        media = "http://search.yahoo.com/mrss/"
        return {**super().rss_attributes(), "xmlns:media": media}

    def add_root_elements(self, handler: Any) -> None:
        super().add_root_elements(handler)
        _add_hubs(handler, "atom:link", self.feed["hubs"])

    def add_item_elements(self, handler: Any, item: Any) -> None:
        super().add_item_elements(handler, item)
        for image in item["entry"].iterfind("image:image/image:loc", _NAMES):
            attributes = {"url": image.text, "medium": "image"}
            handler.addQuickElement("media:content", None, attributes)
        for element in item["entry"].iterfind("video:video", _NAMES):
            video = {part.tag.rpartition("}")[2]: part.text for part in element}
            given = {"url": "content_loc", "duration": "duration"}
            attributes = {name: video[it] for name, it in given.items() if it in video}
            handler.startElement("media:content", {**attributes, "medium": "video"})
            for name in ("title", "description"):
                handler.addQuickElement(f"media:{name}", video[name])
            for name, it in (("thumbnail", "thumbnail_loc"), ("player", "player_loc")):
                if it in video:
                    handler.addQuickElement(f"media:{name}", None, {"url": video[it]})
            handler.endElement("media:content")


class _Atom(Atom1Feed):
    dated = "updateddate"

    def add_root_elements(self, handler: Any) -> None:
        super().add_root_elements(handler)
        _add_hubs(handler, "link", self.feed["hubs"])


_FORMATS: dict[str, type[_Rss | _Atom]] = {"rss": _Rss, "atom": _Atom}


@dataclass(frozen=True, slots=True, kw_only=True)
class Feed:
    """A feed of a section, as far as no entries decide it."""

    site: Site
    section: str
    form: str  # "rss" or "atom"
    url: str  # its own
    hubs: Sequence[str]  # URLs of the hubs that are notified of it

    @property
    def content_type(self) -> str:
        """The media type of its format."""
        return _FORMATS[self.form].content_type

    def render(self, lines: Iterable[str]) -> bytes:
        """Return the feed of some lines of entries, each with a lastmod.

        The feed has no other date, so the same entries give the same bytes.
        """
        host = urlsplit(self.site.origin).netloc
        feed = _FORMATS[self.form](
            title=f"{host}: {self.section}",
            link=self.site.origin + self.site.script_prefix,
            description=f"The newest entries of {self.section}",
            author_name=host,
            feed_url=self.url,
            feed_guid=self.url,
            hubs=self.hubs,
        )
        urlset = b"".join(render_urlset([f"{line}\n" for line in lines], NAMESPACES))
        for entry in ElementTree.fromstring(urlset):  # noqa: S314 - it is our own
            moment: Any = parse_w3c(entry.findtext("lastmod", "", _NAMES))
            url = entry.findtext("loc", "", _NAMES)
            title = entry.findtext("news:news/news:title", "", _NAMES).strip()
            item: Any = {"title": title or url, "link": url, "unique_id": url}
            others: Any = {"description": None, feed.dated: moment, "entry": entry}
            feed.add_item(**item, **others, unique_id_is_permalink=True)
        return feed.writeString("utf-8").encode()


def newest_lines(lines: Iterable[str]) -> list[str]:
    """Return the lines of the entries with the latest lastmod, from the newest.

    Entries without one are left out.
    """
    return [line for _, line in nlargest(MAX_ITEMS, dated_lines(lines))]


def _add_hubs(handler: Any, name: str, hubs: Iterable[str]) -> None:
    for hub in hubs:
        handler.addQuickElement(name, None, {"rel": "hub", "href": hub})
