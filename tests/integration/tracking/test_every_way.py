"""The ways in which a section learns of an edit: each finds its own, alone or not."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F
from django.utils import timezone

from django_sitemaps_plus import notify_changed
from django_sitemaps_plus.models import Section
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.signals import urls_changed
from tests.support.builds import build_and_relay
from tests.support.testapp.models import Event
from tests.support.told import hearing

from .rows import HOUR, NOW, EventSource, dirty, recorded

pytestmark = pytest.mark.database

YEAR = timedelta(days=365)

#: The page whose last event is still to begin.
LAST = 8


class Current(EventSource):
    """Events that have begun and not ended, three a page, with dates to look at."""

    limit = 3
    lastmod = "updated_at"

    def get_queryset(self):
        now = timezone.now()
        return Event.objects.filter(starts_at__lte=now, ends_at__gt=now)


class Deployed(Current):
    """The same events, of which something else is said."""

    changefreq = "daily"


@pytest.fixture
def section(clock: Any, publish: Any) -> Section:
    """Publish eight young pages; page n has the events 3n - 3 to 3n - 1."""
    usual = {"starts_at": NOW - YEAR, "ends_at": NOW + YEAR, "updated_at": NOW - YEAR}
    made = [Event(slug=f"event-{n}", **usual) for n in range(3 * LAST)]
    made[-1].starts_at = NOW + YEAR
    Event.objects.bulk_create(made)
    section: Section = publish(Current, "events")
    assert section.pages.count() == LAST
    return section


def rows_of(number: int) -> Any:
    return Event.objects.filter(slug=f"event-{3 * number - 1}")


def rename(number: int, **fields: Any) -> None:
    """Change a page by a statement that tells nobody."""
    assert rows_of(number).update(slug=f"renamed-{number}", **fields) == 1


def save(number: int) -> None:
    """Change it by a save, which leaves its lastmod."""
    event = rows_of(number).get()
    event.slug = f"saved-{number}"
    event.save()


def say(number: int) -> None:
    event = rows_of(number).get()
    rename(number)
    notify_changed(Event.objects.filter(pk=event.pk))


def age(number: int) -> None:
    """Change a page that was not compared for AUDIT_INTERVAL_SECONDS."""
    rename(number)
    pages = Section.objects.get(name="events").pages.filter(number=number)
    pages.update(checked_at=F("checked_at") - timedelta(days=2))


#: How a page is changed, and the page that it is done to.
WAYS: dict[str, Any] = {
    "a save": (save, 1),
    "a word": (say, 2),
    "a lastmod": (lambda number: rename(number, updated_at=NOW + HOUR), 3),
    "an end": (lambda number: rows_of(number).update(ends_at=NOW + HOUR), 4),
    "the audit": (age, 5),
    "a start": (lambda number: rows_of(number).update(starts_at=NOW + HOUR), LAST),
}

#: A page that is changed and young, which nobody can know.
UNTOLD = 7


def marks(section: Section) -> dict[int, int]:
    """Return how often each page was marked so far."""
    return dict(section.pages.values_list("number", "wanted"))


def newly_marked(section: Section, before: dict[int, int]) -> list[int]:
    """Return the pages that were marked since, as often as they were."""
    after = marks(section)
    rises = {number: after[number] - before[number] for number in sorted(before)}
    return [number for number, rise in rises.items() for _ in range(rise)]


@pytest.mark.parametrize(
    "chosen", [[way] for way in WAYS] + [list(WAYS)], ids=[*WAYS, "all together"]
)
def test_a_refresh_renders_the_pages_of_its_news(clock, section, client, chosen):
    """Each once, by whatever way; an edit that left no trace waits for the audit."""
    before = marks(section)
    rename(UNTOLD)
    for way in chosen:
        change, number = WAYS[way]
        change(number)
    clock.time = NOW + 2 * HOUR
    [report] = build_and_relay().sections
    assert newly_marked(section, before) == [WAYS[way][1] for way in chosen]
    assert (report.rendered, report.stored) == (len(chosen), len(chosen))
    assert (dirty(section), recorded()) == ([], [])
    assert b"renamed" not in client.get(f"/sitemap-events-{UNTOLD}.xml").content


def test_a_deploy_and_all_other_news_in_one_refresh(clock, section, client):
    """All pages are rendered once, what is told of is announced, nothing is left."""
    for change, number in WAYS.values():
        change(number)
    rename(UNTOLD)
    registry.unregister("events")
    registry.register("events", Deployed)
    clock.time = NOW + 2 * HOUR
    with hearing(urls_changed) as heard:
        [report] = build_and_relay().sections
    assert (report.rendered, report.stored) == (LAST, LAST)
    announced = [told for told in heard if told["announce"]]
    kinds = ("added", "updated", "removed")
    urls = {url for told in announced for kind in kinds for url in told[kind]}
    # Each edited row by its old and its new slug, and no other row of its page.
    slugs = ["saved-1", "event-2", "renamed-2", "event-5", "renamed-3", "event-8"]
    slugs += ["event-11", "event-23"]  # has ended, has begun
    assert urls == {f"https://example.com/products/{slug}/" for slug in slugs}
    assert (dirty(section), recorded()) == ([], [])
    assert b"saved-1" in client.get("/sitemap-events-1.xml").content
    assert b"renamed" in client.get(f"/sitemap-events-{UNTOLD}.xml").content
    assert build_and_relay().sections[0].rendered == 0
