"""The shrink guard where a section falls in small steps, each of which could pass."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from django_sitemaps_plus import notify_changed
from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.models import Section
from django_sitemaps_plus.registry import registry
from tests.support.shop import limited, make_products
from tests.support.testapp.models import Product

pytestmark = pytest.mark.database

ROWS = 400


def thin_out(tenths: int) -> None:
    """Delete so many tenths of the rows of every page, one by one."""
    for number, row in enumerate(Product.objects.order_by("pk")):
        if number * tenths % 10 < tenths:
            row.delete()


def add(count: int, first: int) -> None:
    made = make_products(count, first=first)
    notify_changed(Product.objects.filter(pk__in=[row.pk for row in made]))


@pytest.fixture
def shop(publish: Any) -> None:
    """Have 400 products published, 50 a page."""
    make_products(ROWS)
    publish(limited(50))


@pytest.mark.parametrize("tenths", [1, 4])
def test_no_more_than_half_goes(shop, crawl, tenths):
    """Though no page loses half of its entries at once."""
    problems: list[str] = []
    while Product.objects.count() > ROWS / 4:
        thin_out(tenths)
        problems += build().problems
        assert sum(map(len, crawl().values())) >= ROWS / 2
    assert any("--allow-shrink" in problem for problem in problems)
    build(allow_shrink=True)
    assert sum(map(len, crawl().values())) == Product.objects.count() < ROWS / 2


@pytest.mark.parametrize("waits", [True, False])
def test_what_was_allowed_is_what_the_next_losses_are_measured_by(
    shop, configure, waits
):
    """Not by nothing, as if the section were new."""
    configure(SHRINK_GUARD=0.2)
    thin_out(3)
    assert build().problems
    build(allow_shrink=True, waits=waits)
    assert Section.objects.get(name="products").peak == Product.objects.count()
    thin_out(3)
    assert build(waits=waits).problems


def test_what_is_replaced_is_not_lost(shop):
    """A section whose rows come and go may lose as many as it likes."""
    for turn in range(1, 5):
        thin_out(3)
        add(ROWS - Product.objects.count(), first=turn * 1_000)
        assert build().problems == []


def test_a_merge_publishes_no_loss_of_which_nobody_knew(shop, crawl):
    """The rows of pages that it reads anew may have gone without a signal."""
    registry.get("products").limit = 500  # so that any two may become one
    keys = list(Product.objects.order_by("pk").values_list("pk", flat=True))
    second = [key for number, key in enumerate(keys) if number // 50 % 2]
    gone = Product.objects.filter(pk__in=second)
    gone._raw_delete(gone.db)
    for first in keys[::100]:  # of these everybody knows, and so of every other page
        Product.objects.get(pk=first).delete()
    report = build()
    assert any("--allow-shrink" in problem for problem in report.problems)
    assert sum(map(len, crawl().values())) >= ROWS / 2
    build(allow_shrink=True)
    assert sum(map(len, crawl().values())) == Product.objects.count() == 196


def note_a_day_later() -> None:
    """Let the peak be a day old, and a build note that of the next day."""
    Section.objects.update(peak_since=timezone.now() - timedelta(hours=25))
    assert build().problems == []


@pytest.mark.parametrize("tenths", [3, 9], ids=["in small steps", "whole pages"])
def test_the_day_before_counts(shop, crawl, tenths):
    """A section that lost four tenths yesterday may not lose half of the rest."""
    thin_out(4)
    assert build().problems == []
    note_a_day_later()
    thin_out(tenths)
    (problem,) = build().problems
    assert "from 400 entries" in problem
    assert sum(map(len, crawl().values())) == ROWS * 6 / 10


def test_a_section_that_grew_is_measured_by_what_it_has(shop):
    """Not by what it had when the day began."""
    add(ROWS, first=1_000)
    assert build(waits=False).problems == []
    assert Section.objects.get(name="products").peak == 2 * ROWS
    for _ in range(2):
        thin_out(4)
        problems = build(waits=False).problems
    assert problems


def test_what_was_allowed_ends_the_memory_of_the_day_before(shop):
    """Else the next small loss would be measured by what is not to come back."""
    thin_out(4)
    note_a_day_later()
    thin_out(3)
    assert build().problems
    assert build(allow_shrink=True).problems == []
    thin_out(1)
    assert build().problems == []
