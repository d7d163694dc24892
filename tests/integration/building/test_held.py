"""Held sections: how they get well again, and what looking costs meanwhile."""

from __future__ import annotations

from typing import Any

import pytest
from django.db.models.functions import Now

from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.building.guard import LOOK_AGAIN
from django_sitemaps_plus.models import Page
from tests.support.shop import limited, make_products
from tests.support.testapp.models import Product

pytestmark = pytest.mark.database


@pytest.fixture
def lost(publish: Any) -> list[Product]:
    """Hold a section, and return the rows that it has lost without a trace."""
    made = make_products(200)
    publish(limited(20))
    rows = Product.objects.filter(pk__gte=made[20].pk)
    rows._raw_delete(rows.db)
    build(waits=False, full=True)
    assert Page.objects.filter(hold="held").count() == 9
    return made[20:]


def test_the_command_can_be_pasted(publish):
    """Also that of a section whose name has a space."""
    make_products(120)
    publish(limited(200), "a b")
    Product.objects.all()._raw_delete("default")
    (section,) = build(full=True).sections
    assert "run build_sitemaps 'a b' --allow-shrink" in section.hold_reason


def test_a_held_section_gets_well_by_itself_when_its_rows_are_back(lost):
    """Its pages are looked at again after some minutes, and not with every beat."""
    Product.objects.bulk_create(lost)
    (section,) = build(waits=False).sections
    assert "--allow-shrink" in section.hold_reason
    assert section.rendered == 0
    Page.objects.update(checked_at=Now() - 2 * LOOK_AGAIN)
    (section,) = build(waits=False).sections
    assert section.hold_reason == ""
    pages = Page.objects.filter(section__name="products", state="active")
    assert sum(pages.values_list("entries", flat=True)) == 200
    assert not Page.objects.dirty().exists()


def test_a_command_looks_at_held_pages_at_once(lost):
    """Somebody has mended the source, and wants to see it."""
    Product.objects.bulk_create(lost)
    assert build().sections[0].hold_reason == ""


@pytest.mark.parametrize("limit", [50, 200])
def test_bad_rows_all_over_a_section_hold_it(publish, limit):
    """However small its pages are, and though each keeps most of its entries."""
    make_products(200)
    publish(limited(limit))
    for number in range(0, 200, 5):
        row = Product.objects.filter(slug=f"product-{number:05}")
        row.update(slug=f"bad slug {number}")
    (section,) = build(full=True).sections
    assert "40 of 200 rows cannot be listed" in section.hold_reason
    assert section.entries == 200


@pytest.mark.parametrize(
    "declared", [{"ends": "updated_at"}, {"news": lambda *_: None}]
)
def test_a_section_whose_rows_leave_by_the_clock_may_run_empty(publish, declared):
    """No news for two days is no fault; other sections keep their last entries."""
    make_products(3)
    publish(limited(20, **declared))
    Product.objects.all().delete()
    (section,) = build().sections
    assert (section.hold_reason, section.entries) == ("", 0)
