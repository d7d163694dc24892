"""Ten thousand random documents: whatever an entry takes can be written and read.

Each document has a seed of its own, which every failure names; :mod:`.hostile` makes
the same document from it again."""

from __future__ import annotations

import gzip
import random
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import Any
from xml.parsers import expat

import feedparser
import pytest
from lxml import etree
from usp.helpers import is_http_url
from usp.tree import sitemap_from_str

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.core.dates import parse_w3c
from django_sitemaps_plus.core.documents import (
    NAMESPACES,
    render_index,
    render_text,
    render_urlset,
)
from django_sitemaps_plus.core.entries import Entry
from django_sitemaps_plus.core.gzip import write_document
from django_sitemaps_plus.core.xml import drop_illegal
from django_sitemaps_plus.serving.feeds import Feed, newest_lines
from django_sitemaps_plus.sources.columns import called
from django_sitemaps_plus.sources.fields import COLUMNS
from django_sitemaps_plus.sources.lines import Tally, lines_of

from . import hostile

#: Documents of one test; there are nine of urlsets and one of indexes.
BATCH = 1_000
SCHEMAS = Path(__file__).parents[3].parent / "shared" / "xsd"

SITEMAP = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
IMAGE, VIDEO, NEWS, XHTML, MOBILE = [f"{{{uri}}}" for uri in NAMESPACES.values()]


GETTERS = {name: called(attrgetter(name)) for name in COLUMNS}
#: By whether the pages are for feature phones.
LINES = [
    lines_of(
        {"location": called(attrgetter("loc")), **GETTERS},
        None,
        raises=True,
        is_mobile=is_mobile,
    )
    for is_mobile in (False, True)
]


def urlset(entries: list[Entry]) -> bytes:
    """Return a sitemap; each of an odd number of entries is a mobile one."""
    lines = LINES[len(entries) % 2].render(entries, Tally("section"))
    return b"".join(render_urlset([lines], NAMESPACES))


def index(pages: list[tuple[str, str, str | None]]) -> bytes:
    return b"".join(render_index([line for _, line, _ in pages]))


@pytest.mark.parametrize("batch", range(9))
def test_whatever_entries_take_makes_a_valid_urlset(batch):
    """Well-formed, valid, a line an entry, always the same, and nothing lost.

    So are its text sitemap, RSS and Atom, and the gzip file.
    """
    seen: Counter[str] = Counter()
    for seed in seeds():
        entries, content = made(seed, hostile.entry, urlset)
        root = check(seed, content, b"<url>", len(entries), "all-urlset.xsd")
        for found, entry in zip(root, entries, strict=True):
            assert dict(facts_read(found)) == dict(facts_given(entry)), seed
            assert len(found.findall(f"{MOBILE}mobile")) == len(entries) % 2, seed
            seen.update(name for name, fact in facts_given(entry) if fact)
        check_formats(seed, content, entries)
        assert gzip.decompress(write_document([content]).gzip) == content, seed
        assert urlset(entries) == content, seed
    # The generator is not so hostile that hardly anything passes.
    assert len(seen) == len(dict(facts_given(Entry("https://shop.example"))))
    assert min(seen.values()) > BATCH / 10, seen


def test_whatever_pages_take_makes_a_valid_index():
    for seed in seeds():
        items, content = made(seed, hostile.index_page, index)
        root = check(seed, content, b"<sitemap>", len(items), "siteindex.xsd")
        locs = [item.findtext(f"{SITEMAP}loc") for item in root]
        assert locs == [loc for loc, _, _ in items], seed
        assert index(items) == content, seed


@pytest.mark.parametrize("name", ["all-urlset.xsd", "siteindex.xsd"])
def test_schemas_refuse_what_is_invalid(name):
    """Without them, the tests above only parse."""
    schema = read_schema(name)
    if schema is None:
        pytest.skip(f"nothing was validated: there is no ../shared/xsd/{name}")
    empty = urlset([]) if name == "all-urlset.xsd" else index([])
    assert not schema.validate(etree.fromstring(empty))


def seeds() -> Iterator[str]:
    """Yield seeds; pytest-randomly's own, which it prints, decides the first."""
    first = random.getrandbits(32)
    return (f"{first}-{number}" for number in range(BATCH))


def made(
    seed: str,
    make: Callable[[random.Random], Any],
    render: Callable[[list[Any]], bytes],
) -> tuple[list[Any], bytes]:
    try:
        items = hostile.some(random.Random(seed), make)
        return items, render(items)
    except Exception as error:
        error.add_note(f"seed={seed}")
        raise


def check(seed: str, content: bytes, start: bytes, count: int, name: str) -> Any:
    """Return the root; two parsers that share no code must take the document."""
    try:
        expat.ParserCreate().Parse(content, True)
        root = etree.fromstring(content)
    except (expat.ExpatError, etree.XMLSyntaxError) as error:
        raise AssertionError(f"seed={seed}: {error}") from error
    lines = content.split(b"\n")
    assert len(lines) == count + 4, seed
    assert all([line.startswith(start) for line in lines[2:-2]]), seed
    assert b"\r" not in content, seed
    if schema := read_schema(name):
        assert schema.validate(root), f"seed={seed}: {schema.error_log}"
    return root


@cache
def read_schema(name: str) -> Any:
    path = SCHEMAS / name
    return etree.XMLSchema(etree.parse(path)) if path.exists() else None


def texts(url: Any, path: str) -> list[str]:
    return [element.text or "" for element in url.iterfind(path)]


def one_line(text: str) -> str:
    return drop_illegal(" ".join(text.splitlines()))


def facts_read(url: Any) -> Iterator[tuple[str, Any]]:
    for field in ("loc", "lastmod", "changefreq"):
        yield field, url.findtext(f"{SITEMAP}{field}")
    yield "images", texts(url, f"{IMAGE}image/{IMAGE}loc")
    for field in ("title", "description", "tag", "thumbnail_loc", "uploader"):
        yield field, texts(url, f"{VIDEO}video/{VIDEO}{field}")
    yield "news", texts(url, f"{NEWS}news/{NEWS}title")
    links = url.iterfind(f"{XHTML}link")
    yield "alternates", [(link.get("hreflang"), link.get("href")) for link in links]


def facts_given(entry: Entry) -> Iterator[tuple[str, Any]]:
    yield "loc", entry.loc
    yield "lastmod", entry.lastmod_text
    yield "changefreq", entry.changefreq
    yield "images", [image.loc for image in entry.images]
    for field in ("title", "description"):
        yield field, [one_line(getattr(video, field)) for video in entry.videos]
    yield "tag", [one_line(tag) for video in entry.videos for tag in video.tags]
    yield "thumbnail_loc", [video.thumbnail_loc for video in entry.videos]
    yield "uploader", [one_line(v.uploader) for v in entry.videos if v.uploader]
    yield "news", [one_line(entry.news.title)] if entry.news else []
    yield "alternates", [(link.hreflang, link.href) for link in entry.alternates]


ATOM = "{http://www.w3.org/2005/Atom}"
MEDIA = "{http://search.yahoo.com/mrss/}"
SITE = Site("default", "https://shop.example")

#: Link, moment and title of an item.
Item = tuple[str | None, datetime, str | None]


def check_formats(seed: str, urlset: bytes, entries: list[Entry]) -> None:
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
