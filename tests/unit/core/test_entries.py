"""Entries check themselves when they are made."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from django_sitemaps_plus.core.entries import (
    CHANGEFREQS,
    Alternate,
    Entry,
    Image,
    check_changefreq,
    check_images,
    check_priority,
    format_priority,
)

LOC = "https://shop.example/a/"


@pytest.mark.parametrize("value", ["", "Daily", " daily", "daily\n", "soon", 1, []])
def test_a_changefreq_is_one_of_seven_words(value):
    """Case and spaces count: the schema takes them literally."""
    assert [check_changefreq(word) for word in CHANGEFREQS] == list(CHANGEFREQS)
    with pytest.raises(ValueError, match="is not one of always, hourly"):
        check_changefreq(value)


class TestPriority:
    @pytest.mark.parametrize(
        ("value", "text"),
        [
            (0, "0.0"),
            (1, "1.0"),
            (0.85, "0.85"),
            (-0.0, "0.0"),
            (Decimal("0.70"), "0.7"),
            ("0.5", "0.5"),
            (1 / 3, "0.3333"),
            (1e-9, "0.0"),
        ],
    )
    def test_a_number_from_0_to_1_is_written_without_exponent(self, value, text):
        assert format_priority(check_priority(value)) == text

    @pytest.mark.parametrize(
        "value",
        [
            *(-0.1, 1.0001, math.nan, math.inf, 10**400, Decimal("sNaN")),
            *(True, "", "1e-1", "\u0660.\u0665", b"0.5"),
        ],
    )
    def test_anything_else_is_refused(self, value):
        with pytest.raises(ValueError, match=r"."):
            check_priority(value)


class TestEntry:
    def test_values_are_put_in_their_final_form(self):
        """URLs encoded, lists made tuples, a priority a number."""
        entry = Entry(
            "HTTPS://shop.example/caf\u00e9",
            priority="0.5",
            images=["https://cdn.example/\u00fc.jpg"],
            alternates=[Alternate("de", "https://shop.example/de/\u00fc")],
        )
        assert entry.loc == "https://shop.example/caf%C3%A9"
        assert entry.priority == 0.5
        assert entry.images == (Image("https://cdn.example/%C3%BC.jpg"),)
        assert entry.alternates[0].href == "https://shop.example/de/%C3%BC"

    @pytest.mark.parametrize(
        ("values", "error"),
        [
            ({"lastmod": datetime(2026, 11, 20)}, ValueError),  # noqa: DTZ001
            ({"lastmod": "2026-11-20"}, TypeError),
            ({"changefreq": "sometimes"}, ValueError),
            ({"priority": 2}, ValueError),
            ({"images": [5]}, TypeError),
            ({"videos": [Image(LOC)]}, TypeError),
            ({"news": "Dam opens"}, TypeError),
            ({"alternates": [("de", LOC)]}, TypeError),
        ],
    )
    def test_a_bad_value_is_refused(self, values, error):
        """An entry that exists can always be written."""
        with pytest.raises(error):
            Entry(LOC, **values)

    def test_its_lastmod_is_w3c_text(self):
        assert Entry(LOC).lastmod_text is None
        assert Entry(LOC, lastmod=date(2026, 11, 20)).lastmod_text == "2026-11-20"
        moment = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)
        text = Entry(LOC, lastmod=moment).lastmod_text
        assert text == "2026-11-20T09:30:00+00:00"


class TestImages:
    def test_a_plain_url_is_an_image(self):
        image = Image("https://cdn.example/a.jpg")
        assert check_images("https://cdn.example/a.jpg") == (image,)
        assert check_images(image) == (image,)
        assert check_images(["https://cdn.example/a.jpg", image]) == (image, image)

    def test_1_000_are_the_most(self):
        """Google's limit for one URL."""
        images = [Image(f"https://cdn.example/{n}.jpg") for n in range(1_000)]
        assert len(check_images(images)) == 1_000
        with pytest.raises(ValueError, match="1,001 images: at most 1,000"):
            check_images([*images, images[0]])


@pytest.mark.parametrize("value", ["T", {}, 0, Image(LOC)])
def test_news_are_news_or_none(value):
    assert Entry(LOC, news=None).news is None
    with pytest.raises(TypeError, match="is not of the class News"):
        Entry(LOC, news=value)
