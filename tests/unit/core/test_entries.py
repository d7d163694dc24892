"""Entries and what is in them check themselves, value by value."""

import math
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from typing import Any

import pytest
from django.conf import global_settings
from hypothesis import given
from hypothesis import strategies as st

from django_sitemaps_plus.core.dates import W3C_LENGTH, check_w3c, parse_w3c, w3c
from django_sitemaps_plus.core.entries import (
    CHANGEFREQS,
    Entry,
    check_changefreq,
    check_images,
    check_priority,
    format_priority,
)
from django_sitemaps_plus.core.extensions import Alternate, Image, News, Video

OFFSETS = st.integers(-1439, 1439).map(lambda n: timezone(timedelta(minutes=n)))
MOMENTS = st.datetimes(
    datetime(2, 1, 1),  # noqa: DTZ001 - Hypothesis adds the time zone
    datetime(9998, 12, 31),  # noqa: DTZ001
    timezones=OFFSETS,
)


def test_a_moment_is_written_in_utc_and_a_date_as_it_is():
    """Fractions are cut off: the last microsecond of a second belongs to it."""
    assert w3c(date(2026, 11, 20)) == "2026-11-20"
    moment = datetime(2026, 11, 20, 9, 30, tzinfo=timezone(timedelta(hours=5.5)))
    assert w3c(moment) == "2026-11-20T04:00:00+00:00"
    moment = datetime(2026, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)
    assert w3c(moment) == "2026-12-31T23:59:59+00:00"


@pytest.mark.parametrize(
    ("value", "error", "said"),
    [
        (datetime(2026, 11, 20), ValueError, "no time zone"),  # noqa: DTZ001
        # Not an OverflowError.
        (datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=1))), ValueError, "in UTC"),
        (datetime.max.replace(tzinfo=timezone(-timedelta(hours=2))), ValueError, "UTC"),
        *[(it, TypeError, "is not a date") for it in ("2026-11-20", 20261120, None)],
    ],
)
def test_what_is_no_moment_of_the_calendar_is_refused(value, error, said):
    with pytest.raises(error, match=said):
        w3c(value)


@given(MOMENTS, MOMENTS)
def test_moments_read_back_to_the_second_and_sort_as_text(one, other):
    """The newest lastmod is found by comparing text."""
    assert len(w3c(one)) == W3C_LENGTH
    assert parse_w3c(w3c(one)) == one.replace(microsecond=0)
    if one.replace(microsecond=0) < other.replace(microsecond=0):
        assert w3c(one) < w3c(other)
    assert check_w3c(w3c(one)) == w3c(one)
    assert check_w3c(w3c(one.date())) == w3c(one.date())


@pytest.mark.parametrize(
    "text",
    [
        *("", "20261120", "2026-13-01", "0000-01-01", "2026-W47-5", "+026-11-20"),
        *("2026-11-2\uff10", "2026-11-20T09:30:00Z", "2026-11-20 09:30:00+00:00"),
        *("2026-11-20T09:30:00+02:00", "2026-11-20T09:30:00.5+00:00"),
    ],
)
def test_any_other_form_is_refused(text):
    with pytest.raises(ValueError, match=r"\w"):
        check_w3c(text)


def test_a_date_is_its_midnight_in_utc():
    assert parse_w3c("2026-11-20") == datetime(2026, 11, 20, tzinfo=UTC)


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
            *((0, "0.0"), (1, "1.0"), (0.85, "0.85"), (-0.0, "0.0"), ("0.5", "0.5")),
            *((Decimal("0.70"), "0.7"), (1 / 3, "0.3333"), (1e-9, "0.0")),
            (Enum("Rank", {"FIRST": "0.5"}, type=str).FIRST, "0.5"),
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
    @pytest.mark.parametrize(
        ("values", "error"),
        [
            ({"lastmod": datetime(2026, 11, 20)}, ValueError),  # noqa: DTZ001
            ({"lastmod": "2026-11-20"}, TypeError),
            ({"changefreq": "sometimes"}, ValueError),
            ({"priority": 2}, ValueError),
            ({"images": [5]}, TypeError),
            ({"videos": [Image(LOC)]}, TypeError),
            *[({"news": it}, TypeError) for it in ("Dam opens", {}, 0, Image(LOC))],
            ({"alternates": [("de", LOC)]}, TypeError),
        ],
    )
    def test_a_bad_value_is_refused(self, values, error):
        with pytest.raises(error):
            Entry(LOC, **values)


