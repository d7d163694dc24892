"""Rows become lines, and what cannot be listed is left out and named."""

from __future__ import annotations

import gc
import weakref
from collections import UserString
from dataclasses import replace
from datetime import UTC, date, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from django.utils.functional import lazystr

from django_sitemaps_plus import Alternate, News, Video
from django_sitemaps_plus.sources.columns import DoubtError, called, constant
from django_sitemaps_plus.sources.fields import COLUMNS, FIELDS
from django_sitemaps_plus.sources.lines import Tally, describe, lines_of
from django_sitemaps_plus.sources.related import several_column
from tests.support.testapp.models import Author

ORIGIN = "https://shop.example"
URL = f"{ORIGIN}/a/"

NEWS = News(name="N", language="en", publication_date=date(2026, 1, 1), title="T")
VIDEO = Video(
    thumbnail_loc=URL,
    title="T",
    description="D",
    content_loc=URL,
    allowed_countries="UK",
)


def render(
    rows: list[Any], *, raises: bool = False, origin: str | None = ORIGIN, **values: Any
) -> tuple[str, Tally]:
    """Render rows that are their own locations, each with the values."""
    getters = {name: constant(value) for name, value in values.items()}
    lines = lines_of({"location": called(lambda row: row), **getters}, origin, raises)
    tally = Tally("section")
    return lines.render(rows, tally), tally


class TestLocation:
    def test_paths_and_urls_are_listed_in_their_order(self):
        """Each is a line, and counted."""
        text, tally = render(["/b/", URL, "/caf\u00e9/"])
        assert text == (
            f"<url><loc>{ORIGIN}/b/</loc></url>\n"
            f"<url><loc>{ORIGIN}/a/</loc></url>\n"
            f"<url><loc>{ORIGIN}/caf%C3%A9/</loc></url>\n"
        )
        assert (tally.entries, tally.skipped) == (3, 0)

    def test_a_lazy_text_is_a_location(self):
        """As reverse_lazy() gives."""
        assert URL in render([lazystr("/a/")])[0]

    def test_one_that_raises_leaves_its_row_out(self):
        """Whatever it raises."""
        lines = lines_of({"location": called(lambda row: 1 / row)}, ORIGIN, False)
        tally = Tally("section")
        assert lines.render([0], tally) == ""
        assert tally.problems == ["row 0 left out: ZeroDivisionError: division by zero"]

    def test_a_source_may_ask_for_the_error(self):
        """It stops the page."""
        with pytest.raises(ValueError, match="is not on"):
            render(["https://other.example/"], raises=True)

    def test_a_bad_row_keeps_no_other_in_memory(self):
        """An error's frames would hold its batch until the next garbage collection."""
        rows = list(map(UserString, ("/a/", "//bad", "/b/")))
        batch = list(map(weakref.ref, rows))
        lines = lines_of({"location": called(str)}, ORIGIN, False)
        gc.disable()
        try:
            lines.render(rows, Tally("section"))
            rows.clear()
            assert [row() for row in batch] == [None, None, None]
        finally:
            gc.enable()

    def test_without_an_origin_any_absolute_url_is_listed(self):
        """For classes that decide themselves which hosts they list."""
        text, _ = render(["https://other.example/"], origin=None)
        assert "<loc>https://other.example/</loc>" in text


