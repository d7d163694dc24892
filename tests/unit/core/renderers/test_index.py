"""The bytes of an index."""

from __future__ import annotations

from itertools import chain

import pytest

from django_sitemaps_plus.core.renderers import page_lines, render_index

from .golden import golden

PRODUCTS = "https://shop.example/sitemap-products-1.xml"
BOOKS = "https://shop.example/b\u00fccher/sitemap.xml?a=1&b=2"


def test_a_page_is_a_line():
    """The golden file shows each form of one."""
    lines = chain(
        page_lines(PRODUCTS, 1, [(7, 1, ""), (7, 2, "2026-11-20")]),
        page_lines(BOOKS, 2, [(8, 2, "2026-11-20T09:30:00+00:00")]),
    )
    assert b"".join(render_index(lines)) == golden("index.xml")


def test_only_the_last_number_of_the_url_is_the_page():
    """A host or a section may have the same digits."""
    sample = "https://shop7.example/sitemap-top7-7.xml"
    (line,) = page_lines(sample, 7, [(1, 8, "")])
    assert "https://shop7.example/sitemap-top7-8.xml" in line


def test_the_location_is_checked():
    with pytest.raises(ValueError, match="is not an absolute"):
        page_lines("/sitemap-a-1.xml", 1, [(1, 1, "")])
