"""Documents, byte for byte, and that what any entries give is valid."""

import gzip
import hashlib
import random
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Any
from xml.parsers import expat

import feedparser
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree
from usp.helpers import is_http_url
from usp.tree import sitemap_from_str

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.core import gzip as compression
from django_sitemaps_plus.core import limits
from django_sitemaps_plus.core.dates import parse_w3c
from django_sitemaps_plus.core.documents import (
    NAMESPACES,
    alternate_element,
    page_lines,
    render_index,
    render_text,
    render_urlset,
    video_element,
)
from django_sitemaps_plus.core.entries import Alternate, Entry, Image, News, Video
from django_sitemaps_plus.core.gzip import inflate, write_document
from django_sitemaps_plus.core.limits import MAX_BYTES, LimitExceededError
from django_sitemaps_plus.core.xml import drop_illegal, escape
from django_sitemaps_plus.serving.feeds import Feed, newest_lines
from django_sitemaps_plus.sources.columns import called
from django_sitemaps_plus.sources.fields import COLUMNS
from django_sitemaps_plus.sources.lines import Tally, lines_of
from tests.support.documents import schemas
from tests.support.entries import entry_line

from . import hostile

PRODUCTS = "https://shop.example/sitemap-products-1.xml"
BOOKS = "https://shop.example/b\u00fccher/sitemap.xml?a=1&b=2"
VIDEO = Video(
    thumbnail_loc="https://cdn.example/v.jpg",
    title='Dam <opens> & "flows", it\'s\ntrue',
    description="Water\u2028at last \U0001f30a\x00",
    content_loc="https://cdn.example/v.mp4",
    player_loc="https://shop.example/player?v=1&t=2",
    duration=600,
    expiration_date=date(2027, 1, 1),
    rating=Decimal("4.25"),
    view_count=1_234_567,
    publication_date=datetime(2026, 11, 20, 9, 30, tzinfo=UTC),
    tags=("dam", "water & stone"),
    family_friendly=True,
    denied_countries="DE AT",
    requires_subscription=False,
    uploader="The Paper",
    allowed_platforms="web tv",
    live=False,
)
NEWS = News(
    name="The Paper",
    language="en",
    publication_date=datetime(2026, 11, 20, 9, 30, tzinfo=timezone(timedelta(hours=2))),
    title="Dam opens\r\nat last",
)
ENTRIES = [
    Entry("https://shop.example"),
    Entry(
        "https://shop.example/caf\u00e9/?a=1&b='2'",
        lastmod=date(2026, 11, 20),
        changefreq="weekly",
        priority=0.85,
    ),
    Entry(
        "https://shop.example/dam/",
        lastmod=datetime(2026, 11, 20, 9, 30, 0, 999_999, tzinfo=UTC),
        images=[
            Image("https://cdn.example/a.jpg"),
            Image("https://cdn.example/b&c.jpg"),
        ],
        videos=[VIDEO],
        news=NEWS,
        alternates=[
            Alternate("en", "https://shop.example/dam/"),
            Alternate("de", "https://shop.example/de/staudamm/?a=1&b=2"),
            Alternate("x-default", "https://shop.example/dam/"),
        ],
    ),
]


def golden(name: str) -> bytes:
    return (Path(__file__).parents[2] / "golden" / name).read_bytes()


def test_every_extension_is_written_as_its_schema_asks():
    pieces = render_urlset(map(entry_line, ENTRIES), NAMESPACES)
    assert b"".join(pieces) == golden("urlset.xml")
    pieces = render_urlset([entry_line(ENTRIES[0])])
    assert b"".join(pieces) == golden("urlset-plain.xml")


def test_a_stylesheet_is_named_before_the_root():
    """Nothing in its URL ends the instruction, and the rest is as without it."""
    url = "/static/a?b&\"<?>'c.css"
    line = (
        b'<?xml-stylesheet type="text/css" '
        b'href="/static/a?b&amp;&quot;&lt;?&gt;&apos;c.css"?>\n'
    )
    for render in (render_index, lambda lines, url="": render_urlset(lines, (), url)):
        document = b"".join(render([], url))
        declaration, _, rest = b"".join(render([])).partition(b"\n")
        assert document == declaration + b"\n" + line + rest


def test_namespaces_are_declared_in_one_order():
    one = b"".join(render_urlset([], ["xhtml", "image"]))
    assert one == b"".join(render_urlset([], {"image": 1, "xhtml": 1}))
    assert one.index(b"xmlns:image") < one.index(b"xmlns:xhtml")
    assert b"xmlns:video" not in one


def test_it_is_a_stream():
    chunks = iter(["one\n", "two\n"])
    pieces = render_urlset(chunks)
    next(pieces)
    assert next(pieces) == b"one\n"
    assert next(chunks) == "two\n"


