"""The history of a section: what each of 30 days came to."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from django_sitemaps_plus.conf import get_site
from django_sitemaps_plus.diagnostics.section_pages import History, read_history
from django_sitemaps_plus.models import Figure

pytestmark = pytest.mark.database

NOW = datetime(2026, 11, 25, 15, 20, tzinfo=UTC)
HOUR = NOW.replace(minute=0)


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the time be NOW, which is 16:20 in the zone of the settings, Berlin."""
    monkeypatch.setattr(timezone, "now", lambda: NOW)


def figure(hours: float, kind: str, value: float, **others: Any) -> None:
    """Add a figure of some hours ago."""
    hour = HOUR - timedelta(hours=hours)
    key = {"site": "default", "name": "products", "kind": kind, "hour": hour}
    Figure.objects.create(**key | others, value=value)


def read() -> History:
    """Return the history of the products."""
    return read_history("products", get_site())


def test_days_are_those_of_the_zone_and_end_today():
    found = read()
    assert (len(found.days), found.days[-1]) == (30, date(2026, 11, 25))
    assert found.days[0] == date(2026, 10, 27)
    assert found.is_empty
    figure(16, "pages", 1)  # at 23:00 UTC, which is midnight
    figure(17, "pages", 4)
    assert read().rendered[-2:] == [4, 1]


def test_a_day_without_a_build_has_the_last_number_of_entries():
    """And one with several has that of the last; those before the first have none."""
    figure(50, "entries", 7)
    figure(30, "entries", 5)
    figure(28, "entries", 9)
    figure(25, "pages", 3)
    found = read()
    assert found.entries == [None] * 27 + [7, 9, 9]
    assert found.rendered == [0] * 28 + [3, 0]
    assert not found.is_empty


def test_the_hours_before_the_first_day_say_with_how_many_it_began():
    """What was rendered in them is of no day."""
    figure(30 * 24, "entries", 6)
    figure(30 * 24, "pages", 6)
    found = read()
    assert found.entries == [6] * 30
    assert found.rendered == [0] * 30


def test_a_clock_that_is_ahead_counts_as_today():
    figure(-30, "pages", 3)
    figure(-30, "entries", 3)
    found = read()
    assert (found.entries[-1], found.rendered[-1]) == (3, 3)


def test_others_do_not_count():
    """Sites, sections, and engines that are named as sections are."""
    figure(1, "entries", 1, site="another")
    figure(1, "entries", 1, name="others")
    figure(1, "accepted", 1)
    assert read().is_empty
    assert read().rendered == [0] * 30


def test_there_are_no_zones_without_use_tz(settings, monkeypatch):
    """Times are those of TIME_ZONE, and naive."""
    settings.USE_TZ = False
    now = datetime(2026, 11, 25, 0, 20)  # noqa: DTZ001 - naive on purpose
    monkeypatch.setattr(timezone, "now", lambda: now)
    for ago in (0, 1):
        hour = now.replace(minute=0) - timedelta(hours=ago)
        key = {"site": "default", "name": "products", "kind": "pages"}
        Figure.objects.create(**key, hour=hour, value=ago + 1)
    found = read()
    assert (found.days[-1], found.rendered[-2:]) == (date(2026, 11, 25), [2, 1])


def test_one_query_whatever_the_size(django_assert_num_queries):
    for hour in range(50):
        figure(hour, "entries", hour)
        figure(hour, "pages", hour)
    with django_assert_num_queries(1):
        read()
