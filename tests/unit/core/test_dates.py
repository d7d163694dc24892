"""Dates and date-times as W3C text."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from django_sitemaps_plus.core.dates import W3C_LENGTH, check_w3c, parse_w3c, w3c

OFFSETS = st.integers(-1439, 1439).map(lambda n: timezone(timedelta(minutes=n)))
MOMENTS = st.datetimes(
    datetime(2, 1, 1),  # noqa: DTZ001 - Hypothesis adds the time zone
    datetime(9998, 12, 31),  # noqa: DTZ001
    timezones=OFFSETS,
)


def test_a_moment_is_written_in_utc_and_a_date_as_it_is():
    """Fractions are cut off: the last microsecond of a second belongs to it."""
    assert w3c(date(2026, 11, 20)) == "2026-11-20"
    moment = datetime(2026, 11, 20, 9, 30, tzinfo=timezone(timedelta(hours=5.5)))
    assert w3c(moment) == "2026-11-20T04:00:00+00:00"
    moment = datetime(2026, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)
    assert w3c(moment) == "2026-12-31T23:59:59+00:00"


def test_a_naive_datetime_is_refused():
    """Nobody knows which moment it is."""
    with pytest.raises(ValueError, match="no time zone"):
        w3c(datetime(2026, 11, 20))  # noqa: DTZ001 - the point of the test


@pytest.mark.parametrize(
    "moment",
    [
        datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=1))),
        datetime(9999, 12, 31, 23, tzinfo=timezone(timedelta(hours=-2))),
    ],
)
def test_a_moment_beyond_the_calendar_is_refused(moment):
    """What UTC cannot express is a ValueError, not an OverflowError."""
    with pytest.raises(ValueError, match="cannot be written in UTC"):
        w3c(moment)


@pytest.mark.parametrize("value", ["2026-11-20", 20261120, None])
def test_anything_else_is_refused(value):
    with pytest.raises(TypeError, match="is not a date"):
        w3c(value)


@given(MOMENTS, MOMENTS)
def test_moments_read_back_to_the_second_and_sort_as_text(one, other):
    """The newest lastmod is found by comparing text."""
    assert len(w3c(one)) == W3C_LENGTH
    assert parse_w3c(w3c(one)) == one.replace(microsecond=0)
    if one.replace(microsecond=0) < other.replace(microsecond=0):
        assert w3c(one) < w3c(other)
    assert check_w3c(w3c(one)) == w3c(one)
    assert check_w3c(w3c(one.date())) == w3c(one.date())


@pytest.mark.parametrize(
    "text",
    [
        *("", "20261120", "2026-13-01", "0000-01-01", "2026-W47-5", "+026-11-20"),
        *("2026-11-2\uff10", "2026-11-20T09:30:00Z", "2026-11-20 09:30:00+00:00"),
        *("2026-11-20T09:30:00+02:00", "2026-11-20T09:30:00.5+00:00"),
    ],
)
def test_any_other_form_is_refused(text):
    """Python reads more forms than sitemaps may have."""
    with pytest.raises(ValueError, match=r"\w"):
        check_w3c(text)


def test_a_date_is_its_midnight_in_utc():
    """So dates and moments can be compared."""
    assert parse_w3c("2026-11-20") == datetime(2026, 11, 20, tzinfo=UTC)