def test_a_page_is_a_line():
    """The golden file shows each form of one."""
    lines = chain(
        page_lines(PRODUCTS, 1, [(7, 1, ""), (7, 2, "2026-11-20")]),
        page_lines(BOOKS, 2, [(8, 2, "2026-11-20T09:30:00+00:00")]),
    )
    assert b"".join(render_index(lines)) == golden("index.xml")


def test_only_the_last_number_of_the_url_is_the_page():
    sample = "https://shop7.example/sitemap-top7-7.xml"
    (line,) = page_lines(sample, 7, [(1, 8, "")])
    assert "https://shop7.example/sitemap-top7-8.xml" in line


def test_the_location_is_checked():
    with pytest.raises(ValueError, match="is not an absolute"):
        page_lines("/sitemap-a-1.xml", 1, [(1, 1, "")])


def video(**values: object) -> str:
    needed = {"thumbnail_loc": VIDEO.thumbnail_loc, "title": "T", "description": "D"}
    return video_element(Video(**{**needed, "content_loc": PRODUCTS, **values}))


def relation(name: str, value: str, text: str) -> str:
    return f'<video:{name} relationship="{value}">{text}</video:{name}>'


@pytest.mark.parametrize(
    ("values", "xml"),
    [
        ({"view_count": 0}, "<video:view_count>0</video:view_count>"),
        ({"rating": 4.96}, "<video:rating>5.0</video:rating>"),
        ({"live": True}, "<video:live>yes</video:live>"),
        ({"allowed_countries": "DE"}, relation("restriction", "allow", "DE")),
        ({"denied_countries": "DE"}, relation("restriction", "deny", "DE")),
        ({"denied_platforms": "tv"}, relation("platform", "deny", "tv")),
    ],
)
def test_a_value_of_a_video_has_its_own_form(values, xml):
    """Zero and False are values."""
    assert xml in video(**values)


def test_attributes_are_escaped():
    assert alternate_element(Alternate("de", "https://shop.example/v?a'b&c")) == (
        '<xhtml:link rel="alternate" hreflang="de" '
        'href="https://shop.example/v?a&apos;b&amp;c"/>'
    )


# The characters that production 2 of XML 1.0 allows, written down a second time.
LEGAL = [(0x9, 0xA), (0xD, 0xD), (0x20, 0xD7FF), (0xE000, 0xFFFD), (0x10000, 0x10FFFF)]


def test_exactly_the_forbidden_characters_go():
    """Every one of Unicode's 1,114,112 code points is tried."""
    everything = "".join(map(chr, range(sys.maxunicode + 1)))
    legal = ["".join(map(chr, range(low, high + 1))) for low, high in LEGAL]
    assert drop_illegal(everything) == "".join(legal)


def test_the_five_special_characters_are_references():
    assert escape('<a href="x">&\'') == "&lt;a href=&quot;x&quot;&gt;&amp;&apos;"
    assert escape("&#0; &amp;") == "&amp;#0; &amp;amp;"


def test_limits_are_those_of_the_protocol():
    """sitemaps.org and Google's reference set them; none is ours to change."""
    assert limits.MAX_ENTRIES == 50_000
    assert limits.MAX_BYTES == 50 * 1024 * 1024
    assert limits.HISTORIC_BYTES == 10 * 1024 * 1024
    assert limits.HISTORIC_SITEMAPS == 1_000
    assert limits.MAX_URL_LENGTH == 2_047
    assert limits.MAX_IMAGES == 1_000
    assert limits.MAX_VIDEO_TAGS == 32


TEXT = b"<url><loc>https://example.com/page/</loc></url>\n" * 1_000


