"""Rows become lines, and what cannot be listed is left out and named."""

import gc
import weakref
from collections import UserString
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from types import SimpleNamespace
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.db.models import CharField, F

from django_sitemaps_plus import Alternate, ModelSource, News, Route, Video
from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.sources import dates
from django_sitemaps_plus.sources.columns import DoubtError, called, constant
from django_sitemaps_plus.sources.compiling import compile_lines
from django_sitemaps_plus.sources.dates import date_column, has_utc_text, lastmod_text
from django_sitemaps_plus.sources.fields import COLUMNS, FIELDS
from django_sitemaps_plus.sources.lines import RowName, Tally, describe, lines_of
from django_sitemaps_plus.sources.reading import listed_rows
from django_sitemaps_plus.sources.related import several_column
from tests.support.testapp.models import Author, Product

from .zoo import ZOO, surroundings

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
        text, tally = render(["/b/", URL, "/caf\u00e9/"])
        assert text == (
            f"<url><loc>{ORIGIN}/b/</loc></url>\n"
            f"<url><loc>{ORIGIN}/a/</loc></url>\n"
            f"<url><loc>{ORIGIN}/caf%C3%A9/</loc></url>\n"
        )
        assert (tally.entries, tally.skipped) == (3, 0)

    def test_a_source_may_ask_for_the_error(self):
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
        text, _ = render(
            ["/a/"], priority="0.5", changefreq="daily", lastmod=date(2026, 11, 20)
        )
        assert text == (
            f"<url><loc>{URL}</loc><lastmod>2026-11-20</lastmod>"
            "<changefreq>daily</changefreq><priority>0.5</priority></url>\n"
        )

    @pytest.mark.parametrize("name", FIELDS[1:])
    def test_none_is_simply_absent(self, name):
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
        problems: list[Any] = []
        [text] = several_column(COLUMNS[name]).texts([[value, value]], problems)
        assert "UK" in text
        assert {type(error) for *_, error in problems} == {DoubtError}

    def test_problems_are_named_in_the_order_of_the_rows(self):
        getters = {
            "location": called(lambda row: row[0]),
            "lastmod": called(lambda row: row[1]),
        }
        rows = [("/a/", None), ("a", None), ("/b/", "soon"), ("b", 5), ("/c/", 5)]
        tally = Tally("section")
        lines_of(getters, ORIGIN, False).render(rows, tally)
        named = [problem.partition(")")[0] for problem in tally.problems]
        assert named == [
            *("row ('a', None", "row ('/b/', 'soon'", "row ('b', 5", "row ('/c/', 5")
        ]

    def test_the_newest_lastmod_is_kept(self):
        moments = [datetime(2026, 11, day, tzinfo=UTC) for day in (5, 20, 7)]
        getters = {"location": constant("/a/"), "lastmod": called(lambda row: row)}
        tally = Tally("section")
        for row in [*moments, None]:
            lines_of(getters, ORIGIN, False).render([row], tally)
        assert tally.newest == "2026-11-20T00:00:00+00:00"


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (SimpleNamespace(pk=5), "SimpleNamespace 5"),
        (Author(pk=5), "Author 5"),
        ((Author(pk=5), "de"), "Author 5"),
        ({"location": "/", "item": Author(pk=5)}, "Author 5"),
        (("\u05d0",), "row ('\u05d0',)"),
    ],
    ids=["object", "item", "item in a language", "of get_urls()", "text"],
)
def test_a_row_is_described_by_its_class_and_key(row, said):
    assert str(describe(row)) == said


def test_a_description_is_short():
    assert len(str(describe("x" * 1_000))) <= 210
    assert len(str(describe(SimpleNamespace(pk="x" * 1_000)))) <= 130


SITE = Site("default", "https://shop.example")


def compiled(**values: Any) -> Any:
    """Return the columns and the renderer of a source with the values."""
    declared = {"model": Product, "location": Route("product-detail", slug="slug")}
    source = type("DeclaredSource", (ModelSource,), {**declared, **values})()
    return compile_lines(source, listed_rows(source), SITE)


def test_a_lastmod_field_is_selected_as_text():
    """Parsing timestamps would be most of the time."""
    columns, _ = compiled(lastmod="updated_at")
    slug, lastmod = columns.expressions
    assert slug == F("slug")
    assert isinstance(lastmod.output_field, CharField)
    assert lastmod.source_expressions == [F("updated_at")]


