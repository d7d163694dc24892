"""Text made fit for XML 1.0."""

from __future__ import annotations

import sys
from xml.parsers import expat

from hypothesis import given
from hypothesis import strategies as st

from django_sitemaps_plus.core.xml import drop_illegal, escape

# The characters that production 2 of XML 1.0 allows, written down a second time.
LEGAL = [(0x9, 0xA), (0xD, 0xD), (0x20, 0xD7FF), (0xE000, 0xFFFD), (0x10000, 0x10FFFF)]

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=60)


def is_legal(number: int) -> bool:
    return any(low <= number <= high for low, high in LEGAL)


def read(xml: str) -> tuple[str, dict[str, str]]:
    """Return the text and the attributes of an element, as expat sees them."""
    texts: list[str] = []
    attributes: dict[str, str] = {}
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = lambda name, found: attributes.update(found)
    parser.CharacterDataHandler = texts.append
    parser.Parse(xml.encode(), True)
    return "".join(texts), attributes


def test_exactly_the_forbidden_characters_go():
    """Every one of Unicode's 1,114,112 code points is tried."""
    everything = "".join(map(chr, range(sys.maxunicode + 1)))
    legal = [chr(n) for n in range(sys.maxunicode + 1) if is_legal(n)]
    assert drop_illegal(everything) == "".join(legal)


def test_the_five_special_characters_are_references():
    """In text and attributes alike; what looks like a reference is text."""
    assert escape('<a href="x">&\'') == "&lt;a href=&quot;x&quot;&gt;&amp;&apos;"
    assert escape("&#0; &amp;") == "&amp;#0; &amp;amp;"


@given(ANY_TEXT)
def test_a_parser_reads_the_text_back(text):
    """Nothing is lost but what XML forbids and what it does to line ends."""
    element = f'<a b="{escape(text)}">{escape(text)}</a>'
    legal = drop_illegal(text).replace("\r\n", "\n").replace("\r", "\n")
    found, attributes = read(element)
    assert found == legal
    assert attributes["b"] == legal.replace("\n", " ").replace("\t", " ")
