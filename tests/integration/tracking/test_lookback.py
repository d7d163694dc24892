"""A build looks back at rows whose lastmod is new, where an index helps to."""

from __future__ import annotations

from datetime import date, timedelta
from itertools import chain

import pytest
from django.db import models
from django.utils import timezone

from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.models import Section
from django_sitemaps_plus.models.clock import Now
from django_sitemaps_plus.section import open_section
from django_sitemaps_plus.tracking import schedule
from django_sitemaps_plus.tracking.schedule import notice
from tests.support.shop import START, limited, make_products
from tests.support.testapp.models import Place, Product

from .rows import MINUTE, NOW, PlaceSource, dirty, recorded

pytestmark = pytest.mark.database


def look(section):
    """Look back once; return the pages that are dirty then, and build them."""
    section = Section.objects.get(pk=section.pk)
    schedule.look_back(open_section(section))
    found = dirty(section)
    section.pages.update(built=100, wanted=100)
    return found


@pytest.fixture
def section(clock, publish):
    """Twelve products, three a page, the last lastmod at START + 11 minutes."""
    make_products(12)
    return publish(limited(3))


def update(number, moment, **fields):
    pk = Product.objects.order_by("pk")[number].pk
    Product.objects.filter(pk=pk).update(updated_at=moment, **fields)


def save(number, moment):
    product = Product.objects.order_by("pk")[number]
    product.updated_at = moment
    product.save()


def noticed(section):
    notice(open_section(Section.objects.annotate(now=Now()).get(pk=section.pk)))
    return dirty(section)


def published(self):
    return Product.objects.filter(published=True)


class TestFinding:
    def test_a_new_lastmod_is_found_once_and_no_other(self, section):
        """Nor is the row that loses its own."""
        for moment in (START - timedelta(days=1), None):
            update(4, moment)
            assert look(section) == []
        update(4, NOW - MINUTE)
        assert recorded() == []
        assert [look(section), look(section)] == [[2], []]

    def test_an_edit_that_was_recorded_marks_its_page_once(self, section):
        """By the signal, and not by its lastmod as well."""
        save(4, NOW - MINUTE)
        before = section.pages.get(number=2).wanted
        assert noticed(section) == [2]
        assert section.pages.get(number=2).wanted == before + 1
        assert recorded() == []

    def test_an_update_right_after_a_change_was_taken_is_found(self, section):
        """The page was built in between, so the row that changed must count again."""
        pk = Product.objects.order_by("pk")[4].pk
        update(4, NOW - 3 * MINUTE)

        def take_others():
            update(4, NOW - 2 * MINUTE)
            return [pk]

        row = Section.objects.get(pk=section.pk)
        schedule.look_back(open_section(row), take_others)
        assert dirty(section) == []
        assert look(section) == [2]

    def test_an_empty_table_is_no_obstacle(self, clock, publish):
        section = publish(limited(3))
        look(section)
        make_products(1)
        assert look(section) == [1]
        update(0, NOW - MINUTE)
        assert look(section) == [1]
        Product.objects.all().delete()
        look(section)
        make_products(1, updated_at=NOW - 2 * MINUTE)
        assert look(section) == [1]

    def test_a_date_of_the_future_is_found_once_it_has_come(self, section, clock):
        update(4, NOW + timedelta(hours=1))
        assert look(section) == []
        update(7, NOW - MINUTE)
        assert look(section) == [3]
        clock.time += timedelta(hours=2)
        assert look(section) == [2]

    @pytest.mark.parametrize(
        "lastmod", [None, NOW, "created_on", lambda self, obj: obj.updated_at]
    )
    def test_it_looks_at_columns_with_an_index_alone(self, clock, publish, lastmod):
        """A scan of the table each time would cost too much; a check says so."""
        make_products(3, created_on=START)
        section = publish(limited(3, lastmod=lastmod))
        update(1, NOW - MINUTE, created_on=NOW)
        assert look(section) == []


