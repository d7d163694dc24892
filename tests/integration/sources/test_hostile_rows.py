"""Whatever is in the rows, the page is valid and lists all that can be listed."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from django.contrib.sitemaps import Sitemap

from django_sitemaps_plus.exceptions import SourceError
from tests.integration.sources.hostile import (
    CASES,
    DROPPED,
    ORIGIN,
    SKIPPED,
    Case,
    HostileListSitemap,
    HostileSitemap,
    MethodSource,
    Weird,
)
from tests.support.documents import Listed, locs, read_urlset
from tests.support.rendered import plain, render
from tests.support.shop import ProductSource, make_products
from tests.support.testapp.models import Product

SOURCES = [MethodSource, HostileSitemap, HostileListSitemap]


def expected_entries(origin: str = ORIGIN) -> list[Listed]:
    return [
        expected(case, number)
        for number, case in enumerate(CASES)
        if not case.is_skipped
    ]


def expected(case: Case, number: int) -> Listed:
    values = {"loc": f"{ORIGIN}/product-{number:05}/"}
    if case.listed is not None:
        values["loc" if case.field == "location" else case.field] = case.listed
    return Listed(**values)


@pytest.mark.parametrize("source", SOURCES)
class TestMethods:
    """Sources whose methods return, or raise, anything."""

    @pytest.fixture(autouse=True)
    def rows(self):
        """Add a product for each case."""
        make_products(len(CASES))

    def test_everything_that_can_be_listed_is_listed(self, source):
        """The page is valid, and each entry has what is right of it."""
        entries = read_urlset(plain(render(source)))
        wanted = expected_entries()
        if source is not MethodSource:
            wanted = with_naive_dates(wanted)
        assert entries == wanted

    def test_rows_and_values_are_counted_apart(self, source):
        """Entries, rows left out, values left out: each number is exact."""
        tally = render(source).tally
        # contrib prints naive dates as they are, so for its classes they are dates.
        dropped = DROPPED - (source is not MethodSource)
        assert (tally.entries, tally.skipped, tally.dropped) == (
            len(CASES) - SKIPPED,
            SKIPPED,
            dropped,
        )

    def test_the_first_problems_are_named_in_the_log(self, source, caplog):
        """Each warning says which row and why; beyond twenty they are counted only."""
        with caplog.at_level(logging.WARNING, "django_sitemaps_plus"):
            tally = render(source).tally
        records = [record for record in caplog.records if hasattr(record, "section")]
        assert len(records) == len(tally.problems) == 20
        assert {record.section for record in records} == {"rendered"}
        assert {record.action for record in records} == {"row_skipped"}
        first = Product.objects.get(slug="product-00012")
        assert tally.problems[0].startswith(f"Product {first.pk} left out: ValueError:")
        assert tally.problems[0] in records[0].getMessage()
        assert all(problem.isascii() for problem in tally.problems)


def with_naive_dates(entries: list[Listed]) -> list[Listed]:
    number = next(n for n, case in enumerate(CASES) if is_naive(case.value))
    loc = f"{ORIGIN}/product-{number:05}/"
    return [
        Listed(loc, "2026-02-28T00:00:00+00:00") if entry.loc == loc else entry
        for entry in entries
    ]


def is_naive(value: Any) -> bool:
    return getattr(value, "tzinfo", value) is None and hasattr(value, "hour")


class TestValuesDropped:
    def test_a_dropped_value_names_its_field(self, messages):
        """The log says what the entry is listed without."""
        products = make_products(1)

        class Source(ProductSource):
            def priority(self, product):
                return -1

        tally = render(Source).tally
        assert tally.problems == [
            f"Product {products[0].pk} listed without priority: "
            "ValueError: priority -1 is not a number from 0.0 to 1.0"
        ]
        assert messages("value_dropped") == [f"section=rendered {tally.problems[0]}"]


class TestItemsThatFail:
    def test_an_item_whose_text_fails_is_left_out(self):
        """Naming a bad row must not be worse than the row."""

        class Items(Sitemap):
            def items(self):
                return [Weird(), "/good/"]

            def location(self, item):
                return "/" + item.strip("/") + "/"

        page = render(Items)
        assert locs(plain(page)) == [f"{ORIGIN}/good/"]
        assert page.tally.skipped == 1

    def test_an_item_in_languages_whose_text_fails_is_left_out(self, monkeypatch):
        """The same where rows are pairs of an item and a language."""
        make_products(2)
        monkeypatch.setattr(Product, "__str__", Weird.__str__)

        class Items(Sitemap):
            i18n = True
            languages = ("en",)

            def items(self):
                return Product.objects.order_by("pk")

            def location(self, item):
                if item.slug.endswith("0"):
                    raise ValueError("not this one")
                return f"/{item.slug}/"

        page = render(Items)
        assert locs(plain(page)) == [f"{ORIGIN}/product-00001/"]
        assert page.tally.skipped == 1


class TestOnErrorRaise:
    """on_error = "raise" is for who wants to know at once."""

    @pytest.mark.parametrize(
        "method",
        [
            {"location": lambda self, row: "relative/"},
            {"priority": lambda self, row: -1},
            {"lastmod": lambda self, row: 1 / 0},
        ],
    )
    def test_the_first_bad_value_stops_the_page(self, method):
        """The error is that of the row, and names the section."""
        make_products(2)
        source = type("Strict", (ProductSource,), {"on_error": "raise", **method})
        with pytest.raises(SourceError, match="section 'rendered'") as caught:
            render(source)
        assert isinstance(caught.value.__cause__, ValueError | ZeroDivisionError)

    def test_good_rows_are_not_affected(self):
        """None is absent, and no error."""
        make_products(2, updated_at=None)
        source = type("Strict", (ProductSource,), {"on_error": "raise"})
        assert render(source).tally.entries == 2
