"""Rows that enter and leave by the clock alone."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db.models import Q
from django.utils import timezone

from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.models import Section
from django_sitemaps_plus.section import open_section
from django_sitemaps_plus.tracking import schedule
from tests.support.documents import locs
from tests.support.testapp.models import Event

from .rows import HOUR, NOW, EventSource, dirty, recorded

pytestmark = pytest.mark.database


class Current(EventSource):
    """Events that have begun and not ended, three a page."""

    limit = 3

    def get_queryset(self):
        now = timezone.now()
        begun = Q(starts_at=None) | Q(starts_at__lte=now)
        return Event.objects.filter(begun, Q(ends_at=None) | Q(ends_at__gt=now))


def make_events(count, **times):
    made = [Event(slug=f"event-{n}", **times) for n in range(count)]
    Event.objects.bulk_create(made)
    return list(Event.objects.order_by("pk"))


def set_times(event, **times):
    Event.objects.filter(pk=event.pk).update(**times)


def listed(client):
    """Return the slugs on all pages."""
    numbers = Section.objects.get(name="events").pages.values_list("number", flat=True)
    answers = [client.get(f"/sitemap-events-{n}.xml") for n in sorted(numbers)]
    found = [loc for a in answers if a.status_code == 200 for loc in locs(a.content)]
    return [url.split("/")[-2] for url in found]


def mark(section):
    """Look at the schedule; return the pages that are marked."""
    section = Section.objects.get(pk=section.pk)
    schedule.mark_scheduled(open_section(section))
    return dirty(section)


def test_a_row_enters_and_leaves_by_the_clock(clock, publish, client):
    """No save, no word: its times alone bring it and take it."""
    events = make_events(6)
    set_times(events[1], starts_at=NOW + HOUR, ends_at=NOW + 3 * HOUR)
    publish(Current, "events")
    seen = []
    for hours in (0, 2, 4):
        clock.time = NOW + hours * HOUR
        build()
        seen.append("event-1" in listed(client))
    assert seen == [False, True, False]
    assert recorded() == []


def test_only_the_page_of_the_row_is_marked(clock, publish):
    """Nothing before it has come, nor once it is past the overlap."""
    events = make_events(6, starts_at=NOW - 5 * HOUR)
    section = publish(Current, "events")
    set_times(events[4], ends_at=NOW + HOUR)
    marked = []
    for hours in (0.5, 1, 1.5, 2):
        clock.time = NOW + hours * HOUR
        marked.append(mark(section))
        section.pages.update(wanted=100, built=100)
    assert marked == [[], [2], [2], []]


@pytest.mark.parametrize(("most", "pages"), [(2, [1]), (1, [1, 2])])
def test_more_rows_than_are_located_mark_the_section(
    clock, publish, monkeypatch, most, pages
):
    """They are not even read: at midnight there may be millions."""
    monkeypatch.setattr(schedule, "MAX_KEYS", most)
    events = make_events(6, starts_at=NOW - 5 * HOUR)
    section = publish(Current, "events")
    for event in events[:2]:
        set_times(event, ends_at=NOW + HOUR)
    clock.time = NOW + 2 * HOUR
    assert mark(section) == pages


@pytest.mark.parametrize("seconds", [5, 50])
def test_a_clock_ahead_of_the_databases_loses_no_row(clock, publish, client, seconds):
    """The first look builds the page as it was; one that comes later finds the row."""
    ahead = timedelta(seconds=seconds)

    def by_the_database(self):
        return Event.objects.filter(starts_at__lte=clock.time - ahead)

    events = make_events(3, starts_at=NOW - HOUR)
    set_times(events[1], starts_at=NOW + HOUR)
    publish(type("Behind", (Current,), {"get_queryset": by_the_database}), "events")
    seen = []
    for moment in (HOUR, HOUR + ahead, 2 * HOUR):
        clock.time = NOW + moment
        build()
        seen.append("event-1" in listed(client))
    assert seen == [False, True, True]


def test_a_look_that_fails_is_taken_again(clock, publish, monkeypatch):
    """Until when it looked is noted after its pages are marked."""
    events = make_events(3)
    set_times(events[0], ends_at=NOW + HOUR)
    section = publish(Current, "events")

    def fail(*args, **kwargs):
        raise RuntimeError("killed")

    clock.time = NOW + 2 * HOUR
    with monkeypatch.context() as patch:
        patch.setattr(schedule, "mark_rows", fail)
        with pytest.raises(RuntimeError):
            mark(section)
    assert mark(section) == [1]


def test_without_time_zones(clock, publish, client, settings):
    settings.USE_TZ = False
    events = make_events(3)
    set_times(events[1], starts_at=timezone.now() + HOUR)
    publish(Current, "events")
    clock.time += 2 * HOUR
    build()
    assert "event-1" in listed(client)
