"""Whatever is in the rows, the page is valid, and says what it leaves out."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from pathlib import PurePosixPath
from typing import Any

import pytest
from django.contrib.sitemaps import Sitemap
from django.db import connection
from django.db.models import Value
from django.db.models.functions import Concat
from django.utils.functional import lazystr

from django_sitemaps_plus import ModelSource
from django_sitemaps_plus.exceptions import SourceError
from tests.support.documents import Listed, locs, read_urlset
from tests.support.rendered import plain, render
from tests.support.shop import ProductSource, limited, make_products
from tests.support.testapp.models import Product, Shop

pytestmark = pytest.mark.database

ORIGIN = "https://example.com"


class Weird:
    """An object that fails at whatever is asked of it."""

    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__

    def __iter__(self) -> Iterator[Any]:
        raise RuntimeError("no items")


class WeirdError(Exception):
    """An error that cannot even say what it is."""

    def __str__(self) -> str:
        raise RuntimeError("no message")


class Often(str, Enum):  # noqa: UP042 - the older kind prints as its name
    """Words that are strings and print as something else."""

    WEEKLY = "weekly"


@dataclass(frozen=True)
class Case:
    """One hostile row.

    Attributes:
        field: what is odd about it.
        value: what the row says there; an exception is raised.
        listed: what the entry has there; None where that value is left out.
        is_skipped: whether there can be no entry at all.
    """

    field: str
    value: Any
    listed: str | None = None
    is_skipped: bool = False

    def get(self) -> Any:
        if isinstance(self.value, Exception):
            raise self.value
        return self.value


def _good(value: Any, listed: str) -> Case:
    return Case("location", value, ORIGIN + listed)


def _lost(field: str, *values: Any) -> list[Case]:
    """Return cases of values that cannot be listed."""
    return [Case(field, value, is_skipped=field == "location") for value in values]


LOCATIONS = [
    _good("/plain/", "/plain/"),
    _good("/control/\x00\x01\x0b\x1f\x7f/", "/control/%00%01%0B%1F%7F/"),
    _good("/line\r\nend/", "/line%0D%0Aend/"),
    _good("/\ufffe\uffff/", "/%EF%BF%BE%EF%BF%BF/"),
    _good("/ü/日本/🎉/a\u0301/", "/%C3%BC/%E6%97%A5%E6%9C%AC/%F0%9F%8E%89/a%CC%81/"),
    _good("/\u202eright-to-left/", "/%E2%80%AEright-to-left/"),
    _good("/]]><b>&'\"/?q=<&>#x", "/%5D%5D%3E%3Cb%3E&'%22/?q=%3C&%3E#x"),
    _good("/50%/%41/%zz/", "/50%25/%41/%25zz/"),
    _good(f"/{'x' * 2_000}/", f"/{'x' * 2_000}/"),
    _good(f"{ORIGIN}/absolute/", "/absolute/"),
    _good("HTTPS://EXAMPLE.COM/shouted/", "/shouted/"),
    _good(lazystr("/lazy/"), "/lazy/"),
    _good(PurePosixPath("/path/of/parts"), "/path/of/parts"),
    *_lost("location", "/\ud800/", "/\udfff\udbff/", f"/{'x' * 3_000}/"),
    *_lost("location", f"/{'ü' * 400}/", "https://evil.example/"),
    *_lost("location", "https://example.com.evil.example/", "https://example.com:444/"),
    *_lost("location", "https://user:secret@example.com/", "http://example.com/"),
    *_lost("location", "//evil.example/", "relative/", "../up/", ""),
    *_lost("location", "javascript:alert(1)", "data:text/html,x", "https://"),
    *_lost("location", "https:///path/", None, 7, b"/bytes/", ["/list/"], Weird()),
    *_lost("location", ValueError("no \ud800 location"), KeyError(), StopIteration()),
    *_lost("location", RecursionError(), WeirdError()),
]

#: contrib prints a naive date as it is, so that for its classes it is a date.
NAIVE = datetime.fromisoformat("2026-02-28T01:00:00")
EAST, WEST = [timezone(timedelta(hours=hours)) for hours in (12, -12)]
LASTMODS = [
    Case("lastmod", date(2026, 2, 28), "2026-02-28"),
    Case("lastmod", datetime(2026, 2, 28, 1, tzinfo=UTC), "2026-02-28T01:00:00+00:00"),
    Case("lastmod", datetime.min.replace(tzinfo=UTC), "0001-01-01T00:00:00+00:00"),
    Case("lastmod", datetime.max.replace(tzinfo=UTC), "9999-12-31T23:59:59+00:00"),
    Case("lastmod", date.max, "9999-12-31"),
    Case("lastmod", "2026-02-28", "2026-02-28"),
    Case("lastmod", "2026-02-28T01:00:00+00:00", "2026-02-28T01:00:00+00:00"),
    *_lost("lastmod", datetime.max.replace(tzinfo=WEST)),
    *_lost("lastmod", datetime.min.replace(tzinfo=EAST), NAIVE),
    *_lost("lastmod", "2026-02-30", "0000-00-00", "yesterday", ""),
    *_lost("lastmod", "2026-02-28</lastmod><x>", 1_700_000_000, float("nan")),
    *_lost("lastmod", Weird(), OverflowError("no date")),
]

CHANGEFREQS = [
    Case("changefreq", "weekly", "weekly"),
    Case("changefreq", Often.WEEKLY, "weekly"),
    Case("changefreq", lazystr("weekly"), "weekly"),
    *_lost("changefreq", "sometimes", "Weekly", "", 7, ["weekly"], Weird()),
    *_lost("changefreq", AttributeError("no frequency")),
]

PRIORITIES = [
    Case("priority", 0, "0.0"),
    Case("priority", 1, "1.0"),
    Case("priority", 0.123456, "0.1235"),
    Case("priority", 1e-7, "0.0"),
    Case("priority", Decimal("0.5"), "0.5"),
    Case("priority", "0.5", "0.5"),
    Case("priority", lazystr("0.5"), "0.5"),
    *_lost("priority", float("nan"), float("inf"), Decimal("NaN"), Decimal("sNaN")),
    *_lost("priority", -0.1, 1.1, 10**400, "high", "nan", "", True, 0.5j),
    *_lost("priority", Weird(), ZeroDivisionError()),
]

CASES = [*LOCATIONS, *LASTMODS, *CHANGEFREQS, *PRIORITIES]

#: Rows without an entry, and values without a place in theirs.
SKIPPED = len([case for case in CASES if case.is_skipped])
DROPPED = len(
    [case for case in CASES if case.listed is None and case.field != "location"]
)


class _Methods:
    """The fields of an entry as methods, both of ours and of contrib's kind."""

    def location(self, product: Product) -> Any:
        return _value(product, "location", f"/{product.slug}/")

    def lastmod(self, product: Product) -> Any:
        return _value(product, "lastmod")

    def changefreq(self, product: Product) -> Any:
        return _value(product, "changefreq")

    def priority(self, product: Product) -> Any:
        return _value(product, "priority")


