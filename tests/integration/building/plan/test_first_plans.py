"""First plans: full pages where keys grow, room on each where they do not."""

from __future__ import annotations

import uuid

import pytest
from django.db import models
from django.test.utils import isolate_apps

from django_sitemaps_plus import ModelSource, Route, planning
from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.core.gzip import write_document
from django_sitemaps_plus.sources.keys import KeySpace
from tests.support.shop import limited
from tests.support.testapp.models import Shop

from .plans import numbers, objects, sizes, spread

pytestmark = pytest.mark.database


class ShopSource(ModelSource):
    """Keys that fall anywhere."""

    model = Shop
    location = Route("shop-detail", pk="pk")
    limit = 10


def shops(count):
    Shop.objects.bulk_create([Shop(pk=uuid.UUID(int=n << 100)) for n in range(count)])


class TestSteps:
    def test_integers_fill_pages(self, publish):
        """Older pages of growing keys never change again."""
        spread(25)
        assert sizes(publish(limited(10))) == [10, 10, 5]

    def test_uuids_leave_room_for_random_inserts(self, publish):
        """A page splits above its limit and a tenth, no sooner; others stay."""
        shops(25)
        section = publish(ShopSource)
        assert sizes(section) == [8, 8, 8, 1]  # four fifths of what a page should hold
        before = objects(section)
        found = []
        for number in range(1, 5):
            Shop.objects.create(pk=uuid.UUID(int=number))
            build()
            found.append(sizes(section))
        assert found == [
            [9, 8, 8, 1],
            [10, 8, 8, 1],
            [11, 8, 8, 1],
            [6, 6, 8, 8, 1],
        ]
        assert {n: before[n] for n in (2, 3, 4)}.items() <= objects(section).items()

    def test_pages_of_many_bytes_get_fewer_rows(self, publish, monkeypatch):
        """None is rendered for nothing, and then split, as with many languages."""
        spread(30)
        monkeypatch.setattr(write_document, "__defaults__", (1_000,))
        monkeypatch.setattr(planning, "MAX_BYTES", 1_000)
        section = publish(limited(20))
        assert numbers(section) == list(range(1, len(sizes(section)) + 1))
        assert len({*sizes(section)[:-1]}) == 1
        assert sum(sizes(section)) == 30

    def test_a_limit_of_one_is_a_row_a_page(self, publish):
        shops(3)
        assert sizes(publish(type("One", (ShopSource,), {"limit": 1}))) == [1, 1, 1]

    def test_live_and_stored_pages_have_the_same_numbers(self, sections, crawl):
        shops(25)
        sections.register("shops", ShopSource)
        live = crawl()
        assert len(live) == 4
        build()
        assert crawl() == live


def uuid7():
    """Stand for the function of this name that newer Pythons have."""
    return uuid.uuid4()


@pytest.mark.parametrize(
    ("field", "grows"),
    [
        (models.BigAutoField(primary_key=True), True),
        (models.PositiveIntegerField(primary_key=True), True),
        (models.UUIDField(primary_key=True, default=uuid.uuid4), False),
        (models.UUIDField(primary_key=True, default=uuid7), True),
        (models.UUIDField(primary_key=True), False),
        (models.CharField(max_length=9, primary_key=True), False),
    ],
)
@isolate_apps("tests.support.testapp")
def test_the_field_tells_whether_keys_grow(field, grows):
    """Its type, and for UUIDs the function that makes them."""
    meta = type("Meta", (), {"app_label": "testapp"})
    body = {"__module__": __name__, "Meta": meta, "code": field.clone()}
    model = type("Grown", (models.Model,), body)
    assert KeySpace(model, "pk", "default").grows is grows
