"""Pages that nobody tells of grow old, and the audit compares the rest in turn."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.sitemaps import Sitemap
from django.db import connection
from django.db.models.functions import Now
from django.utils import timezone

from django_sitemaps_plus import News, ViewSource
from django_sitemaps_plus.building import build as refreshing
from django_sitemaps_plus.building import settle
from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.models import Page, Publication, Section
from django_sitemaps_plus.signals import urls_changed
from tests.support.builds import pass_grace
from tests.support.documents import locs
from tests.support.shop import ProductSource, limited, make_products
from tests.support.testapp.models import Product

from .rows import make_older, page_of, recorded

pytestmark = pytest.mark.database


def rendered(**options):
    return build(**options).sections[0].rendered


class Views(ViewSource):
    """Three views."""

    views = ["home", "about", "contact"]


class Names(Sitemap):
    """A contrib class that lists no rows."""

    def items(self):
        return ["a", "b"]

    def location(self, item):
        return f"/{item}/"


class Articles(ProductSource):
    """What was published in the last two days, as the guide has it."""

    max_age = 600

    def get_queryset(self):
        oldest = timezone.now() - timedelta(days=2)
        return super().get_queryset().filter(updated_at__gte=oldest)

    def news(self, product):
        return News(
            name="The Paper",
            language="en",
            publication_date=product.updated_at,
            title=product.name,
        )


class TestMaxAge:
    def test_an_article_leaves_the_news_by_itself(self, clock, publish, client):
        """Nobody saves it, and the page is published without it."""
        old, new = make_products(2)
        for product, hours in ((old, 47), (new, 1)):
            moment = clock.time - timedelta(hours=hours)
            Product.objects.filter(pk=product.pk).update(updated_at=moment)
        section = publish(Articles)
        path = f"/sitemap-{section.name}-1.xml"
        assert len(locs(client.get(path).content)) == 2
        clock.time += timedelta(hours=2)
        make_older(section, 601)
        assert rendered() == 1
        [loc] = locs(client.get(path).content)
        assert new.slug in loc

    def test_a_page_of_news_has_a_thousand_articles_at_most(self, publish):
        """Other pages may grow by a tenth."""
        make_products(1_000)
        every = {"get_queryset": ProductSource.get_queryset}
        section = publish(type("Every", (Articles,), every))
        make_products(1, first=1_000)
        rendered(full=True)
        assert sorted(section.pages.active().values_list("entries", flat=True)) == [
            1,
            1_000,
        ]

    @pytest.mark.parametrize("source", [Views, Names])
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


class TestFirstGrace:
    """Processes without the plan, and open transactions, record nothing at first."""

    @pytest.fixture
    def section(self, publish):
        make_products(12)
        return publish(limited(3))

    def test_pages_are_rendered_once_more_after_it(self, section, client):
        Product.objects.filter(slug="product-00004").update(slug="unrecorded")
        assert [rendered(), rendered()] == [0, 0]
        pass_grace()
        report = build().sections[0]
        assert (report.rendered, report.stored) == (4, 1)
        assert b"unrecorded" in client.get("/sitemap-products-2.xml").content
        pass_grace()
        assert rendered() == 0

    def test_pages_that_were_built_after_it_are_left_alone(self, section):
        """A first build of hours is not done twice."""
        pass_grace()
        section.pages.filter(number__gt=1).update(checked_at=Now())
        assert rendered() == 1

    def test_pages_that_are_the_same_are_not_announced(self, section):
        """They keep their objects, and nothing is published."""
        pages = section.pages.order_by("number").values_list("object", "published_at")
        before = list(pages)
        urls_changed.connect(ignore)
        pass_grace()
        try:
            assert rendered() == 4
        finally:
            urls_changed.disconnect(ignore)
        assert list(pages.all()) == before
        assert not Publication.objects.exists()

    def test_a_section_that_was_pruned_has_one_too(self, section):
        """While it was, no change of it was recorded either."""
        pass_grace()
        build()
        section.pages.all().delete()
        Section.objects.filter(pk=section.pk).update(missing_since=Now())
        build()
        pass_grace()
        assert [rendered(), rendered()] == [4, 0]

    def test_a_section_that_comes_back_has_one_too(self, section, sections, client):
        """A release without it was in force for an hour."""
        pass_grace()
        build()
        source = sections.get("products")
        sections.unregister("products")
        build()
        product = Product.objects.get(slug="product-00004")
        product.slug = "unrecorded"
        product.save()
        sections.register("products", source)
        build()
        pass_grace()
        build()
        assert b"unrecorded" in client.get("/sitemap-products-2.xml").content


def ignore(**kwargs):
    """Make flips leave publications."""


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

    def test_it_stays_within_its_budget(self, section, configure, monkeypatch):
        """The pages longest unchecked come first; the rest waits for the next."""
        monkeypatch.setattr(settle, "AUDIT_PAGES", 1)
        make_older(section, 90_000)
        section.pages.filter(number=3).update(checked_at=Now() - timedelta(days=9))
        ticks = iter(range(1_000))
        monkeypatch.setattr(refreshing.time, "monotonic", lambda: next(ticks) * 4.0)
        configure(AUDIT_BUDGET_SECONDS=10)
        done = build().sections[0].rendered
        assert 1 <= done < 4
        old = Page.objects.filter(checked_at__lt=Now() - timedelta(days=1))
        assert 3 not in old.values_list("number", flat=True)