def test_the_arguments_of_a_route_may_have_any_order():
    with surroundings(ZOO):
        columns, lines = compiled(location=Route("swapped", a="slug", b="pk"))
    assert columns.expressions == [F("slug"), F("pk")]
    text = "<url><loc>https://shop.example/swapped/5/xshoe.html</loc></url>\n"
    assert lines.render([("shoe", 5)], Tally("s")) == text


def test_a_repetition_is_found_in_any_batch():
    tally = Tally("s")
    with surroundings(ZOO):
        _, lines = compiled(location=Route("str", a="pk"))
        lines = replace(lines, seen=set())
        for batch in ([("a",)], [("a",), ("b\nc",)], [("b\nc",), ("d",)]):
            lines.render(batch, tally)
    assert (tally.entries, tally.repeated) == (3, 2)


def test_constants_are_written_in_their_final_form():
    _, lines = compiled(changefreq="daily", priority=Decimal("0.50"))
    assert lines.render([("shoe",)], Tally("s")) == (
        "<url><loc>https://shop.example/products/shoe/</loc>"
        "<changefreq>daily</changefreq><priority>0.5</priority></url>\n"
    )


class TestTally:
    def test_a_reason_is_short_text_as_it_is(self):
        """Escaped is what would break the log, and no more."""
        tally = Tally("blog")
        error = ValueError("\ud800\u05d0\n\x1b" + "x" * 1_000)
        tally.leave_out(RowName("\u4f60 5"), "location", error)
        [problem] = tally.problems
        said = "\u4f60 5 left out: ValueError: \\ud800\u05d0\\n\\x1bxx"
        assert problem.startswith(said)
        assert len(problem) < 400


MOMENT = Product._meta.get_field("updated_at")
DAY = Product._meta.get_field("created_on")


def test_an_aware_datetime_stays_what_it_is_without_use_tz(settings):
    settings.USE_TZ = False
    value = datetime(2026, 7, 1, 12, tzinfo=UTC)
    assert lastmod_text(value) == "2026-07-01T12:00:00+00:00"


@pytest.mark.parametrize(
    ("value", "zone"),
    [
        (datetime(1, 1, 1), "Pacific/Auckland"),  # noqa: DTZ001
        (datetime(9999, 12, 31, 23), "America/Adak"),  # noqa: DTZ001
    ],
)
def test_a_naive_datetime_beyond_the_calendar_is_refused(settings, value, zone):
    settings.USE_TZ = False
    settings.TIME_ZONE = zone
    with pytest.raises(ValueError, match="cannot be written in UTC"):
        lastmod_text(value)


#: In UTC formatting in the database is faster than parsing here. SQL of most cannot
#: tell summer from winter in a time of another zone; that of Oracle is not known here.
@pytest.mark.parametrize(
    ("vendor", "zone", "moments", "days"),
    [
        ("sqlite", UTC, True, True),
        ("postgresql", UTC, True, True),
        ("mysql", UTC, True, True),
        ("sqlite", ZoneInfo("Europe/Berlin"), False, True),
        ("mysql", ZoneInfo("Europe/Berlin"), False, True),
        ("postgresql", ZoneInfo("Europe/Berlin"), True, True),
        ("oracle", UTC, False, False),
    ],
)
def test_dates_are_read_as_text_where_the_database_can_write_it(
    monkeypatch, settings, vendor, zone, moments, days
):
    connection = SimpleNamespace(vendor=vendor, timezone=zone)
    monkeypatch.setattr(dates, "connections", {"db": connection})
    assert has_utc_text("db") is moments
    moment, day = [date_column(it.name, it, "db") for it in (MOMENT, DAY)]
    assert (moment is not None) is moments
    assert (day is not None) is days
    if moment:
        assert (moment.ending, day.ending) == ("+00:00", "")
        assert moment.expression.source_expressions == [F("updated_at")]
    # An annotation, or a field that holds no dates.
    for field in (None, Product._meta.get_field("slug")):
        assert date_column("slug", field, "db") is None
    settings.USE_TZ = False  # so that times are those of a clock, in TIME_ZONE
    is_read = date_column("updated_at", MOMENT, "db") is not None
    assert is_read is (vendor == "postgresql")
