"""The history of a site, which the dashboard plots."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from django_sitemaps_plus.conf import get_site
from django_sitemaps_plus.maintenance.history import OTHERS, RANGES, read_history
from django_sitemaps_plus.models import Figure, Page, Section

pytestmark = [pytest.mark.database, pytest.mark.django_db]

NOW = datetime(2026, 11, 25, 15, 20, tzinfo=UTC)
HOUR = NOW.replace(minute=0)


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the time be NOW."""
    monkeypatch.setattr(timezone, "now", lambda: NOW)


def figure(hours: float, kind: str, value: float, **others: Any) -> None:
    """Add a figure of some hours ago."""
    hour = HOUR - timedelta(hours=hours)
    key = {"site": "default", "name": "products", "kind": kind, "hour": hour}
    Figure.objects.create(**key | others, value=value)


def plan(*names: str) -> None:
    """Have sections with a page each."""
    for number, name in enumerate(names, 1):
        section = Section.objects.create(site="default", name=name)
        Page.objects.create(section=section, number=1, index_position=number)


@pytest.mark.parametrize(
    ("name", "count", "first", "last"),
    [
        ("24h", 24, HOUR - timedelta(hours=23), HOUR),
        ("7d", 168, HOUR - timedelta(hours=167), HOUR),
        ("30d", 120, HOUR.replace(day=26, month=10, hour=18), HOUR.replace(hour=12)),
    ],
)
def test_a_range_ends_with_the_present_step(name, count, first, last):
    """Steps of six hours begin as those of UTC's days."""
    times = read_history(get_site(), name).times
    assert (len(times), times[0], times[-1]) == (count, first, last)


class TestEntries:
    def test_an_hour_without_a_build_has_the_last_number(self):
        """Also one from before the range; a section that is new begins later."""
        plan("products", "others")
        figure(700, "entries", 5)
        figure(30, "entries", 7)
        figure(2, "entries", 9)
        figure(1, "entries", 3, name="others")
        found = read_history(get_site(), "24h").entries
        assert found == {
            "products": [7] * 21 + [9] * 3,
            "others": [None] * 22 + [3] * 2,
        }

    def test_a_step_of_several_hours_has_the_last_of_them(self):
        plan("products")
        figure(1, "entries", 2)  # at 14:00
        figure(3, "entries", 1)  # at 12:00
        assert read_history(get_site(), "30d").entries["products"][-2:] == [None, 2]

    def test_a_removed_section_ends_with_its_last_build(self):
        figure(3, "entries", 7)
        figure(26, "entries", 7, name="earlier")
        found = read_history(get_site(), "24h")
        assert found.entries == {"products": [None] * 20 + [7] + [None] * 3}
        assert found.sections == []

    def test_the_smallest_of_many_are_one_line(self):
        """The first and the second here, the second of which is new."""
        names = [f"s{number:02}" for number in range(12)]
        plan(*names)
        for number, name in enumerate(names):
            figure(1 if number == 1 else 30, "entries", 89 + number, name=name)
        found = read_history(get_site(), "24h").entries
        assert list(found) == [*reversed(names[2:]), OTHERS]
        assert found[OTHERS] == [89] * 22 + [179] * 2

    def test_one_section_is_alone(self):
        plan("products", "others")
        figure(1, "entries", 7)
        figure(1, "entries", 8, name="others")
        found = read_history(get_site(), "24h", "others")
        assert list(found.entries) == ["others"]
        assert found.sections == ["others", "products"]


def test_what_builds_took_is_by_build():
    """Of an hour in which none began it is all; without pages there is no number."""
    figure(3, "pages", 12)
    figure(3, "pages", 3, name="others")
    figure(3, "seconds", 6)
    figure(3, "builds", 2)
    figure(3, "builds", 1, name="others")
    figure(2, "pages", 8)
    found = read_history(get_site(), "24h")
    assert found.pages[-4:] == [5, 8, None, None]
    assert found.seconds[-4:] == [2, None, None, None]
    alone = read_history(get_site(), "24h", "products")
    assert alone.pages[-4:] == [6, 8, None, None]
    by_six = read_history(get_site(), "30d")
    assert by_six.pages[-2:] == [None, 23 / 3]


def test_deliveries_are_of_all_engines():
    """Whatever section is asked for, and whatever its name is."""
    figure(1, "accepted", 4, name="products", bucket=10)
    figure(1, "accepted", 2, name="bing", bucket=60)
    figure(1, "rejected", 1, name="bing")
    figure(0, "failed", 3, name="bing")
    figure(24, "failed", 9, name="bing")  # before the range
    figure(1, "failed", 9, name="bing", site="another")
    for section in ("", "products", "others"):
        found = read_history(get_site(), "24h", section)
        assert found.accepted == [0] * 22 + [6, 0]
        assert found.rejected == [0] * 22 + [1, 0]
        assert found.failed == [0] * 23 + [3]


@pytest.mark.parametrize(
    ("counts", "median", "p95"),
    [
        ({}, None, None),
        ({1: 10}, 0.5, 0.95),
        ({10: 50, 60: 50}, 10, 57),
        ({30: 94, 0: 6}, pytest.approx(20 + 10 * 50 / 94), 86_400),
    ],
)
def test_delays_are_told_by_their_bounds(counts, median, p95):
    for bucket, count in counts.items():
        figure(0, "accepted", count, bucket=bucket)
    found = read_history(get_site(), "24h")
    assert (found.delay_median[-1], found.delay_p95[-1]) == (median, p95)


def test_few_queries_whatever_the_size():
    plan("products", "others")
    for hour in range(50):
        figure(hour, "entries", hour)
        figure(hour, "pages", hour)
    for name in RANGES:
        with CaptureQueriesContext(connection) as queries:
            read_history(get_site(), name)
        assert len(queries) == 3


def test_a_clock_that_is_ahead_counts_as_now():
    figure(-1, "failed", 3)
    assert read_history(get_site(), "24h").failed[-1] == 3
