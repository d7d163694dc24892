"""A lastmod that SQL writes as text equals one that Python writes."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from django.utils import timezone

from django_sitemaps_plus.core.dates import w3c
from django_sitemaps_plus.sources.reading import page_query
from tests.support.documents import read_urlset
from tests.support.rendered import plain, render
from tests.support.shop import ProductSource, make_products
from tests.support.testapp.models import Product

pytestmark = pytest.mark.database


class Instances(ProductSource):
    """The same from instances, whose dates Python formats."""

    def priority(self, product):
        """Say nothing; but say it by a method."""


class DateSource(ProductSource):
    """A lastmod without a time."""

    lastmod = "created_on"


def lastmods(source: type[ProductSource]) -> list[str | None]:
    return [entry.lastmod for entry in read_urlset(plain(render(source)))]


def save_dates(moments: list[datetime | None]) -> None:
    make_products(len(moments), updated_at=None)
    for product, moment in zip(Product.objects.order_by("pk"), moments, strict=True):
        Product.objects.filter(pk=product.pk).update(updated_at=moment)


class TestAwareDates:
    """USE_TZ is on, and TIME_ZONE is not UTC."""

    moments = (
        datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC),
        datetime(2026, 1, 1, 12, 0, 0, 1, tzinfo=UTC),
        datetime(2026, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
        datetime(2026, 6, 30, 22, 59, 59, 999_600, tzinfo=UTC),
        datetime(2026, 3, 29, 1, 0, 0, 500_000, tzinfo=UTC),
        datetime(2026, 10, 25, 0, 30, tzinfo=UTC),
        datetime(2026, 10, 25, 1, 30, tzinfo=UTC),
        datetime(1970, 1, 1, tzinfo=UTC),
        datetime(1895, 1, 1, 1, 1, 1, tzinfo=UTC),
        datetime(2999, 12, 31, 23, 59, 59, tzinfo=UTC),
    )

    def test_text_equals_what_python_writes(self):
        """To the second, fractions cut off and never rounded, in UTC."""
        save_dates(list(self.moments))
        assert lastmods(ProductSource) == [w3c(moment) for moment in self.moments]

    def test_the_database_formats(self):
        """The page's query asks for text, so that nothing is parsed here."""
        save_dates(list(self.moments))
        query = page_query(ProductSource())
        assert {type(lastmod) for _, lastmod in query} == {str}

    def test_rows_without_a_date_have_no_lastmod(self):
        """Some null, all null: neither leaves an empty element."""
        save_dates([None, self.moments[0], None])
        assert lastmods(ProductSource) == [None, "2026-01-01T12:00:00+00:00", None]
        Product.objects.update(updated_at=None)
        assert lastmods(ProductSource) == [None] * 3

    def test_the_newest_is_known(self):
        """The tally holds the latest lastmod of the page."""
        save_dates([self.moments[1], None, self.moments[2], self.moments[0]])
        for source in (ProductSource, Instances):
            assert render(source).tally.newest == "2026-12-31T23:59:59+00:00"

    def test_an_active_time_zone_changes_nothing(self):
        """Rendering is in UTC, whatever a request has activated."""
        save_dates(list(self.moments))
        expected = lastmods(ProductSource)
        with timezone.override("Asia/Tokyo"):
            assert lastmods(ProductSource) == lastmods(Instances) == expected


class TestNaiveDates:
    """USE_TZ is off, so times are those of clocks in TIME_ZONE."""

    @pytest.fixture(autouse=True)
    def berlin(self, settings):
        """Have daylight saving time."""
        settings.USE_TZ = False
        settings.TIME_ZONE = "Europe/Berlin"

    expected = {
        "2026-01-15T12:00:00": "2026-01-15T11:00:00+00:00",
        "2026-07-15T12:00:00.999999": "2026-07-15T10:00:00+00:00",
        "2026-03-29T01:59:59.999999": "2026-03-29T00:59:59+00:00",
        "2026-03-29T03:00:00": "2026-03-29T01:00:00+00:00",
        "2026-10-25T01:59:59": "2026-10-24T23:59:59+00:00",
        "2026-10-25T03:00:00": "2026-10-25T02:00:00+00:00",
        "2026-12-31T23:59:59.5": "2026-12-31T22:59:59+00:00",
        "2027-01-01T00:30:00": "2026-12-31T23:30:00+00:00",
    }

    @pytest.mark.parametrize("source", [ProductSource, Instances])
    def test_each_has_the_offset_of_its_own_day(self, source):
        """Winter, summer, and both sides of each change of the clocks."""
        save_dates([datetime.fromisoformat(text) for text in self.expected])
        assert lastmods(source) == list(self.expected.values())

    @pytest.mark.parametrize("text", ["2026-10-25T02:30:00", "2026-03-29T02:30:00"])
    def test_hours_that_are_twice_or_never_are_the_same_in_both_ways(self, text):
        """Whichever moment is meant, tuples and instances name the same."""
        save_dates([datetime.fromisoformat(text)])
        (found,) = lastmods(ProductSource)
        assert found in {f"{text[:10]}T0{hour}:30:00+00:00" for hour in (0, 1)}
        assert lastmods(Instances) == [found]

    def test_another_zone_is_followed(self, settings):
        """TIME_ZONE is read when the page is rendered."""
        settings.TIME_ZONE = "Asia/Kolkata"
        save_dates([datetime.fromisoformat("2026-01-15T12:00:00")])
        assert lastmods(ProductSource) == ["2026-01-15T06:30:00+00:00"]


class TestDatesWithoutTime:
    """A DateField is a date, wherever the server stands."""

    dates = (date(2026, 1, 1), date(2026, 12, 31), date(1970, 1, 1), date(1904, 2, 29))

    @pytest.mark.parametrize("use_tz", [True, False])
    def test_text_equals_what_python_writes(self, settings, use_tz):
        """Ten characters, and no shift into another day."""
        settings.USE_TZ = use_tz
        make_products(len(self.dates), updated_at=None)
        rows = Product.objects.order_by("pk")
        for product, day in zip(list(rows), self.dates, strict=True):
            rows.filter(pk=product.pk).update(created_on=day)
        expected = [day.isoformat() for day in self.dates]
        assert lastmods(DateSource) == expected
        by_method = {"priority": lambda self, row: None}
        assert lastmods(type("Dated", (DateSource,), by_method)) == expected


class TestExtremes:
    """Dates at the ends of what a database and Python can hold."""

    def test_far_past_and_far_future_are_written(self):
        """Four digits of the year, always."""
        moments = [
            datetime(1000, 1, 2, tzinfo=UTC),
            datetime(9999, 12, 30, 23, 59, 59, tzinfo=UTC),
        ]
        save_dates(moments)
        assert lastmods(ProductSource) == lastmods(Instances)
        assert lastmods(ProductSource) == [w3c(moment) for moment in moments]
