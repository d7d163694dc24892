"""The shrink guard: falls in small steps, and how a section that is held gets well."""

from datetime import timedelta
from typing import Any

import pytest
from django.db.models.functions import Now
from django.utils import timezone

from django_sitemaps_plus import notify_changed
from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.building.guard import LOOK_AGAIN
from django_sitemaps_plus.models import Page, Section
from django_sitemaps_plus.registry import registry
from tests.support.shop import make_products
from tests.support.testapp.models import Product

pytestmark = pytest.mark.usefixtures("right_totals")

ROWS, LIMIT = 200, 25


def thin_out(tenths: int) -> None:
    for number, row in enumerate(Product.objects.order_by("pk")):
        if number * tenths % 10 < tenths:
            row.delete()


def add(count: int, first: int) -> None:
    made = make_products(count, first=first)
    notify_changed(Product.objects.filter(pk__in=[row.pk for row in made]))


def note_a_day_later() -> None:
    """Let the peak be a day old, and a build note that of the next day."""
    Section.objects.update(peak_since=timezone.now() - timedelta(hours=25))
    assert build().problems == []


class TestSmallSteps:
    @pytest.fixture(autouse=True)
    def published(self, shop: Any) -> None:
        shop(ROWS, limit=LIMIT)

    @pytest.mark.parametrize("tenths", [1, 4])
    def test_no_more_than_half_goes(self, crawl, tenths):
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
        self, configure, waits
    ):
        """Not by nothing, as if the section were new."""
        configure(SHRINK_GUARD=0.2)
        thin_out(3)
        assert build().problems
        build(allow_shrink=True, waits=waits)
        assert Section.objects.get(name="products").peak == Product.objects.count()
        thin_out(3)
        assert build(waits=waits).problems

    def test_what_is_replaced_is_not_lost(self):
        """A section whose rows come and go may lose as many as it likes."""
        for turn in range(1, 5):
            thin_out(3)
            add(ROWS - Product.objects.count(), first=turn * 1_000)
            assert build().problems == []

    def test_a_merge_publishes_no_loss_of_which_nobody_knew(self, crawl):
        """The rows of pages that it reads anew may have gone without a signal."""
        registry.get("products").limit = 500  # so that any two may become one
        keys = list(Product.objects.order_by("pk").values_list("pk", flat=True))
        second = [key for number, key in enumerate(keys) if number // LIMIT % 2]
        gone = Product.objects.filter(pk__in=second)
        gone._raw_delete(gone.db)
        for first in keys[
            :: 2 * LIMIT
        ]:  # of these everybody knows, and so of their pages
            Product.objects.get(pk=first).delete()
        report = build()
        assert any("--allow-shrink" in problem for problem in report.problems)
        assert sum(map(len, crawl().values())) >= ROWS / 2
        build(allow_shrink=True)
        assert (
            sum(map(len, crawl().values())) == Product.objects.count() == ROWS / 2 - 4
        )

    @pytest.mark.parametrize("tenths", [3, 9], ids=["in small steps", "whole pages"])
    def test_the_day_before_counts(self, crawl, tenths):
        """A section that lost four tenths yesterday may not lose half of the rest."""
        thin_out(4)
        assert build().problems == []
        note_a_day_later()
        thin_out(tenths)
        (problem,) = build().problems
        assert f"from {ROWS} entries" in problem
        assert sum(map(len, crawl().values())) == ROWS * 6 / 10

    def test_a_section_that_grew_is_measured_by_what_it_has(self):
        """Not by what it had when the day began."""
        add(ROWS, first=1_000)
        assert build(waits=False).problems == []
        assert Section.objects.get(name="products").peak == 2 * ROWS
        for _ in range(2):
            thin_out(4)
            problems = build(waits=False).problems
        assert problems

    def test_what_was_allowed_ends_the_memory_of_the_day_before(self):
        """Else the next small loss would be measured by what is not to come back."""
        thin_out(4)
        note_a_day_later()
        thin_out(3)
        assert build().problems
        assert build(allow_shrink=True).problems == []
        thin_out(1)
        assert build().problems == []


@pytest.mark.parametrize("is_command", [True, False], ids=["command", "beat"])
def test_a_held_section_gets_well_by_itself_when_its_rows_are_back(shop, is_command):
    """A command looks at its pages at once, for somebody has mended the source.

    Beats look at them again after some minutes, and not each time.
    """
    shop(200, limit=20)
    lost = list(Product.objects.order_by("pk")[20:])
    rows = Product.objects.filter(pk__gte=lost[0].pk)
    rows._raw_delete(rows.db)
    build(waits=False, full=True)
    assert Page.objects.filter(hold="held").count() == 9
    Product.objects.bulk_create(lost)
    if not is_command:
        (section,) = build(waits=False).sections
        assert "--allow-shrink" in section.hold_reason
        assert section.rendered == 0
        Page.objects.update(checked_at=Now() - 2 * LOOK_AGAIN)
    (section,) = build(waits=is_command).sections
    assert section.hold_reason == ""
    pages = Page.objects.filter(section__name="products", state="active")
    assert sum(pages.values_list("entries", flat=True)) == 200
    assert not Page.objects.dirty().exists()


def test_the_command_can_be_pasted(shop):
    """Also that of a section whose name has a space."""
    shop(120, limit=200, name="a b")
    Product.objects.all()._raw_delete("default")
    (section,) = build(full=True).sections
    assert "run build_sitemaps 'a b' --allow-shrink" in section.hold_reason


@pytest.mark.parametrize(
    "declared", [{"ends": "updated_at"}, {"news": lambda *_: None}]
)
def test_a_section_whose_rows_leave_by_the_clock_may_run_empty(shop, declared):
    """No news for two days is no fault; other sections keep their last entries."""
    shop(3, limit=20, **declared)
    Product.objects.all().delete()
    (section,) = build().sections
    assert (section.hold_reason, section.entries) == ("", 0)
