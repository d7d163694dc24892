"""Extension elements that the golden file does not show."""

from __future__ import annotations

import pytest

from django_sitemaps_plus.core.extensions import Alternate, Video
from django_sitemaps_plus.core.renderers.extensions import extension_elements

URL = "https://shop.example/v"


def video(**values: object) -> str:
    """Return the XML of a video with the values."""
    needed = {"thumbnail_loc": URL, "title": "T", "description": "D"}
    made = Video(**{**needed, "content_loc": URL, **values})  # type: ignore[arg-type]
    return extension_elements(videos=[made])


def test_attributes_are_escaped():
    """A quotation mark cannot end them."""
    assert extension_elements(alternates=[Alternate("de", f"{URL}?a'b&c")]) == (
        '<xhtml:link rel="alternate" hreflang="de" '
        'href="https://shop.example/v?a&apos;b&amp;c"/>'
    )


class TestVideo:
    @pytest.mark.parametrize(
        ("values", "xml"),
        [
            ({"view_count": 0}, "<video:view_count>0</video:view_count>"),
            ({"rating": 4.96}, "<video:rating>5.0</video:rating>"),
            ({"live": True}, "<video:live>yes</video:live>"),
            (
                {"allowed_countries": "DE"},
                '<video:restriction relationship="allow">DE</video:restriction>',
            ),
            (
                {"denied_countries": "DE"},
                '<video:restriction relationship="deny">DE</video:restriction>',
            ),
            (
                {"denied_platforms": "tv"},
                '<video:platform relationship="deny">tv</video:platform>',
            ),
        ],
    )
    def test_a_value_has_its_own_form(self, values, xml):
        """Zero and False are values; relations say which way they go."""
        assert xml in video(**values)

    @pytest.mark.parametrize(
        "end", ["\n", "\r", "\r\n", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029"]
    )
    def test_a_line_end_in_a_text_is_a_space(self, end):
        """One entry is one line, for every reader's idea of a line."""
        assert "<video:title>a b</video:title>" in video(title=f"a{end}b")