def _value(product: Product, field: str, default: Any = None) -> Any:
    case = CASES[int(product.slug[-5:])]
    return case.get() if case.field == field else default


class MethodSource(_Methods, ProductSource):  # type: ignore[misc]
    """Hostile rows of a source of ours."""


class HostileSitemap(_Methods, Sitemap):  # type: ignore[type-arg]
    def items(self) -> Any:
        return Product.objects.order_by("pk")


class HostileListSitemap(HostileSitemap):
    def items(self) -> Any:
        return list(super().items())


def expected_entries(is_contrib: bool) -> list[Listed]:
    found = []
    for number, case in enumerate(CASES):
        values = {"loc": f"{ORIGIN}/product-{number:05}/"}
        if case.listed is not None:
            values["loc" if case.field == "location" else case.field] = case.listed
        elif is_contrib and case.value is NAIVE:
            values["lastmod"] = "2026-02-28T00:00:00+00:00"
        if not case.is_skipped:
            found.append(Listed(**values))
    return found


@pytest.mark.parametrize("source", [MethodSource, HostileSitemap, HostileListSitemap])
def test_what_can_be_listed_is_listed_and_the_rest_counted_and_named(source, caplog):
    """Beyond twenty problems are counted only."""
    make_products(len(CASES))
    is_contrib = source is not MethodSource
    with caplog.at_level(logging.WARNING, "django_sitemaps_plus"):
        page = render(source)
    tally = page.tally
    assert read_urlset(plain(page)) == expected_entries(is_contrib)
    assert (tally.entries, tally.skipped, tally.dropped) == (
        len(CASES) - SKIPPED,
        SKIPPED,
        DROPPED - is_contrib,
    )
    records = [record for record in caplog.records if hasattr(record, "section")]
    assert len(records) == len(tally.problems) == 20
    assert {record.section for record in records} == {"rendered"}
    assert {record.action for record in records} == {"row_skipped"}
    assert {record.levelno for record in records} == {logging.WARNING}
    first = Product.objects.get(slug="product-00013")
    assert tally.problems[0].startswith(f"Product {first.pk} left out: ValueError:")
    assert tally.problems[0] in records[0].getMessage()
    assert all(problem.isascii() for problem in tally.problems)


