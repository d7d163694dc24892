"""A refresh looks back at rows whose lastmod is new, where an index helps to."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from itertools import chain

import pytest
from django.db import models
from django.utils import timezone

from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.conf import get_site
from django_sitemaps_plus.models import Section
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.tracking import lookback
from django_sitemaps_plus.tracking.detect import notice
from tests.support.shop import START, limited, make_products
from tests.support.testapp.models import Place, Product

from .rows import PlaceSource, dirty, recorded

pytestmark = [pytest.mark.database, pytest.mark.django_db]

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


class Clock:
    """The time that the app sees."""

    def __init__(self, now):
        self.time = now

    def __call__(self):
        from django.conf import settings

        if settings.USE_TZ:
            return self.time
        return timezone.make_naive(self.time)


@pytest.fixture
def clock(monkeypatch):
    clock = Clock(NOW)
    monkeypatch.setattr("django.utils.timezone.now", clock)
    return clock


def look(section):
    """Look back once; return the pages that are dirty then, and build them."""
    section = Section.objects.get(pk=section.pk)
    lookback.look_back(section, registry.get(section.name))
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


class TestOtherNews:
    def test_an_edit_that_was_told_marks_its_page_once(self, section):
        """By the signal, and not by its lastmod as well."""
        product = Product.objects.order_by("pk")[4]
        product.updated_at = NOW - MINUTE
        product.save()
        before = section.pages.get(number=2).wanted
        notice(Section.objects.get(pk=section.pk), get_site())
        assert section.pages.get(number=2).wanted == before + 1
        assert recorded() == []

    def test_an_update_right_after_the_news_is_found(self, section):
        """The page was built in between, so the row that changed must count again."""
        pk = Product.objects.order_by("pk")[4].pk
        update(4, NOW - 3 * MINUTE)

        def take_others():
            update(4, NOW - 2 * MINUTE)
            return [pk]

        source = registry.get("products")
        lookback.look_back(Section.objects.get(pk=section.pk), source, take_others)
        assert dirty(section) == []
        assert look(section) == [2]


class TestFinding:
    def test_an_update_of_lastmod_is_found(self, section):
        """No signal and no word told of it."""
        update(4, NOW - MINUTE)
        assert recorded() == []
        assert look(section) == [2]

    def test_an_old_lastmod_is_not_found(self, section):
        """Only what is new is looked at."""
        update(4, START - timedelta(days=1))
        assert look(section) == []

    def test_a_second_look_marks_nothing(self, section):
        """The rows at its edge are known by then."""
        update(4, NOW - MINUTE)
        look(section)
        assert look(section) == []

    def test_a_row_without_a_lastmod_is_no_obstacle(self, section):
        """Nor is one that loses it found."""
        update(4, None)
        assert look(section) == []

    def test_an_empty_table_is_no_obstacle(self, clock, publish):
        """Its first row is found."""
        section = publish(limited(3))
        look(section)
        make_products(1)
        assert look(section) == [1]
        update(0, NOW - MINUTE)
        assert look(section) == [1]


def published(self):
    return Product.objects.filter(published=True)


class TestRowsThatLeave:
    """They are on a page, and in the queryset no longer."""

    def test_rows_updated_out_of_the_filter_are_gone(self, clock, publish, crawl):
        """A refresh is enough; nothing was told, and nothing audited."""
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

    @pytest.mark.django_db(transaction=True)
    def test_a_refresh_without_changes_takes_at_most_ten_queries(
        self, clock, publish, django_assert_max_num_queries
    ):
        """Looking at every row by its date costs no more of them."""
        make_products(12)
        publish(limited(3, get_queryset=published))
        build()
        with django_assert_max_num_queries(10):
            build()


class TestWhereItDoesNotLook:
    def test_a_lastmod_without_an_index(self, clock, publish):
        """A scan of the table each time would cost too much; a check says so."""
        place = Place.objects.create(slug="one", updated_at=START)
        section = publish(type("P", (PlaceSource,), {"lastmod": "updated_at"}))
        Place.objects.filter(pk=place.pk).update(updated_at=NOW - MINUTE)
        assert look(section) == []

    @pytest.mark.parametrize("lastmod", [None, NOW, "created_on"])
    def test_a_lastmod_that_is_no_indexed_column(self, clock, publish, lastmod):
        """Nothing can be asked of it."""
        make_products(3)
        section = publish(limited(3, lastmod=lastmod))
        update(1, NOW - MINUTE)
        assert look(section) == []

    def test_a_method(self, clock, publish):
        """Its value is in no column."""
        make_products(3)
        section = publish(limited(3, lastmod=lambda self, obj: obj.updated_at))
        update(1, NOW - MINUTE)
        assert look(section) == []


class TestTheFuture:
    def test_a_date_in_the_future_is_ignored(self, section):
        """Else nothing before it would be found any more."""
        update(4, NOW + timedelta(days=400))
        assert look(section) == []
        update(7, NOW - MINUTE)
        assert look(section) == [3]

    def test_a_date_of_the_future_is_found_once_it_has_come(self, section, clock):
        """By then it is no longer in the future."""
        update(4, NOW + timedelta(hours=1))
        look(section)
        clock.time += timedelta(hours=2)
        assert look(section) == [2]


class TestTheWindow:
    def test_a_row_that_was_committed_late_is_found(self, section):
        """It was stamped up to ten minutes before the newest; which one is unknown."""
        update(4, NOW)
        look(section)
        update(7, NOW - 9 * MINUTE)
        assert look(section) == [2, 3]
        assert look(section) == []

    def test_a_row_that_commits_while_it_looks_is_found(self, section, monkeypatch):
        """By this look or the next, though it comes between a read and a count."""
        update(4, NOW - 5 * MINUTE)
        look(section)
        real = lookback._Rows.after

        def after(rows, moment):
            found = real(rows, moment)
            monkeypatch.setattr(lookback._Rows, "after", real)
            update(7, NOW - MINUTE)
            return found

        monkeypatch.setattr(lookback._Rows, "after", after)
        update(4, NOW)
        assert 3 in {*look(section), *look(section)}

    def test_a_late_row_whose_change_was_recorded_marks_its_page_alone(self, section):
        """It is one more in the window, and is known already."""
        update(4, NOW)
        look(section)
        product = Product.objects.order_by("pk")[7]
        product.updated_at = NOW - 9 * MINUTE
        product.save()
        notice(Section.objects.get(pk=section.pk), get_site())
        assert dirty(section) == [3]
        assert look(section) == [3]

    def test_a_late_row_beside_a_recorded_change_is_found(self, section):
        """A change explains one row in the window, not two."""
        update(4, NOW)
        look(section)
        product = Product.objects.order_by("pk")[7]
        product.updated_at = NOW - 9 * MINUTE
        product.save()
        update(10, NOW - 9 * MINUTE)
        notice(Section.objects.get(pk=section.pk), get_site())
        assert dirty(section) == [2, 3, 4]

    def test_a_late_row_beside_a_recorded_change_of_a_new_date_is_found(self, section):
        """That one is behind the window, and explains no row in it."""
        update(4, NOW - 5 * MINUTE)
        look(section)
        product = Product.objects.order_by("pk")[7]
        product.updated_at = NOW - MINUTE
        product.save()
        update(10, NOW - 9 * MINUTE)
        notice(Section.objects.get(pk=section.pk), get_site())
        assert dirty(section) == [2, 3, 4]

    def test_a_row_from_before_the_window_is_not_found(self, section):
        """The audit is for that."""
        update(4, NOW)
        look(section)
        update(7, NOW - 11 * MINUTE)
        assert look(section) == []


class TestManyRows:
    @pytest.fixture(autouse=True)
    def few(self, monkeypatch):
        monkeypatch.setattr(lookback, "MAX_ROWS", 5)

    def test_more_rows_than_it_takes_mark_the_section(self, section):
        """To locate them all would cost more than to render."""
        Product.objects.update(updated_at=NOW - MINUTE)
        assert look(section) == [1, 2, 3, 4]

    @pytest.mark.parametrize("spread", [0, 1])
    def test_a_second_look_at_many_rows_marks_nothing(self, section, spread):
        """Else each refresh would render all, until something newer came."""
        for number in range(12):
            update(number, NOW - MINUTE - number * spread * timedelta(seconds=1))
        look(section)
        assert [look(section), look(section)] == [[], []]

    def test_what_comes_after_many_rows_is_found(self, section):
        """By itself, not with all of them again."""
        Product.objects.update(updated_at=NOW - MINUTE)
        look(section)
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
        places = [
            Place.objects.create(slug=f"place-{n}", seen_on=date(2026, 2, 1))
            for n in range(6)
        ]
        attributes = {"lastmod": "seen_on", "limit": 3}
        section = publish(type("P", (PlaceSource,), attributes))
        assert look(section) == []
        rows = Place.objects.filter(pk=places[4].pk)
        rows.update(seen_on=date(2026, 3, 1))
        assert [look(section), look(section)] == [[2], []]
        rows.update(seen_on=date(2026, 3, 2))  # tomorrow
        assert look(section) == []
        clock.time += timedelta(days=1)
        assert look(section) == [2]

    def test_without_time_zones(self, clock, publish, settings):
        """USE_TZ = False stores naive times, ours included."""
        settings.USE_TZ = False
        naive = timezone.make_naive(NOW)
        make_products(6, updated_at=naive - timedelta(hours=1))
        section = publish(limited(3))
        update(4, naive - MINUTE)
        assert [look(section), look(section)] == [[2], []]
