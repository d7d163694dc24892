"""The bytes of a urlset."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

from django_sitemaps_plus.core.entries import Alternate, Entry, Image, News, Video
from django_sitemaps_plus.core.renderers import entry_line, render_urlset
from django_sitemaps_plus.core.renderers.extensions import NAMESPACES

from .golden import golden

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


def test_every_extension_is_written_as_its_schema_asks():
    """The golden file shows the order and form of every element."""
    pieces = render_urlset(map(entry_line, ENTRIES), NAMESPACES)
    assert b"".join(pieces) == golden("urlset.xml")


def test_without_extensions_no_other_namespace_is_declared():
    pieces = render_urlset([entry_line(ENTRIES[0])])
    assert b"".join(pieces) == golden("urlset-plain.xml")


def test_namespaces_are_declared_in_one_order():
    """However the source names them, so that the bytes are the same."""
    one = b"".join(render_urlset([], ["xhtml", "image"]))
    assert one == b"".join(render_urlset([], {"image": 1, "xhtml": 1}))
    assert one.index(b"xmlns:image") < one.index(b"xmlns:xhtml")
    assert b"xmlns:video" not in one


def test_it_is_a_stream():
    """A chunk is asked for when the one before has been taken."""
    chunks = iter(["one\n", "two\n"])
    pieces = render_urlset(chunks)
    next(pieces)
    assert next(pieces) == b"one\n"
    assert next(chunks) == "two\n"