@pytest.fixture(params=["isal", "zlib"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "isal":
        pytest.importorskip("isal", reason="the extra 'fast' is not installed")
    else:
        monkeypatch.setattr(compression, "isal_zlib", None)
    return str(request.param)


class TestDocument:
    def test_isal_compresses_where_it_is_installed(self, engine):
        used = type(compression._compressor()).__module__
        assert used.startswith("isal" if engine == "isal" else "zlib")

    def test_it_is_read_by_any_reader_and_always_the_same(self, engine):
        """RFC 1952: flags 0 and mtime 0, so nothing but the input has a say."""
        document = write_document([TEXT, TEXT])
        assert gzip.decompress(document.gzip) == TEXT + TEXT
        assert document.gzip[:8] == b"\x1f\x8b\x08" + bytes(5)
        assert document == write_document([TEXT, TEXT])
        assert "gzip=" not in repr(document)  # a log line stays short

    def test_hashes_and_size_are_those_of_the_bytes(self, engine):
        document = write_document([TEXT[:10], b"", TEXT[10:]])
        assert document.plain_size == len(TEXT)
        assert document.plain_hash == hashlib.sha256(TEXT).hexdigest()
        assert document.gzip_hash == hashlib.sha256(document.gzip).hexdigest()

    @given(st.lists(st.binary(max_size=200), max_size=8))
    def test_how_input_is_cut_does_not_matter_to_the_plain_bytes(self, pieces):
        whole = write_document([b"".join(pieces)])
        parts = write_document(pieces)
        assert parts.plain_hash == whole.plain_hash
        assert inflate(parts.gzip) == b"".join(pieces)

    def test_the_limit_is_the_largest_size_before_compression(self, engine):
        mebibyte = bytes(1024 * 1024)
        assert write_document([mebibyte] * 50).plain_size == MAX_BYTES
        with pytest.raises(LimitExceededError, match="52,428,800 bytes"):
            write_document([*[mebibyte] * 50, b"x"])


class TestInflate:
    def test_a_bomb_is_never_unpacked_whole(self, engine, monkeypatch):
        unpacked = []

        class Spy:
            def __init__(self, window):
                self.stream = real(window)

            def decompress(self, data, max_length):
                plain = self.stream.decompress(data, max_length)
                unpacked.append(len(plain))
                return plain

        library = compression.isal_zlib or zlib
        real = library.decompressobj
        monkeypatch.setattr(library, "decompressobj", Spy)
        with pytest.raises(ValueError, match="more than 1,000 bytes"):
            inflate(gzip.compress(bytes(10_000_000)), max_bytes=1_000)
        assert sum(unpacked) == 1_001

    @pytest.mark.parametrize("length", [0, 9, 15, -8, -1])
    def test_a_file_that_is_cut_short_is_refused(self, engine, length):
        with pytest.raises(ValueError, match="cut short"):
            inflate(gzip.compress(TEXT)[:length])

    @pytest.mark.parametrize("more", [b"junk", gzip.compress(b"again", mtime=0)])
    def test_a_file_followed_by_more_is_refused(self, more):
        """We write one member; anything after it is damage."""
        with pytest.raises(ValueError, match="followed by more"):
            inflate(gzip.compress(TEXT) + more)

    def test_damage_is_refused(self):
        wrong_checksum = bytearray(gzip.compress(TEXT))
        wrong_checksum[-8] ^= 1
        for data in (wrong_checksum, b"plain text", zlib.compress(TEXT)):
            with pytest.raises(ValueError, match="damaged"):
                inflate(bytes(data))


#: Documents of one test; there are five of urlsets and one of indexes.
BATCH = 250

SITEMAP = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
IMAGE, VIDEOS, NEWS_TAG, XHTML, MOBILE = [f"{{{uri}}}" for uri in NAMESPACES.values()]


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


@pytest.mark.parametrize("batch", range(5))
def test_whatever_entries_take_makes_a_valid_urlset(batch):
    """Well-formed, valid, a line an entry, always the same, and nothing lost.

    So are its text sitemap, RSS and Atom, and the gzip file.
    """
    seen: Counter[str] = Counter()
    for seed in seeds():
        entries, content = made(seed, hostile.entry, urlset)
        root = check(seed, content, b"<url>", len(entries))
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
        root = check(seed, content, b"<sitemap>", len(items))
        locs = [item.findtext(f"{SITEMAP}loc") for item in root]
        assert locs == [loc for loc, _, _ in items], seed
        assert index(items) == content, seed


VALID = """<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"
 xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"
 xmlns:mobile="http://www.google.com/schemas/sitemap-mobile/1.0"
 xmlns:news="http://www.google.com/schemas/sitemap-news/0.9"
 xmlns:video="http://www.google.com/schemas/sitemap-video/1.1"
 xmlns:xhtml="http://www.w3.org/1999/xhtml"><url><loc>https://shop.example/</loc>
<lastmod>2026-11-20T10:00:00+00:00</lastmod><changefreq>daily</changefreq>
<priority>0.8</priority><mobile:mobile/><image:image>
<image:loc>https://shop.example/a.jpg</image:loc></image:image><news:news>
<news:publication><news:name>The Paper</news:name><news:language>zh-cn</news:language>
</news:publication><news:publication_date>2026-11-20</news:publication_date>
<news:title>Dam opens</news:title></news:news><video:video>
<video:thumbnail_loc>https://shop.example/t.jpg</video:thumbnail_loc>
<video:title>Title</video:title><video:description>Text</video:description>
<video:player_loc>https://shop.example/p</video:player_loc>
<video:duration>60</video:duration><video:rating>4.5</video:rating>
<video:restriction relationship="allow">DE AT</video:restriction>
<video:platform relationship="deny">web tv</video:platform>
<video:live>no</video:live></video:video>
<xhtml:link rel="alternate" hreflang="de-AT" href="https://shop.example/de/"/>
</url></urlset>"""

#: Replacements after which no schema takes the document.
FAULTS = [
    ("https://shop.example/</loc>", "</loc>"),
    ("https://shop.example/</loc>", f"https://shop.example/{'a' * 2048}</loc>"),
    ("<loc>https://shop.example/</loc>", ""),
    ("2026-11-20T10:00:00+00:00", "2026-11"),
    ("2026-11-20T10:00:00+00:00", "2026-11-20 10:00:00+00:00"),
    ("2026-11-20T10:00:00+00:00", ""),
    ("daily", "Daily"),
    ("<priority>0.8", "<priority>1.1"),
    (
        "<priority>0.8</priority>",
        "<priority>0.8</priority><changefreq>daily</changefreq>",
    ),
    ("<mobile:mobile/>", "<mobile:mobile>yes</mobile:mobile>"),
    ("<mobile:mobile/>", "<mobile:other/>"),
    ("<image:loc>https://shop.example/a.jpg</image:loc>", ""),
    ("zh-cn", "zh-hans"),
    ("zh-cn", "EN"),
    ("<news:name>The Paper</news:name>", ""),
    ("2026-11-20</news", "20 Nov</news"),
    ("<video:title>Title", f"<video:title>{'a' * 101}"),
    ("<video:description>Text", f"<video:description>{'a' * 2049}"),
    ("<video:title>Title</video:title>", ""),
    (">60<", ">28801<"),
    (">4.5<", ">5.1<"),
    ("DE AT", "DE,AT"),
    (' relationship="allow"', ""),
    ("web tv", "web,tv"),
    ("no</video:live>", "maybe</video:live>"),
    (' rel="alternate"', ""),
    ("de-AT", "de_AT"),
    (' href="https://shop.example/de/"', ""),
]

#: The same, of what the published schemas take and the text of the rules does not.
STRICTER = [
    ("https://shop.example/</loc>", "ftp://shop.example/</loc>"),
    ("2026-11-20T10:00:00+00:00", "2026-11-20T10:00:00"),
    ("<news:title>Dam opens</news:title>", ""),
    ("Dam opens", ""),
    ("<video:title>Title", "<video:title>"),
    ("<video:player_loc>https://shop.example/p</video:player_loc>", ""),
    (">60<", ">0<"),
]


def test_schemas_take_what_is_valid():
    for schema in schemas("urlset"):
        schema.assertValid(etree.fromstring(VALID))


@pytest.mark.parametrize(("text", "fault"), FAULTS)
def test_schemas_refuse_what_is_invalid(text: str, fault: str):
    """Ours does; so does the published one, where there is a copy of it."""
    assert VALID.count(text) == 1
    root = etree.fromstring(VALID.replace(text, fault))
    assert not any(schema.validate(root) for schema in schemas("urlset"))


@pytest.mark.parametrize(("text", "fault"), STRICTER)
def test_our_schema_knows_what_the_published_one_does_not_say(text: str, fault: str):
    ours, *published = schemas("urlset")
    root = etree.fromstring(VALID.replace(text, fault))
    assert not ours.validate(root)
    assert all(schema.validate(root) for schema in published)


def test_schemas_refuse_empty_documents():
    for content, name in ((urlset([]), "urlset"), (index([]), "sitemapindex")):
        root = etree.fromstring(content)
        assert not any(schema.validate(root) for schema in schemas(name))


def seeds() -> Iterator[str]:
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


def check(seed: str, content: bytes, start: bytes, count: int) -> Any:
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
    for schema in schemas(root.tag.removeprefix(SITEMAP)):
        assert schema.validate(root), f"seed={seed}: {schema.error_log}"
    return root


def texts(url: Any, path: str) -> list[str]:
    return [element.text or "" for element in url.iterfind(path)]


def one_line(text: str) -> str:
    return drop_illegal(" ".join(text.splitlines()))


def facts_read(url: Any) -> Iterator[tuple[str, Any]]:
    for field in ("loc", "lastmod", "changefreq"):
        yield field, url.findtext(f"{SITEMAP}{field}")
    yield "images", texts(url, f"{IMAGE}image/{IMAGE}loc")
    for field in ("title", "description", "tag", "thumbnail_loc", "uploader"):
        yield field, texts(url, f"{VIDEOS}video/{VIDEOS}{field}")
    yield "news", texts(url, f"{NEWS_TAG}news/{NEWS_TAG}title")
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
