"""T11: a source that collapses is not believed; bad rows cost only themselves."""

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import count
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from django_sitemaps_plus import Entry, Source, notify_changed
from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.models import Page, Section
from django_sitemaps_plus.sources import querysets
from tests.support.testapp.models import Product

from .tools.defects import HARMLESS, LOCATIONS, VALUES
from .tools.published import crawl, published_urls, urls_in
from .tools.shop import (
    ORIGIN,
    STEP,
    PlainSource,
    add_quietly,
    publish,
    rename,
    stock,
    table,
    unfinished,
)

pytestmark = pytest.mark.django_db(transaction=True)

GOOD = 200


@pytest.fixture
def built(sections: Any) -> dict[str, bytes]:
    stock(GOOD)
    sections.register(
        "others", type("Others", (PlainSource,), {"get_queryset": others})
    )
    build()
    return crawl()


def others(self: Any) -> Any:
    return Product.objects.filter(slug__startswith="other")


def collapse() -> None:
    Product.objects.filter(pk__gte=50 * STEP).delete()
    add_quietly([10**6], "other")
    notify_changed(Product.objects.filter(pk=10**6))


def spoil(**condition: int) -> None:
    rows = Product.objects.filter(**condition)
    for row in rows:
        Product.objects.filter(pk=row.pk).update(slug=f"bad slug {row.pk}")
    notify_changed(rows)


class TestShrinkGuard:
    def test_a_section_that_collapses_is_held_until_somebody_allows_it(self, built):
        """All of it stays, however often the command fails; others are published."""
        collapse()
        remedy = "If that is right, run build_sitemaps products --allow-shrink"
        for _ in range(2):
            with pytest.raises(
                CommandError, match=rf"from 200 entries to 51\. {remedy}$"
            ):
                call_command("build_sitemaps", verbosity=0)
        assert Section.objects.get(name="products").hold_reason != ""
        assert built.keys() <= crawl().keys()
        slugs = ["other-1000000", *[f"p-{n * STEP}" for n in range(GOOD)]]
        assert published_urls() == sorted(f"{ORIGIN}/products/{it}/" for it in slugs)
        call_command("build_sitemaps", "products", allow_shrink=True, verbosity=0)
        call_command("build_sitemaps", verbosity=0)
        assert set(published_urls()) == set(table())
        assert unfinished() == []

    def test_rows_that_come_back_end_it(self, built):
        """A hold ends by itself once the section is whole again."""
        collapse()
        with pytest.raises(CommandError):
            call_command("build_sitemaps", verbosity=0)
        add_quietly(range(50 * STEP, GOOD * STEP, STEP), "back")
        notify_changed(Product.objects.filter(slug__startswith="back"))
        call_command("build_sitemaps", verbosity=0)
        assert Section.objects.get(name="products").hold_reason == ""
        assert set(published_urls()) == set(table())

    def test_a_country_may_go(self, built):
        """Pages that lose all they have pass where the section keeps most."""
        Product.objects.filter(pk__gte=50 * STEP, pk__lt=120 * STEP).delete()
        call_command("build_sitemaps", verbosity=0)
        assert published_urls() == table()

    def test_a_section_of_fewer_entries_may_shrink(self, sections):
        """Below 100 entries everything passes."""
        publish(99)
        Product.objects.filter(pk__gte=STEP).delete()
        build()
        assert published_urls() == table()

    def test_a_section_of_100_entries_may_not(self, sections):
        """From 100 on it is held."""
        publish(100)
        Product.objects.filter(pk__gte=STEP).delete()
        assert build().problems != []
        assert len(published_urls()) == 100

    def test_after_two_days_the_smaller_total_counts(self, built, monkeypatch):
        """What was the most before is forgotten."""
        Product.objects.filter(pk__gte=110 * STEP).delete()
        build()
        for _ in range(2):
            Section.objects.update(peak_since=datetime(2020, 1, 1, tzinfo=UTC))
            rename([0], "edit")
            build()
        Product.objects.filter(pk__gte=60 * STEP).delete()
        assert build().problems == []
        assert published_urls() == table()