class TestRowsThatLeave:
    """They are on a page, and in the queryset no longer."""

    def test_rows_updated_out_of_the_filter_are_gone(self, clock, publish, crawl):
        make_products(12)
        publish(limited(3, get_queryset=published))
        assert len(list(chain.from_iterable(crawl().values()))) == 12
        rows = Product.objects.filter(slug__in=["product-00004", "product-00009"])
        rows.update(published=False, updated_at=NOW - MINUTE)
        build()
        listed = list(chain.from_iterable(crawl().values()))
        assert len(listed) == 10
        assert not {url for url in listed if "00004" in url or "00009" in url}

    def test_a_manager_that_filters_hides_nothing(self, clock, publish, monkeypatch):
        """The look-back reads by the base manager of the model."""

        class Published(models.Manager):
            def get_queryset(self):
                return super().get_queryset().filter(published=True)

        manager = Published()
        manager.contribute_to_class(Product, "listed")
        monkeypatch.setattr(Product._meta, "local_managers", [manager])
        Product._meta._expire_cache()
        try:
            assert isinstance(Product._default_manager, Published)
            Product._base_manager.bulk_create(
                [Product(slug=f"p-{n}", updated_at=START) for n in range(6)]
            )
            section = publish(limited(3))
            rows = Product._base_manager.filter(slug="p-4")
            rows.update(published=False, updated_at=NOW - MINUTE)
            assert look(section) == [2]
        finally:
            monkeypatch.undo()
            Product._meta._expire_cache()
            del Product.listed


class TestTheWindow:
    def test_a_row_that_was_committed_late_is_found(self, section):
        """Up to ten minutes before the newest; which row it is nobody knows."""
        update(4, NOW)
        look(section)
        update(7, NOW - 11 * MINUTE)
        assert look(section) == []
        update(7, NOW - 9 * MINUTE)
        assert [look(section), look(section)] == [[2, 3], []]

    @pytest.mark.parametrize("asked", ["newest", "count", "after"])
    def test_a_row_that_commits_while_it_looks_is_found(
        self, section, monkeypatch, asked
    ):
        """By this look or the next, whatever has been read by then."""
        update(4, NOW - 5 * MINUTE)
        look(section)
        real = getattr(schedule._RowsByLastmod, asked)

        def ask(rows, *moment):
            found = real(rows, *moment)
            monkeypatch.setattr(schedule._RowsByLastmod, asked, real)
            update(7, NOW - MINUTE)
            return found

        monkeypatch.setattr(schedule._RowsByLastmod, asked, ask)
        update(4, NOW)
        assert 3 in {*look(section), *look(section)}

    def test_a_late_row_whose_change_was_recorded_marks_its_page_alone(self, section):
        """It is one more in the window, and is known already."""
        update(4, NOW)
        look(section)
        save(7, NOW - 9 * MINUTE)
        assert noticed(section) == [3]
        assert look(section) == [3]

    @pytest.mark.parametrize(("newest", "saved"), [(0, 9), (5, 1)])
    def test_a_late_row_beside_a_recorded_change_is_found(self, section, newest, saved):
        """A change explains one row in the window, or none if its date is new."""
        update(4, NOW - newest * MINUTE)
        look(section)
        save(7, NOW - saved * MINUTE)
        update(10, NOW - 9 * MINUTE)
        assert noticed(section) == [2, 3, 4]


class TestManyRows:
    @pytest.fixture(autouse=True)
    def few(self, monkeypatch):
        monkeypatch.setattr(schedule, "MAX_KEYS", 5)

    @pytest.mark.parametrize("spread", [0, 1])
    def test_more_rows_than_it_takes_mark_the_section_once(self, section, spread):
        """What comes after them is found by itself."""
        for number in range(12):
            update(number, NOW - MINUTE - number * spread * timedelta(seconds=1))
        assert look(section) == [1, 2, 3, 4]
        assert [look(section), look(section)] == [[], []]
        update(7, NOW - timedelta(seconds=30))
        assert [look(section), look(section)] == [[3], []]

    def test_many_rows_before_the_first_build_mark_nothing(self, clock, publish):
        """An import of a moment ago is on the pages already."""
        make_products(12, updated_at=NOW - MINUTE)
        section = publish(limited(3))
        assert [look(section), look(section)] == [[], []]


class TestOtherDates:
    def test_a_column_of_days(self, clock, publish):
        """A day is looked at as a whole, and again until the next."""
        days = [Place(slug=f"p-{n}", seen_on=date(2026, 2, 1)) for n in range(6)]
        Place.objects.bulk_create(days)
        attributes = {"lastmod": "seen_on", "limit": 3}
        section = publish(type("P", (PlaceSource,), attributes))
        assert look(section) == []
        rows = Place.objects.filter(slug="p-4")
        rows.update(seen_on=date(2026, 3, 1))
        assert [look(section), look(section)] == [[2], []]
        rows.update(seen_on=date(2026, 3, 2))  # tomorrow
        assert look(section) == []
        clock.time += timedelta(days=1)
        assert look(section) == [2]

    def test_without_time_zones(self, clock, publish, settings):
        settings.USE_TZ = False
        naive = timezone.make_naive(NOW)
        make_products(6, updated_at=naive - timedelta(hours=1))
        section = publish(limited(3))
        update(4, naive - MINUTE)
        assert [look(section), look(section)] == [[2], []]
