"""T25 for contrib classes: edits of processes that have never built are published.

Stand-ins for what projects have: a plain queryset, a list, and as Wagtail's class one
that lists a parent model and makes its own entries.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.sitemaps import Sitemap
from django.db.models import F
from django.test import Client

from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.models import Page
from django_sitemaps_plus.tracking import known
from tests.support.documents import locs, read_index
from tests.support.testapp.models import Cafe, Place

from .tools.processes import in_child

pytestmark = pytest.mark.django_db(transaction=True)

ORIGIN = "https://example.com"


class Places(Sitemap):
    """A plain queryset; a place that was never visited is not listed."""

    limit = 3

    def items(self) -> Any:
        return Place.objects.filter(visits__gt=0).order_by("pk")

    def location(self, item: Place) -> str:
        return f"/{item.slug}/"


class Listed(Places):
    def items(self) -> Any:
        return list(super().items())


class OwnUrls(Places):
    def _urls(self, page: Any, protocol: str, domain: str) -> Any:
        items = self.paginator.page(page).object_list
        return [{"location": f"{ORIGIN}/{item.slug}/"} for item in items]


def cafe(number: int) -> Cafe:
    return Cafe.objects.get(slug=f"cafe-{number}")


def save(number: int, **values: Any) -> None:
    found = cafe(number)
    vars(found).update(values)
    found.save()


EDITS: dict[str, Callable[[], object]] = {
    "edit": lambda: save(1, slug="renamed"),
    "unpublish": lambda: save(2, visits=0),
    "publish": lambda: save(0, visits=1),
    "delete": lambda: cafe(4).delete(),
    "delete of all": lambda: Place.objects.exclude(slug="cafe-3").delete(),
    "add": lambda: Cafe.objects.create(slug="new", visits=1),
    "parent": lambda: Place.objects.get(slug="cafe-5").delete(),
}


def listed(client: Client) -> list[str]:
    pages = read_index(client.get("/sitemap.xml").content)
    paths = [url.removeprefix(ORIGIN) for url in pages]
    return sorted([url for path in paths for url in locs(client.get(path).content)])


def expected() -> list[str]:
    slugs = Place.objects.filter(visits__gt=0).values_list("slug", flat=True)
    return sorted([f"{ORIGIN}/{slug}/" for slug in slugs])


@pytest.fixture(autouse=True)
def ten_seconds_later(monkeypatch) -> None:
    """Let no process have asked of late what classes list, or who reads changes."""
    monkeypatch.setattr(known, "PAUSE_SECONDS", 0)
    known.forget()


@pytest.mark.parametrize("sitemap", [Places, Listed, OwnUrls])
@pytest.mark.parametrize("name", EDITS)
def test_what_another_process_edits_is_published(sections, client, sitemap, name):
    """One that began after the first build, and has no other work."""
    for number in range(8):
        Cafe.objects.create(slug=f"cafe-{number}", visits=number)
    sections.register("places", sitemap)
    assert in_child(build) == 0
    before = expected()
    assert listed(client) == before
    assert in_child(EDITS[name]) == 0
    assert expected() != before
    Page.objects.update(checked_at=F("checked_at") - timedelta(minutes=1))
    assert in_child(build) == 0
    assert listed(client) == expected()
