"""T11: bad rows and endless sources cost only themselves."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from django_sitemaps_plus import Entry, Source
from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.sources import querysets
from tests.support.testapp.models import Product

from .tools.defects import HARMLESS, LOCATIONS, VALUES
from .tools.published import crawl, published_urls
from .tools.shop import STEP, PlainSource, add_quietly, publish, rename, stock, table

pytestmark = pytest.mark.django_db(transaction=True)

GOOD = 200


def answering(field: str, value: Any) -> type[PlainSource]:
    """Return a source that says something odd of the products called odd-*."""

    def method(self: Any, row: Product) -> Any:
        if not row.slug.startswith("odd"):
            return f"/products/{row.slug}/" if field == "location" else None
        if isinstance(value, Exception):
            raise value
        return value

    attributes = {field: method, "limit": 50, "on_error": "skip"}
    return type("OddSource", (PlainSource,), attributes)


def have_odd_rows() -> set[str]:
    """Add good rows and three odd ones; return the URLs of the good ones."""
    add_quietly(range(0, GOOD * STEP, STEP))
    add_quietly([150, 5_050, 10_050], "odd")
    return {url for url in table() if "/odd-" not in url}


@pytest.mark.parametrize("defect", LOCATIONS)
def test_a_row_without_a_location_is_left_out(defect, sections):
    """All others are listed, and the count is exact."""
    good = have_odd_rows()
    sections.register("products", answering("location", LOCATIONS[defect]))
    report = build().sections[0]
    assert set(published_urls()) == good
    assert (report.entries, report.skipped, report.dropped) == (GOOD, 3, 0)


@pytest.mark.parametrize("defect", VALUES)
def test_a_bad_value_is_left_out(defect, sections):
    """Its entry is listed without it, and the count is exact."""
    have_odd_rows()
    sections.register("products", answering(*VALUES[defect]))
    report = build().sections[0]
    assert published_urls() == table()
    assert (report.entries, report.skipped, report.dropped) == (GOOD + 3, 0, 3)


@pytest.mark.parametrize("kind", HARMLESS)
def test_an_odd_value_is_written(kind, sections):
    """It is neither skipped nor dropped."""
    good = have_odd_rows()
    sections.register("products", answering(*HARMLESS[kind]))
    report = build().sections[0]
    assert good <= set(published_urls())
    assert (report.entries, report.skipped, report.dropped) == (GOOD + 3, 0, 0)


def test_many_defects_at_once(sections, figures):
    """Every kind of defect among 1,000 rows costs what it costs alone."""
    kinds = list(LOCATIONS.values())

    def location(self: Any, row: Product) -> Any:
        number = row.pk // STEP
        value = kinds[number // 20 % len(kinds)] if number % 20 == 0 else None
        if isinstance(value, Exception):
            raise value
        return value if number % 20 == 0 else f"/products/{row.slug}/"

    source = {"location": location, "limit": 100}
    stock(1_000, type("Source", (PlainSource,), source))
    report = build().sections[0]
    listed = set(published_urls())
    lost = set(table()) - listed
    figures(
        "bad rows",
        points=len(LOCATIONS) + len(VALUES) + len(HARMLESS) + 1,
        lost=950 - len(listed),
        bad=report.skipped - 50,
    )
    assert (len(listed), len(lost), report.skipped) == (950, 50, 50)


def test_on_error_raise_publishes_nothing_of_the_page(sections):
    """The command fails, names the page, and what was published before stays."""
    publish(20)
    before = crawl()
    strict = answering("location", ZeroDivisionError("divided"))
    strict.on_error = "raise"
    sections._registry.clear()
    sections.register("products", strict)
    rename([0], "odd")
    with pytest.raises(CommandError, match=r"page 1.*divided"):
        call_command("build_sitemaps", verbosity=0)
    assert crawl()["/sitemap-products-1.xml"] == before["/sitemap-products-1.xml"]


class EndlessSource(Source):
    """Lists three pages, until its generator forgets to end."""

    has_end = True

    def entries(self, origin: str) -> Iterator[Entry]:
        """Yield them."""
        for number in count():
            if self.has_end and number == 3:
                return
            yield Entry(f"{origin}/{number}/")


def test_a_generator_that_never_ends_keeps_what_there_was(sections, monkeypatch):
    """The build says so and goes on with the others."""
    monkeypatch.setattr(querysets, "MAX_POSITIONS", 10_000)
    sections.register("endless", EndlessSource)
    publish(GOOD)
    before = set(published_urls())
    monkeypatch.setattr(EndlessSource, "has_end", False)
    endless, others = build(replan=True).sections
    assert "more than 10,000 rows without keys" in endless.errors[0]
    assert others.errors == []
    assert set(published_urls()) == before