class TestImages:
    def test_a_plain_url_is_an_image(self):
        image = Image("https://cdn.example/a.jpg")
        for given_images in (image.loc, image, [image.loc], [image]):
            assert check_images(given_images) == (image,)

    def test_1_000_are_the_most(self):
        """Google's limit for one URL."""
        images = [Image(f"https://cdn.example/{n}.jpg") for n in range(1_000)]
        assert len(check_images(images)) == 1_000
        with pytest.raises(ValueError, match="1,001 images: at most 1,000"):
            check_images([*images, images[0]])


URL = "https://shop.example/v"


def video(**values: Any) -> Video:
    needed = {"thumbnail_loc": URL, "title": "T", "description": "D"}
    return Video(**{**needed, "content_loc": URL, **values})


def news(**values: Any) -> News:
    needed = {"name": "P", "language": "en", "title": "T"}
    return News(**{**needed, "publication_date": date(2026, 11, 20), **values})


@pytest.mark.parametrize("loc", ["/a.jpg", "data:image/png;base64,", ""])
def test_the_url_of_an_image_is_absolute_and_encoded(loc):
    assert Image("https://CDN.example/\u00fc").loc == "https://cdn.example/%C3%BC"
    with pytest.raises(ValueError, match="is not an absolute"):
        Image(loc)


class TestAlternate:
    @pytest.mark.parametrize(
        "code",
        ["de", "DE", "pt-BR", "zh-hans", "zh-Hant-TW", "es-419", "gsw", "x-default"],
    )
    def test_a_language_code_is_taken(self, code):
        alternate = Alternate(code, f"{URL}/\u00fc")
        assert (alternate.hreflang, alternate.href) == (code, f"{URL}/%C3%BC")

    @pytest.mark.parametrize(
        "code",
        [
            *("", "d", "german", "de_DE", "de-", "-de", "de\n", "d\u00e9", "X-DEFAULT"),
            *("*", "de-1996", "ca-valencia", "zh-TW-Hant", "en-x-twain", "es-41"),
        ],
    )
    def test_anything_else_is_refused(self, code):
        with pytest.raises(ValueError, match="is not a language code"):
            Alternate(code, URL)


class TestDoubts:
    """A code of the right form that is none of ISO's: it is written all the same."""

    @pytest.mark.parametrize(
        ("code", "meant"),
        [
            *(("en-UK", "en-GB"), ("jp", "ja"), ("es-LA", "es-419"), ("en-EU", "en")),
            *(("us", "en-US"), ("qq", ""), ("uk-UK", "uk"), ("ja-JA", "ja")),
            *(("cn-CN", "zh-CN"), ("kz", "kk"), ("iw", "he"), ("eng-GB", "en-GB")),
            *(("ger", "de"), ("sr-Latn-YU", "sr-Latn-RS"), ("en-Latt-GB", "en-GB")),
            *(("xx", ""), ("en-999", "en"), ("el-EL", "el"), ("EN-uk", "en-GB")),
            ("sr-CS", "sr-RS"),
        ],
    )
    def test_a_language_says_what_was_probably_meant(self, code, meant):
        doubt = Alternate(code, URL).doubt
        assert repr(code) in doubt
        assert (f"mean {meant!r}?" in doubt) if meant else ("mean" not in doubt)

    @pytest.mark.parametrize(
        "code",
        [
            *[code for code, _ in global_settings.LANGUAGES],
            *("x-default", "es-419", "zh-Hant-HK", "fil-PH", "sq-XK", "uz-Cyrl", "gsw"),
        ],
    )
    def test_a_code_that_means_something_passes(self, code):
        assert Alternate(code, URL).doubt == ""

    @pytest.mark.parametrize(
        ("language", "meant"), [("jp", "'ja'"), ("us", "'en'"), ("cz", "'cs'")]
    )
    def test_a_language_of_news(self, language, meant):
        """Google takes those of three letters, and none with a region but Chinese."""
        assert f"Did you mean {meant}?" in news(language=language).doubt
        for known in ("en", "eng", "zh-cn", "zh-tw"):
            assert news(language=known).doubt == ""

    @pytest.mark.parametrize("name", ["allowed_countries", "denied_countries"])
    def test_countries_of_a_video(self, name):
        doubt = video(**{name: "FR UK EU"}).doubt
        assert "'UK'" in doubt
        assert doubt.endswith("Did you mean 'GB'?")
        assert video(**{name: "FR GB"}).doubt == video().doubt == ""


