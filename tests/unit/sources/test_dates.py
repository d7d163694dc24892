"""What sources give as a lastmod, and what databases write as text."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.db.models import F

from django_sitemaps_plus.sources import dates
from django_sitemaps_plus.sources.dates import (
    date_column,
    has_utc_text,
    lastmod_text,
)
from tests.support.testapp.models import Product

MOMENT = Product._meta.get_field("updated_at")
DAY = Product._meta.get_field("created_on")


class TestLastmodText:
    def test_an_aware_datetime_stays_what_it_is_without_use_tz(self, settings):
        """Its own offset counts."""
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
    def test_a_naive_datetime_beyond_the_calendar_is_refused(
        self, settings, value, zone
    ):
        """A ValueError, as for any other bad date."""
        settings.USE_TZ = False
        settings.TIME_ZONE = zone
        with pytest.raises(ValueError, match="cannot be written in UTC"):
            lastmod_text(value)


class TestDateColumn:
    @pytest.fixture
    def connect(self, monkeypatch: pytest.MonkeyPatch) -> Any:
        """Return what sets the one database that there is."""

        def connect(vendor: str, zone: Any = UTC) -> None:
            connection = SimpleNamespace(vendor=vendor, timezone=zone)
            monkeypatch.setattr(dates, "connections", {"db": connection})

        return connect

    @pytest.mark.parametrize("vendor", ["sqlite", "postgresql", "mysql"])
    def test_dates_and_moments_in_utc_are_read_as_text(self, connect, vendor):
        """Formatting in the database is faster than parsing here."""
        connect(vendor)
        assert has_utc_text("db")
        columns = [date_column(it.name, it, "db") for it in (MOMENT, DAY)]
        assert [column.ending for column in columns] == ["+00:00", ""]
        (path,) = columns[0].expression.source_expressions
        assert path == F("updated_at")

    @pytest.mark.parametrize(
        ("vendor", "possible"),
        [("sqlite", False), ("mysql", False), ("postgresql", True)],
    )
    def test_a_moment_in_another_zone_only_where_the_database_knows_it(
        self, connect, vendor, possible
    ):
        """SQL cannot tell summer from winter in a wall clock time."""
        connect(vendor, ZoneInfo("Europe/Berlin"))
        assert has_utc_text("db") is possible
        assert (date_column("updated_at", MOMENT, "db") is not None) is possible

    def test_without_use_tz_wall_clock_times_are_read_as_they_are(
        self, connect, settings
    ):
        """They are in TIME_ZONE, which may have summer time."""
        settings.USE_TZ = False
        connect("sqlite")
        assert date_column("updated_at", MOMENT, "db") is None

    def test_another_database_hands_over_python_objects(self, connect):
        """Its SQL is not known here."""
        connect("oracle")
        assert date_column("updated_at", MOMENT, "db") is None
        assert date_column("created_on", DAY, "db") is None

    @pytest.mark.parametrize("field", [None, Product._meta.get_field("slug")])
    def test_another_column_is_read_as_it_is(self, connect, field):
        """An annotation, or a field that holds no dates."""
        connect("postgresql")
        assert date_column("slug", field, "db") is None
