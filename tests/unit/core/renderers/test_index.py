"""The bytes of an index."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from django_sitemaps_plus.core.renderers import IndexItem, render_index

from .golden import golden

ITEMS = [
    IndexItem("https://shop.example/sitemap-products-1.xml"),
    IndexItem("https://shop.example/sitemap-products-2.xml", date(2026, 11, 20)),
    IndexItem(
        "https://shop.example/b\u00fccher/sitemap.xml?a=1&b=2",
        datetime(2026, 11, 20, 9, 30, tzinfo=UTC),
    ),
]


class TestRenderIndex:
    def test_a_page_is_a_line(self):
        """The golden file shows each form of an item."""
        assert b"".join(render_index(ITEMS)) == golden("index.xml")

    def test_it_is_a_stream(self):
        """An item is asked for when the one before has been taken."""
        items = iter(ITEMS)
        pieces = render_index(items)
        next(pieces)
        next(pieces)
        assert next(items) is ITEMS[1]


class TestIndexItem:
    @pytest.mark.parametrize("loc", ["/sitemap.xml", "", "ftp://shop.example/"])
    def test_its_location_is_checked(self, loc):
        """As that of an entry."""
        with pytest.raises(ValueError, match="is no absolute"):
            IndexItem(loc)

    def test_its_lastmod_is_checked(self):
        """An item that exists can be written."""
        with pytest.raises(ValueError, match="no time zone"):
            IndexItem("https://shop.example/", datetime(2026, 1, 1))  # noqa: DTZ001
        with pytest.raises(TypeError, match="is no date"):
            IndexItem("https://shop.example/", "2026-01-01")