class TestNews:
    @pytest.mark.parametrize("language", ["", "EN", "en-us", "zh-hans", "e", "en\n"])
    def test_other_language_codes_are_refused(self, language):
        """Django's own are often none of Google's."""
        with pytest.raises(ValueError, match="news language"):
            news(language=language)

    @pytest.mark.parametrize("field", ["name", "title"])
    @pytest.mark.parametrize("text", ["", "\0", "\n"])
    def test_name_and_title_are_needed(self, field, text):
        """Line ends and characters that XML forbids are not written."""
        with pytest.raises(ValueError, match=f"news {field} .*0 characters"):
            news(**{field: text})
        with pytest.raises(TypeError, match=f"news {field} None"):
            news(**{field: None})

    def test_its_date_is_needed(self):
        with pytest.raises(TypeError, match="is not a date"):
            news(publication_date="2026-11-20")


class TestVideo:
    @pytest.mark.parametrize("field", ["thumbnail_loc", "content_loc", "player_loc"])
    def test_each_url_is_encoded_and_checked(self, field):
        assert getattr(video(**{field: f"{URL}/\u00fc"}), field) == f"{URL}/%C3%BC"
        with pytest.raises(ValueError, match="is not an absolute"):
            video(**{field: "/relative"})

    @pytest.mark.parametrize(
        ("field", "most"), [("title", 100), ("description", 2_048), ("uploader", 255)]
    )
    def test_a_text_has_a_greatest_length(self, field, most):
        """Google's limits, in characters."""
        assert getattr(video(**{field: "\u00fc" * most}), field) == "\u00fc" * most
        with pytest.raises(ValueError, match=f"video {field} .*{most + 1:,} char"):
            video(**{field: "\u00fc" * (most + 1)})
        with pytest.raises(TypeError, match=f"video {field} 5"):
            video(**{field: 5})

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            *(("duration", 28_800), ("rating", 0), ("rating", Decimal("4.25"))),
            *(("view_count", 0), ("live", False), ("family_friendly", None)),
            *(("allowed_countries", "DE"), ("denied_platforms", "mobile tv")),
            ("tags", tuple(f"tag {n}" for n in range(32))),
        ],
    )
    def test_what_the_schema_allows_is_taken(self, field, value):
        assert getattr(video(**{field: value}), field) == value

    @pytest.mark.parametrize(
        ("values", "error", "said"),
        [
            *[({"duration": n}, ValueError, "duration ") for n in (0, 28_801)],
            *[({"rating": n}, ValueError, "rating ") for n in (-0.1, 5.1, math.nan)],
            ({"rating": Decimal("sNaN")}, ValueError, "rating "),
            ({"view_count": -1}, ValueError, "view_count "),
            ({"allowed_countries": "de"}, ValueError, ""),
            ({"denied_countries": "DE, AT"}, ValueError, ""),
            *[
                ({"allowed_platforms": it}, ValueError, "")
                for it in ("watch", "web,tv")
            ],
            ({"denied_platforms": "web\n"}, ValueError, ""),
            *[({"duration": it}, TypeError, "duration ") for it in ("60", 1.5, True)],
            *[({"rating": it}, TypeError, "rating ") for it in (True, "4")],
            ({"view_count": 1.5}, TypeError, "view_count "),
            ({"family_friendly": "yes"}, TypeError, "family_friendly "),
            ({"requires_subscription": 1}, TypeError, "requires_subscription "),
            ({"live": ""}, TypeError, "live "),
        ],
    )
    def test_other_values_are_refused(self, values, error, said):
        """Seconds and views are whole; neither a word nor a number is a flag."""
        with pytest.raises(error, match=f"^video {said}"):
            video(**values)

    @pytest.mark.parametrize(
        ("values", "said"),
        [
            ({"content_loc": None}, "needs a content_loc or a player_loc"),
            ({"tags": ["tag"] * 33}, "33 video tags"),
            (
                {"allowed_countries": "DE", "denied_countries": "DE"},
                "allowed or denied countries",
            ),
            (
                {"allowed_platforms": "web", "denied_platforms": "web"},
                "allowed or denied platforms",
            ),
        ],
    )
    def test_what_does_not_go_together_is_refused(self, values, said):
        with pytest.raises(ValueError, match=said):
            video(**values)

    def test_a_player_is_enough(self):
        assert video(content_loc=None, player_loc=URL).player_loc == URL
