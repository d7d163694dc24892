"""Text made fit for XML 1.0."""

from __future__ import annotations

import sys

from django_sitemaps_plus.core.xml import drop_illegal, escape

# The characters that production 2 of XML 1.0 allows, written down a second time.
LEGAL = [(0x9, 0xA), (0xD, 0xD), (0x20, 0xD7FF), (0xE000, 0xFFFD), (0x10000, 0x10FFFF)]


def is_legal(number: int) -> bool:
    return any(low <= number <= high for low, high in LEGAL)


def test_exactly_the_forbidden_characters_go():
    """Every one of Unicode's 1,114,112 code points is tried."""
    everything = "".join(map(chr, range(sys.maxunicode + 1)))
    legal = [chr(n) for n in range(sys.maxunicode + 1) if is_legal(n)]
    assert drop_illegal(everything) == "".join(legal)


def test_the_five_special_characters_are_references():
    """In text and attributes alike; what looks like a reference is text."""
    assert escape('<a href="x">&\'') == "&lt;a href=&quot;x&quot;&gt;&amp;&apos;"
    assert escape("&#0; &amp;") == "&amp;#0; &amp;amp;"
