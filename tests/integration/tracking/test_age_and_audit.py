"""Pages that nobody tells of grow old, and the audit compares the rest in turn."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.sitemaps import GenericSitemap, Sitemap
from django.core.paginator import Paginator
from django.db import connection
from django.db.models import F
from django.db.models.deletion import Collector
from django.db.models.functions import Now

from django_sitemaps_plus import ViewSource
from django_sitemaps_plus.building import audit
from django_sitemaps_plus.building import build as refreshing
from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.models import Page
from tests.support.shop import ProductSource, limited, make_products
from tests.support.testapp.models import Product

from .rows import page_of, recorded

pytestmark = [pytest.mark.database, pytest.mark.django_db]


def make_older(section, seconds):
    """Let the last comparison of all pages lie further back."""
    section.pages.update(checked_at=F("checked_at") - timedelta(seconds=seconds))


def rendered(**options):
    return build(**options).sections[0].rendered


class Views(ViewSource):
    """Three views."""

    views = ["home", "about", "contact"]


class Listed(Sitemap):
    """A contrib class whose items are a list."""

    def items(self):
        return list(Product.objects.order_by("pk"))


class OwnPages(GenericSitemap):
    """A contrib class that says itself what is on a page."""

    @property
    def paginator(self):
        return Paginator(self.items(), 2)


class OwnItems(GenericSitemap):
    """A contrib class whose queryset is not what it lists."""

    def items(self):
        return list(super().items())


PRODUCTS = {"queryset": Product.objects.order_by("pk")}
FIRST_PRODUCTS = {"queryset": Product.objects.order_by("pk")[:50]}


class TestMaxAge:
    @pytest.mark.parametrize(
        "source",
        [GenericSitemap(FIRST_PRODUCTS), OwnPages(PRODUCTS), OwnItems(PRODUCTS)],
        ids=["sliced", "paginator", "items"],
    )
    def test_saves_build_no_pages_of_positions_before_they_are_old(
        self, publish, source
    ):
        """Nobody can tell which page a row is on, and to build all costs too much."""
        products = make_products(3)
        section = publish(source)
        products[0].slug = "moved"
        products[0].save()
        products[1].delete()
        assert rendered() == 0
        assert recorded() == []
        make_older(section, 3_600)
        assert rendered() == section.pages.planned().count()
        assert page_of(section, 1).entries == 2

    def test_a_slice_keeps_the_fast_delete_of_its_model(self, publish):
        """Nobody would read what deletions record."""
        publish(GenericSitemap(FIRST_PRODUCTS))
        collector = Collector(using="default")
        assert collector.can_fast_delete(Product.objects.all())

    @pytest.mark.parametrize(
        "source", [Views, Listed, GenericSitemap({"queryset": Product.objects.all()})]
    )
    def test_pages_of_which_no_change_is_recorded_are_rendered_once_old(
        self, publish, source
    ):
        """After an hour; one that is the same is not flipped."""
        make_products(2)
        section = publish(source)
        before = page_of(section, 1)
        make_older(section, 3_599 - 60)
        assert rendered() == 0
        make_older(section, 61)
        assert [rendered(), rendered()] == [1, 0]
        after = page_of(section, 1)
        assert after.checked_at >= before.checked_at
        same = (before.object, before.published_at)
        assert (after.object, after.published_at) == same

    def test_what_a_contrib_class_lists_is_found_by_age_alone(self, publish):
        make_products(2)
        section = publish(Listed)
        make_products(1, first=2)
        build()
        assert page_of(section, 1).entries == 2
        make_older(section, 3_600)
        build()
        assert page_of(section, 1).entries == 3

    @pytest.mark.parametrize(
        ("source", "seconds", "count"),
        [
            (type("Quick", (Views,), {"max_age": 60}), 61, 1),
            (type("Never", (Views,), {"max_age": None}), 7_000, 0),
            (ProductSource, 7_000, 0),  # whose changes are noticed otherwise
        ],
    )
    def test_a_source_may_choose_its_age(self, publish, source, seconds, count):
        make_products(2)
        section = publish(source)
        make_older(section, seconds)
        assert rendered() == count


class TestAudit:
    @pytest.fixture
    def section(self, publish):
        make_products(12)
        return publish(limited(3))

    def test_it_finds_what_left_no_other_trace(self, section, client):
        with connection.cursor() as cursor:
            cursor.execute(
                "UPDATE testapp_product SET slug = %s WHERE slug = %s",
                ["by-sql", "product-00004"],
            )
        build()
        assert recorded() == []
        assert b"by-sql" not in client.get("/sitemap-products-2.xml").content
        make_older(section, 90_000)
        report = build().sections[0]
        assert (report.rendered, report.stored) == (4, 1)
        assert b"by-sql" in client.get("/sitemap-products-2.xml").content

    @pytest.mark.parametrize(
        ("name", "value", "count"),
        [
            ("AUDIT_INTERVAL_SECONDS", 86_400, 0),
            ("AUDIT_INTERVAL_SECONDS", 70_000, 4),
            ("AUDIT_BUDGET_SECONDS", 0, 0),
        ],
    )
    def test_the_settings_say_what_it_compares(
        self, section, settings, name, value, count
    ):
        """Pages that are old enough; none without a budget."""
        settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, name: value}
        make_older(section, 80_000 if value else 90_000)
        assert rendered() == count

    def test_it_stays_within_its_budget(self, section, settings, monkeypatch):
        """The pages longest unchecked come first; the rest waits for the next."""
        monkeypatch.setattr(audit, "AUDIT_PAGES", 1)
        make_older(section, 90_000)
        section.pages.filter(number=3).update(checked_at=Now() - timedelta(days=9))
        ticks = iter(range(1_000))
        monkeypatch.setattr(refreshing.time, "monotonic", lambda: next(ticks) * 4.0)
        settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "AUDIT_BUDGET_SECONDS": 10}
        done = build().sections[0].rendered
        assert 1 <= done < 4
        old = Page.objects.filter(checked_at__lt=Now() - timedelta(days=1))
        assert 3 not in old.values_list("number", flat=True)
