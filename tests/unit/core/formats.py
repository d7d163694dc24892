"""The text sitemap and the feeds of a document, against the entries it was made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import feedparser
from lxml import etree
from usp.helpers import is_http_url
from usp.tree import sitemap_from_str

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.core.dates import parse_w3c
from django_sitemaps_plus.core.documents import render_text
from django_sitemaps_plus.core.entries import Entry
from django_sitemaps_plus.core.xml import drop_illegal
from django_sitemaps_plus.serving.feeds import Feed, newest_lines

ATOM = "{http://www.w3.org/2005/Atom}"
MEDIA = "{http://search.yahoo.com/mrss/}"
SITE = Site("default", "https://shop.example")

#: Link, moment and title of an item.
Item = tuple[str | None, datetime, str | None]


def check_formats(seed: str, urlset: bytes, entries: list[Entry]) -> None:
    """Fail where a format says of the entries what they do not say."""
    urls = sorted({entry.loc for entry in entries})
    text = render_text(urlset).decode()
    assert text.split("\n") == [*urls, ""], seed
    if seed.endswith("0"):  # others' parsers are slow
        pages = sitemap_from_str(text).all_pages()
        taken = filter(is_http_url, urls)  # it skips a host such as ".."
        assert {page.url for page in pages} == set(taken), seed
    lines = newest_lines(urlset.decode().split("\n"))
    dated = [entry for entry in entries if entry.lastmod]
    expected = Counter(map(item_given, dated))
    for form, items_in in (("rss", rss_items), ("atom", atom_items)):
        url = f"https://shop.example/sitemap-a.{form}"
        feed = Feed(site=SITE, section="a", form=form, url=url, hubs=["https://hub/"])
        written = feed.render(lines)
        root = etree.fromstring(written)
        items = list(items_in(root))
        assert Counter(items) == expected, seed
        moments = [moment for _, moment, _ in items]
        assert moments == sorted(moments, reverse=True), seed
        if seed.endswith("0"):
            assert len(feedparser.parse(written).entries) == len(dated), seed
        if form == "rss":
            assert Counter(media_read(root)) == Counter(media_given(dated)), seed


def item_given(entry: Entry) -> Item:
    """Return what a feed should say of an entry."""
    title = entry.news.title if entry.news else ""
    title = drop_illegal(" ".join(title.splitlines())).strip()
    return entry.loc, parse_w3c(entry.lastmod_text or ""), title or entry.loc


def rss_items(root: Any) -> Iterator[Item]:
    """Yield the items of an RSS feed, whose ids are their links."""
    for item in root.iterfind("channel/item"):
        link, date, title = map(item.findtext, ("link", "pubDate", "title"))
        assert item.findtext("guid") == link
        yield link, datetime.strptime(date, "%a, %d %b %Y %H:%M:%S %z"), title


def atom_items(root: Any) -> Iterator[Item]:
    """Yield the entries of an Atom feed, whose ids are their links."""
    for entry in root.iterfind(f"{ATOM}entry"):
        link = entry.find(f"{ATOM}link").get("href")
        assert entry.findtext(f"{ATOM}id") == link
        updated = datetime.fromisoformat(entry.findtext(f"{ATOM}updated"))
        yield link, updated, entry.findtext(f"{ATOM}title")


def media_read(root: Any) -> Iterator[tuple[str, str | None]]:
    """Yield the images and videos of an RSS feed; of a video also its texts."""
    for content in root.iter(f"{MEDIA}content"):
        yield content.get("medium"), content.get("url")
        for name in ("title", "description"):
            if (text := content.findtext(f"{MEDIA}{name}")) is not None:
                yield name, text
        for name in ("thumbnail", "player"):
            if (found := content.find(f"{MEDIA}{name}")) is not None:
                yield name, found.get("url")


def media_given(entries: list[Entry]) -> Iterator[tuple[str, str | None]]:
    """Yield what a feed should say of images and videos."""
    for entry in entries:
        yield from [("image", image.loc) for image in entry.images]
        for video in entry.videos:
            yield "video", video.content_loc
            yield "thumbnail", video.thumbnail_loc
            if video.player_loc:
                yield "player", video.player_loc
            for name in ("title", "description"):
                text = " ".join(getattr(video, name).splitlines())
                yield name, drop_illegal(text)