def test_a_dropped_value_names_its_field(messages):
    [product] = make_products(1)
    tally = render(limited(1, priority=lambda self, product: -1)).tally
    assert tally.problems == [
        f"Product {product.pk} listed without priority: "
        "ValueError: priority -1 is not a number from 0.0 to 1.0"
    ]
    assert messages("value_dropped") == [f"section=rendered {tally.problems[0]}"]


def test_an_item_whose_text_fails_is_left_out():
    """Naming a bad row must not be worse than the row."""

    class Items(Sitemap):
        def items(self):
            return [Weird(), "/good/"]

        def location(self, item):
            return "/" + item.strip("/") + "/"

    page = render(Items)
    assert locs(plain(page)) == [f"{ORIGIN}/good/"]
    assert page.tally.skipped == 1


def test_an_item_in_languages_whose_text_fails_is_left_out(monkeypatch):
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


@pytest.mark.parametrize(
    "method",
    [
        {"location": lambda self, row: "relative/"},
        {"priority": lambda self, row: -1},
        {"lastmod": lambda self, row: 1 / 0},
    ],
)
def test_the_first_bad_value_may_stop_the_page(method):
    """None is absent, and no error."""
    make_products(2, updated_at=None)
    assert render(limited(2, on_error="raise")).tally.entries == 2
    with pytest.raises(SourceError, match="section 'rendered'") as caught:
        render(limited(2, on_error="raise", **method))
    assert isinstance(caught.value.__cause__, ValueError | ZeroDivisionError)


@pytest.mark.skipif(connection.vendor != "postgresql", reason="no NaN in a column")
def test_a_column_may_hold_nan():
    make_products(1, popularity=float("nan"))
    page = render(limited(1, priority="popularity"))
    assert read_urlset(plain(page))[0].priority is None
    assert page.tally.dropped == 1


@pytest.mark.skipif(connection.vendor != "postgresql", reason="no such dates")
@pytest.mark.parametrize("text", ["infinity", "-infinity", "12345-01-01"])
@pytest.mark.parametrize("column", ["updated_at", "created_on"])
def test_dates_that_python_cannot_hold_are_left_out(text, column):
    make_products(2, created_on=date(2026, 1, 1))
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE testapp_product SET {column} = %s WHERE slug LIKE '%%1'",  # noqa: S608
            [text],
        )
    first, second = read_urlset(plain(render(limited(2, lastmod=column))))
    assert first.lastmod is not None
    assert second.lastmod is None


@pytest.fixture
def bad() -> Product:
    """Add 1,200 products, of which one in the third batch has no URL."""
    products = make_products(1_200)
    Product.objects.filter(pk=products[1_100].pk).update(slug="\u4f60 \x1b")
    return products[1_100]


def path(self, row):
    return f"/{row.slug}/" if row.slug.isascii() else None


@pytest.mark.parametrize(
    ("attributes", "said"), [({}, "\u4f60 \\x1b"), ({"location": path}, "")]
)
def test_the_key_is_named(bad, attributes, said):
    """Though the tuples that are read do not have it; a terminal obeys no text."""
    [problem] = render(limited(2_000, **attributes)).tally.problems
    assert problem.startswith(f"Product {bad.pk} left out: ")
    assert said in problem


def test_the_key_is_named_where_a_column_is_converted():
    """As times are, which some databases give as text."""
    shop = Shop.objects.create(name="a")
    source = {"model": Shop, "location": "updated_at"}
    [problem] = render(type("ShopSource", (ModelSource,), source)).tally.problems
    assert problem.startswith(f"Shop {shop.pk!r} left out: ")


def test_an_error_that_stops_the_page_names_it_too(bad):
    with pytest.raises(SourceError, match=rf"\(Product {bad.pk}, location\): "):
        render(limited(2_000, on_error="raise"))


@pytest.mark.django_db(transaction=True)  # PostgreSQL counts savepoints
def test_many_bad_rows_take_one_query(django_assert_num_queries):
    """It looks up the keys of all that are named, in whichever batch they are.

    The other two read the rows, and which of them are excluded.
    """
    keys = [product.pk for product in make_products(1_200)[::90]]
    bad = Product.objects.filter(pk__in=keys)
    bad.update(slug=Concat(Value("no slug "), "slug"))
    with django_assert_num_queries(3):
        tally = render(limited(2_000)).tally
    assert tally.skipped == 14
    named = [problem.split()[1] for problem in tally.problems]
    assert named == [str(key) for key in keys]