class TestBadRows:
    def test_a_tenth_passes(self, built):
        spoil(pk__lt=20 * STEP)
        assert build().problems == []
        assert len(published_urls()) == GOOD - 20

    def test_more_than_a_tenth_hold_the_section_until_it_is_allowed(self, built):
        """However small its pages are; the last good set stays."""
        spoil(pk__lt=40 * STEP)
        remedy = "Fix them, or run build_sitemaps products --allow-shrink"
        with pytest.raises(
            CommandError, match=rf"40 of 200 rows cannot be listed\. {remedy}$"
        ):
            call_command("build_sitemaps", verbosity=0)
        assert len(published_urls()) == GOOD
        build(allow_shrink=True)
        assert len(published_urls()) == GOOD - 40
        assert Page.objects.dirty().count() == 0


class TestSplits:
    """A page that grows too full is held before it is cut, as any other would be."""

    @pytest.fixture
    def page(self, sections: Any) -> Page:
        """Publish one page of 100 products, and add 20 more than it may hold."""
        publish(100, type("Source", (PlainSource,), {"limit": 100}))
        add_quietly(range(100 * STEP, 120 * STEP, STEP))
        return Page.objects.get(section__name="products")

    def is_as_it_was(self, page: Page) -> bool:
        """Return whether the page is the only one, and serves what it did."""
        kept = page.section.pages.values_list("number", "object", "entries", "hold")
        return list(kept) == [(page.number, page.object, 100, "held")]

    def test_pieces_of_few_entries_are_held_until_they_are_allowed(self, page):
        """Of 120 rows 12 can be listed: nothing is cut, and all URLs stay."""
        spoil(pk__gte=12 * STEP)
        with pytest.raises(CommandError, match="108 of 120 rows cannot be listed"):
            call_command("build_sitemaps", verbosity=0)
        assert Section.objects.get(name="products").hold_reason != ""
        assert len(published_urls()) == 100
        assert self.is_as_it_was(page)
        call_command("build_sitemaps", "products", allow_shrink=True, verbosity=0)
        assert len(published_urls()) == 12
        assert Section.objects.get(name="products").hold_reason == ""
        assert unfinished() == []

    def test_pieces_of_many_bad_rows_are_held(self, page):
        """Most entries stay, but more than a tenth of the rows is bad."""
        spoil(pk__gte=100 * STEP)
        with pytest.raises(CommandError, match="20 of 120 rows cannot be listed"):
            call_command("build_sitemaps", verbosity=0)
        assert self.is_as_it_was(page)

    def test_rows_that_are_well_again_are_published(self, page):
        """The hold ends, and the page is cut into those that its rows need."""
        spoil(pk__gte=12 * STEP)
        assert build().problems != []
        for row in Product.objects.all():
            Product.objects.filter(pk=row.pk).update(slug=f"p-{row.pk}")
        assert build().problems == []
        assert published_urls() == table()
        assert page.section.pages.filter(state="active").count() == 2


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
    add_quietly(range(0, GOOD * STEP, STEP))
    add_quietly([150, 5_050, 10_050], "odd")
    return {url for url in table() if "/odd-" not in url}


#: Defects, with the entries, the rows left out and the values left out of each.
DEFECTS = [
    *[("location", value, (GOOD, 3, 0)) for value in LOCATIONS.values()],
    *[(*given, (GOOD + 3, 0, 3)) for given in VALUES.values()],
    *[(*given, (GOOD + 3, 0, 0)) for given in HARMLESS.values()],
]


def test_a_defect_costs_its_row_or_its_value(sections):
    """Each in a section of its own: the rest is listed, and counts are exact."""
    good = have_odd_rows()
    for number, (field, value, _) in enumerate(DEFECTS):
        sections.register(f"{number}", answering(field, value))
    found = [(it.entries, it.skipped, it.dropped) for it in build().sections]
    assert found == [counts for *_, counts in DEFECTS]
    listed: list[list[str]] = [[] for _ in DEFECTS]
    for path, page in crawl().items():
        listed[int(path.split("-")[1])] += urls_in(page)
    for (_, _, (_, skipped, dropped)), urls in zip(DEFECTS, listed, strict=True):
        if skipped:
            assert set(urls) == good
        elif dropped:
            assert sorted(urls) == table()
        else:
            assert good <= set(urls)


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
        points=len(DEFECTS) + 1,
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
