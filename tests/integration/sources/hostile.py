"""Rows as no one should have them, and what is to become of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from typing import Any

from django.contrib.sitemaps import Sitemap
from django.utils.functional import lazystr

from tests.support.shop import ProductSource
from tests.support.testapp.models import Product

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
        """Return or raise the value."""
        if isinstance(self.value, Exception):
            raise self.value
        return self.value


def _good(value: Any, listed: str) -> Case:
    return Case("location", value, ORIGIN + listed)


def _bad(value: Any) -> Case:
    return Case("location", value, is_skipped=True)


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
    _bad("/\ud800/"),
    _bad("/\udfff\udbff/"),
    _bad(f"/{'x' * 3_000}/"),
    _bad(f"/{'ü' * 400}/"),
    _bad("https://evil.example/"),
    _bad("https://example.com.evil.example/"),
    _bad("https://example.com:444/"),
    _bad("https://user:secret@example.com/"),
    _bad("http://example.com/"),
    _bad("//evil.example/"),
    _bad("relative/"),
    _bad("../up/"),
    _bad(""),
    _bad("javascript:alert(1)"),
    _bad("data:text/html,x"),
    _bad("https://"),
    _bad("https:///path/"),
    _bad(None),
    _bad(7),
    _bad(b"/bytes/"),
    _bad(["/list/"]),
    _bad(Weird()),
    _bad(ValueError("no \ud800 location")),
    _bad(KeyError()),
    _bad(StopIteration()),
    _bad(RecursionError()),
    _bad(WeirdError()),
]

LASTMODS = [
    Case("lastmod", date(2026, 2, 28), "2026-02-28"),
    Case("lastmod", datetime(2026, 2, 28, 1, tzinfo=UTC), "2026-02-28T01:00:00+00:00"),
    Case("lastmod", datetime.min.replace(tzinfo=UTC), "0001-01-01T00:00:00+00:00"),
    Case("lastmod", datetime.max.replace(tzinfo=UTC), "9999-12-31T23:59:59+00:00"),
    Case("lastmod", date.max, "9999-12-31"),
    Case("lastmod", "2026-02-28", "2026-02-28"),
    Case("lastmod", "2026-02-28T01:00:00+00:00", "2026-02-28T01:00:00+00:00"),
    Case("lastmod", datetime.max.replace(tzinfo=timezone(-timedelta(hours=12)))),
    Case("lastmod", datetime.min.replace(tzinfo=timezone(timedelta(hours=12)))),
    Case("lastmod", datetime.fromisoformat("2026-02-28T01:00:00")),
    Case("lastmod", "2026-02-30"),
    Case("lastmod", "0000-00-00"),
    Case("lastmod", "yesterday"),
    Case("lastmod", ""),
    Case("lastmod", "2026-02-28</lastmod><x>"),
    Case("lastmod", 1_700_000_000),
    Case("lastmod", float("nan")),
    Case("lastmod", Weird()),
    Case("lastmod", OverflowError("no date")),
]

CHANGEFREQS = [
    Case("changefreq", "weekly", "weekly"),
    Case("changefreq", Often.WEEKLY, "weekly"),
    Case("changefreq", "sometimes"),
    Case("changefreq", "Weekly"),
    Case("changefreq", ""),
    Case("changefreq", 7),
    Case("changefreq", ["weekly"]),
    Case("changefreq", Weird()),
    Case("changefreq", AttributeError("no frequency")),
]

PRIORITIES = [
    Case("priority", 0, "0.0"),
    Case("priority", 1, "1.0"),
    Case("priority", 0.123456, "0.1235"),
    Case("priority", 1e-7, "0.0"),
    Case("priority", Decimal("0.5"), "0.5"),
    Case("priority", "0.5", "0.5"),
    Case("priority", float("nan")),
    Case("priority", float("inf")),
    Case("priority", Decimal("NaN")),
    Case("priority", Decimal("sNaN")),
    Case("priority", -0.1),
    Case("priority", 1.1),
    Case("priority", 10**400),
    Case("priority", "high"),
    Case("priority", "nan"),
    Case("priority", ""),
    Case("priority", True),
    Case("priority", 0.5j),
    Case("priority", Weird()),
    Case("priority", ZeroDivisionError()),
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
    """Hostile rows of a contrib class, paged by key."""

    def items(self) -> Any:
        """Return a plain queryset."""
        return Product.objects.order_by("pk")


class HostileListSitemap(HostileSitemap):
    """Hostile rows of a contrib class, paged by position."""

    def items(self) -> Any:
        """Return a list."""
        return list(super().items())
