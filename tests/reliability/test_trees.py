"""T25 for trees: the next build shows what an edit did to the rows below it.

The model stands in for those of treebeard, Wagtail and Oscar: a row's URL and whether
it is listed depend on the rows above it, and a move is one statement without a signal.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db.models.signals import post_save
from django.test import Client

from django_sitemaps_plus import notify_changed
from django_sitemaps_plus.building.build import build
from tests.support.documents import locs, read_index
from tests.support.testapp.models import Topic
from tests.support.trees import CallableSource, PathSource

pytestmark = pytest.mark.django_db(transaction=True)


def topic(path: str) -> Topic:
    return Topic.objects.get(path="".join([f"{it:0>4}" for it in path.split(".")]))


def saved(path: str, **values: Any) -> None:
    row = topic(path)
    vars(row).update(values)
    row.save()


def saved_by_hand(path: str, **values: Any) -> None:
    """Write a row past save(), and send its signal as people do."""
    row = topic(path)
    Topic.objects.filter(pk=row.pk).update(**values)
    post_save.send(Topic, instance=row)


def moved(path: str, to: str) -> None:
    """Move a row and all below it, and save it as Wagtail does."""
    row = topic(path)
    row.move(to)
    row.save()


def moved_without_save(path: str, to: str) -> None:
    """Move them as treebeard does, and pass them by hand."""
    row = topic(path)
    row.move(to)
    notify_changed(Topic.objects.filter(path__startswith=row.path))


def deleted(path: str) -> None:
    Topic.objects.filter(path__startswith=topic(path).path).delete()


EDITS: dict[str, tuple[Callable[..., None], dict[str, Any]]] = {
    "save": (saved, {"path": "1.1.1", "slug": "other"}),
    "rename": (saved, {"path": "1", "slug": "other"}),
    "rename in between": (saved, {"path": "1.2", "slug": "other"}),
    "unpublish": (saved, {"path": "1.2", "is_public": False}),
    "publish": (saved, {"path": "2.1", "is_public": True}),
    "by hand": (saved_by_hand, {"path": "1", "slug": "other"}),
    "move": (moved, {"path": "1.2", "to": "00020009"}),
    "move below a hidden row": (moved, {"path": "1.2", "to": "000200010009"}),
    "move without a save": (moved_without_save, {"path": "1", "to": "00020009"}),
    "delete": (deleted, {"path": "1.1"}),
}


@pytest.fixture
def rows() -> None:
    """Make two trees of three levels; one row in the second is not public."""
    made = []
    for root in "12":
        for branch in ("", ".1", ".2", ".1.1", ".1.2", ".2.1", ".2.2"):
            numbers = f"{root}{branch}".split(".")
            path = "".join([f"{it:0>4}" for it in numbers])
            is_public = numbers != ["2", "1"]
            made.append(Topic(path=path, slug=f"t{path}", is_public=is_public))
    Topic.objects.bulk_create(made)


def listed(client: Client) -> Iterator[str]:
    for url in read_index(client.get("/sitemap.xml").content):
        yield from locs(client.get(url.removeprefix("https://example.com")).content)


def expected() -> list[str]:
    paths = [row.get_absolute_url() for row in Topic.objects.all()]
    return sorted([f"https://example.com{path}" for path in paths if path])


@pytest.mark.parametrize("source", [PathSource, CallableSource])
@pytest.mark.parametrize("name", EDITS)
def test_the_next_build_shows_an_edit(sections, client, rows, source, name):
    sections.register("topics", source)
    build()
    before = expected()
    assert sorted(listed(client)) == before
    edit, arguments = EDITS[name]
    edit(**arguments)
    assert expected() != before
    build()
    assert sorted(listed(client)) == expected()
