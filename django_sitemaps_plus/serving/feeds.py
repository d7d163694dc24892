"""Feeds: entries as RSS 2.0, with Media RSS, and as Atom 1.0."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import nlargest
from typing import Any
from urllib.parse import urlsplit
from xml.etree import ElementTree

from django.utils.feedgenerator import Atom1Feed, Rss201rev2Feed

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.core.dates import parse_w3c
from django_sitemaps_plus.core.renderers import render_urlset
from django_sitemaps_plus.core.renderers.extensions import NAMESPACES
from django_sitemaps_plus.core.validation.reader import SITEMAP

#: Entries of a feed.
MAX_ITEMS = 100

_NAMES = {"": SITEMAP, **NAMESPACES}
_LASTMOD = re.compile("</loc><lastmod>([^<]+)")


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
        for video in item["entry"].iterfind("video:video", _NAMES):
            _add_video(handler, video)


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

        It has no other date, so the same entries give the same bytes.
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
            feed.add_item(**_item(entry), **{feed.dated: moment})
        return feed.writeString("utf-8").encode()


def newest_lines(lines: Iterable[str]) -> list[str]:
    """Return the lines of the entries with the latest lastmod, from the newest.

    Those without one are left out.
    """
    found = [(match[1], line) for line in lines if (match := _LASTMOD.search(line))]
    return [line for _, line in nlargest(MAX_ITEMS, found)]


def _item(entry: Any) -> dict[str, Any]:
    url = entry.findtext("loc", "", _NAMES)
    title = entry.findtext("news:news/news:title", "", _NAMES).strip()
    item = {"title": title or url, "link": url, "description": None, "unique_id": url}
    return {**item, "unique_id_is_permalink": True, "entry": entry}


def _add_hubs(handler: Any, name: str, hubs: Iterable[str]) -> None:
    for hub in hubs:
        handler.addQuickElement(name, None, {"rel": "hub", "href": hub})


def _add_video(handler: Any, element: Any) -> None:
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
