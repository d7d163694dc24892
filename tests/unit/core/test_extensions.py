"""Images, videos, news and language versions, rule by rule."""

from __future__ import annotations

import math
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from django.conf import global_settings

from django_sitemaps_plus.core.extensions import Alternate, Image, News, Video

URL = "https://shop.example/v"


def video(**values: Any) -> Video:
    needed = {"thumbnail_loc": URL, "title": "T", "description": "D"}
    return Video(**{**needed, "content_loc": URL, **values})


def news(**values: Any) -> News:
    needed = {"name": "P", "language": "en", "title": "T"}
    return News(**{**needed, "publication_date": date(2026, 11, 20), **values})


@pytest.mark.parametrize("loc", ["/a.jpg", "data:image/png;base64,", ""])
def test_the_url_of_an_image_is_absolute_and_encoded(loc):
    """It may be on any host."""
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

    @pytest.mark.parametrize("code", [code for code, _ in global_settings.LANGUAGES])
    def test_djangos_own_pass(self, code):
        assert Alternate(code, URL).doubt == ""

    @pytest.mark.parametrize(
        "code",
        [
            "x-default",
            "es-419",
            "zh-Hant-HK",
            "uk",
            "gsw",
            "fil-PH",
            "sq-XK",
            "uz-Cyrl",
        ],
    )
    def test_others_pass(self, code):
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
    def test_name_and_title_are_needed(self, field):
        with pytest.raises(ValueError, match=f"news {field} .*0 characters"):
            news(**{field: ""})
        with pytest.raises(TypeError, match=f"news {field} None"):
            news(**{field: None})

    def test_its_date_is_needed(self):
        with pytest.raises(TypeError, match="is not a date"):
            news(publication_date="2026-11-20")


class TestVideoUrls:
    def test_content_or_player_is_needed(self):
        assert video(content_loc=None, player_loc=URL).player_loc == URL
        with pytest.raises(ValueError, match="needs a content_loc or a player_loc"):
            video(content_loc=None)

    @pytest.mark.parametrize("field", ["thumbnail_loc", "content_loc", "player_loc"])
    def test_each_url_is_encoded_and_checked(self, field):
        assert getattr(video(**{field: f"{URL}/\u00fc"}), field) == f"{URL}/%C3%BC"
        with pytest.raises(ValueError, match="is not an absolute"):
            video(**{field: "/relative"})


class TestVideoTexts:
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

    def test_32_tags_are_the_most(self):
        tags = [f"tag {n}" for n in range(32)]
        assert video(tags=tags).tags == tuple(tags)
        with pytest.raises(ValueError, match="33 video tags"):
            video(tags=[*tags, "one more"])


class TestVideoValues:
    @pytest.mark.parametrize(
        ("field", "value"),
        [
            *(("duration", 28_800), ("rating", 0), ("rating", Decimal("4.25"))),
            *(("view_count", 0), ("live", False), ("family_friendly", None)),
            *(("allowed_countries", "DE"), ("denied_platforms", "mobile tv")),
        ],
    )
    def test_what_the_schema_allows_is_taken(self, field, value):
        assert getattr(video(**{field: value}), field) == value

    @pytest.mark.parametrize(
        ("field", "values"),
        [
            ("duration", (0, 28_801)),
            ("rating", (-0.1, 5.1, math.nan, Decimal("sNaN"))),
            ("view_count", (-1,)),
            ("allowed_countries", ("de",)),
            ("denied_countries", ("DE, AT",)),
            ("allowed_platforms", ("watch", "web,tv")),
            ("denied_platforms", ("web\n",)),
        ],
    )
    def test_what_it_does_not_is_refused(self, field, values):
        for value in values:
            with pytest.raises(ValueError, match=r"^video "):
                video(**{field: value})

    @pytest.mark.parametrize(
        ("field", "values"),
        [
            *(("duration", ("60", 1.5, True)), ("rating", (True, "4"))),
            *(("view_count", (1.5,)), ("family_friendly", ("yes",))),
            *(("requires_subscription", (1,)), ("live", ("",))),
        ],
    )
    def test_a_value_of_another_kind_is_refused(self, field, values):
        """Seconds and views are whole; neither a word nor a number is a flag."""
        for value in values:
            with pytest.raises(TypeError, match=f"video {field} "):
                video(**{field: value})

    @pytest.mark.parametrize(
        ("what", "value"), [("countries", "DE"), ("platforms", "web")]
    )
    def test_a_video_has_either_allowed_or_denied(self, what, value):
        with pytest.raises(ValueError, match=f"allowed or denied {what}"):
            video(**{f"allowed_{what}": value, f"denied_{what}": value})
