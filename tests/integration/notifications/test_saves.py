"""Saves that are told by themselves: they change no byte, or nothing is built."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta

import pytest
from django.db import transaction

from django_sitemaps_plus import notify_changed
from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.models import Change, Page
from django_sitemaps_plus.notifications.dispatch import notify_engines
from django_sitemaps_plus.testing import RecordingEngine
from django_sitemaps_plus.tracking import locating, recording
from tests.integration.tracking.rows import BookSource, make_books
from tests.support.builds import build_and_relay
from tests.support.shop import limited, make_products, product_urls
from tests.support.testapp.models import Author, Book, Product

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]


def told():
    """Tell what there is; return what was told, sorted."""
    RecordingEngine.clear()
    notify_engines()
    return sorted(RecordingEngine.told())


def published(self):
    return Product.objects.filter(published=True)


class TestAnnounceSaves:
    @pytest.fixture(autouse=True)
    def products(self, recording, publish):
        """Publish a section without dates, whose saves are all told."""
        made = make_products(25)
        publish(limited(10, lastmod=None, announce_saves=True, get_queryset=published))
        assert told() == []
        return made

    @pytest.mark.parametrize("fields", [None, ["popularity"]])
    def test_a_save_that_changes_no_byte_is_told(self, products, fields):
        """Its text has changed, say, or a column that no sitemap has."""
        products[3].save(update_fields=fields)
        build_and_relay()
        assert told() == product_urls([3])
        build_and_relay()
        assert told() == []

    def test_one_that_is_rolled_back_is_not_told(self, products):
        with suppress(ValueError), transaction.atomic():
            products[3].save()
            raise ValueError
        build_and_relay()
        assert told() == []

    def test_one_of_a_row_that_is_not_listed_is_not_told(self, products):
        """Nobody is to know its URL."""
        Product.objects.filter(pk=products[3].pk).update(published=False)
        build_and_relay(full=True)
        assert told() == product_urls([3])
        products[3].published = False
        products[3].save()
        build_and_relay()
        assert told() == []

    def test_ranges_are_told_row_by_row(self, products, monkeypatch):
        monkeypatch.setattr(recording, "SINGLE_KEYS", 4)
        notify_changed(Product.objects.filter(pk__lte=products[7].pk))
        build_and_relay()
        assert told() == product_urls(range(8))


class TestRelatedSaves:
    @pytest.fixture(params=["author", "watch"])
    def books(self, request, recording, publish):
        """Publish books, which hear of their author in one of two ways."""
        author = Author.objects.create(name="one")
        books = make_books(author, 7)
        declared = {
            "author": {"lastmod": "author__updated_at"},
            "watch": {"watch": {Author: "book"}},
        }
        announced = {"announce_saves": True, **declared[request.param]}
        publish(type("Announced", (BookSource,), announced))
        assert told() == []
        return books

    def test_rows_of_related_objects_are_told(self, books):
        [other] = Author.objects.bulk_create([Author(name="two")])
        Book.objects.filter(pk__gte=books[5].pk).update(author=other)
        books[0].author.save()
        Book.objects.get(pk=books[6].pk).save()
        build_and_relay()
        expected = [*books[:5], books[6]]
        assert told() == sorted(
            [f"https://example.com/books/{b.slug}/" for b in expected]
        )
        build_and_relay()
        assert told() == []


def test_without_it_such_a_save_is_not_told(recording, publish):
    made = make_products(5)
    publish(limited(10, lastmod=None))
    made[3].save()
    build_and_relay()
    assert told() == []


class TestASiteThatIsNotBuilt:
    @pytest.fixture(autouse=True)
    def products(self, recording, sections):
        """Serve a section from its rows."""
        sections.register("products", limited(10, get_queryset=published))
        return make_products(5)

    def test_saves_are_told(self, products):
        products[3].save()
        products[4].save()
        products[4].save()
        assert told() == product_urls([3, 4])
        assert told() == []

    def test_times_run_from_when_a_save_was_recorded(self, products, tell, clock):
        """Not from when it was found."""
        tell(recording=RecordingEngine, NOTIFY_DELAY_SECONDS=100)
        products[3].save()
        Change.objects.update(at=Change.objects.get().at - timedelta(seconds=60))
        assert told() == []
        clock.forward(seconds=60)
        assert told() == product_urls([3])

    def test_saves_are_not_lost_to_a_first_build_that_began_meanwhile(
        self, products, monkeypatch
    ):
        """Its pages may have been read before them, so the one concerned is dirty."""
        real = locating.locate

        def locate_before_the_build(*args):
            located = real(*args)
            monkeypatch.setattr(locating, "locate", real)
            build(notices=False)
            return located

        monkeypatch.setattr(locating, "locate", locate_before_the_build)
        products[3].save()
        assert told() == product_urls([3])
        assert not Change.objects.exists()
        assert Page.objects.filter(section__name="products").dirty().count() == 1

    def test_nothing_is_recorded_for_engines_that_are_off(self, products, tell):
        tell(recording=RecordingEngine, NOTIFY=False)
        products[3].save()
        assert not Change.objects.exists()