class TestValues:
    def test_all_of_them_in_the_order_of_the_schema(self):
        """However they are declared."""
        text, _ = render(
            ["/a/"], priority="0.5", changefreq="daily", lastmod=date(2026, 11, 20)
        )
        assert text == (
            f"<url><loc>{URL}</loc><lastmod>2026-11-20</lastmod>"
            "<changefreq>daily</changefreq><priority>0.5</priority></url>\n"
        )

    @pytest.mark.parametrize("name", FIELDS[1:])
    def test_none_is_simply_absent(self, name):
        """It is no problem."""
        text, tally = render(["/a/"], **{name: None})
        assert text == f"<url><loc>{URL}</loc></url>\n"
        assert tally.problems == []

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("lastmod", "yesterday"),
            ("changefreq", "often"),
            ("priority", 2),
            ("images", ["relative.jpg"]),
            ("videos", [URL]),
            ("news", "news"),
            ("alternates", 5),
        ],
    )
    def test_a_bad_one_is_dropped_alone(self, name, value):
        """The row is listed, the value counted apart from rows left out."""
        text, tally = render(["/a/"], **{name: value})
        assert text == f"<url><loc>{URL}</loc></url>\n"
        assert (tally.entries, tally.skipped, tally.dropped) == (1, 0, 1)
        assert tally.problems[0].startswith(f"row '/a/' listed without {name}: ")
        with pytest.raises((TypeError, ValueError)):
            render(["/a/"], raises=True, **{name: value})

    @pytest.mark.parametrize("raises", [False, True])
    @pytest.mark.parametrize(
        ("name", "value", "meant"),
        [
            ("alternates", lambda row: [("en-UK", URL), ("de", URL)], "'en-GB'"),
            ("alternates", lambda row: iter([Alternate("jp", URL)]), "'ja'"),
            ("news", lambda row: replace(NEWS, language="jp"), "'ja'"),
            ("videos", lambda row: iter([VIDEO]), "'GB'"),
        ],
        ids=["pair", "generator", "news", "video"],
    )
    def test_a_code_that_means_nothing_is_listed_and_named(
        self, name, value, meant, raises
    ):
        """For the first row of a page that has it; it is no reason to stop."""
        getters = {"location": list, name: called(value)}
        tally = Tally("section")
        text = lines_of(getters, ORIGIN, raises).render(["/a/", "/b/"], tally)
        assert any(code in text for code in ("en-UK", "jp", ">UK<"))
        assert (tally.entries, tally.skipped, tally.dropped) == (2, 0, 0)
        [problem] = tally.problems
        assert problem.startswith("row '/a/' is listed with ")
        assert problem.endswith(f"Did you mean {meant}?")

    @pytest.mark.parametrize(
        ("name", "value"), [("alternates", ("en-UK", URL)), ("videos", VIDEO)]
    )
    def test_such_a_code_of_a_path_to_many_is_named_as_well(self, name, value):
        """The others of the row stay, and it does too."""
        problems: list[Any] = []
        [text] = several_column(COLUMNS[name]).texts([[value, value]], problems)
        assert "UK" in text
        assert {type(error) for *_, error in problems} == {DoubtError}

    def test_problems_are_named_in_the_order_of_the_rows(self):
        """Each with its own row, whatever was left out before it."""
        getters = {
            "location": called(lambda row: row[0]),
            "lastmod": called(lambda row: row[1]),
        }
        rows = [("/a/", None), ("a", None), ("/b/", "soon"), ("b", 5), ("/c/", 5)]
        tally = Tally("section")
        lines_of(getters, ORIGIN, False).render(rows, tally)
        named = [problem.partition(")")[0] for problem in tally.problems]
        assert named == [
            "row ('a', None",
            "row ('/b/', 'soon'",
            "row ('b', 5",
            "row ('/c/', 5",
        ]

    def test_the_newest_lastmod_is_kept(self):
        """Also over batches, and rows without one do not matter."""
        moments = [datetime(2026, 11, day, tzinfo=UTC) for day in (5, 20, 7)]
        getters = {"location": constant("/a/"), "lastmod": called(lambda row: row)}
        tally = Tally("section")
        for row in [*moments, None]:
            lines_of(getters, ORIGIN, False).render([row], tally)
        assert tally.newest == "2026-11-20T00:00:00+00:00"


class TestDescribe:
    def test_an_object_is_its_class_and_key(self):
        """A person looks it up by that."""
        assert str(describe(SimpleNamespace(pk=5))) == "SimpleNamespace 5"

    @pytest.mark.parametrize(
        "row",
        [
            Author(pk=5),
            (Author(pk=5), "de"),
            {"location": "/", "item": Author(pk=5)},
        ],
    )
    def test_an_item_of_contrib_is_its_class_and_key(self, row):
        """Alone, with its language, and in what get_urls() returns."""
        assert str(describe(row)) == "Author 5"

    def test_it_is_short(self):
        """Whatever the row holds."""
        assert str(describe(("\u05d0",))) == "row ('\u05d0',)"
        assert len(str(describe("x" * 1_000))) <= 210
        assert len(str(describe(SimpleNamespace(pk="x" * 1_000)))) <= 130
