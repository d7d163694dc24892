"""Rows that depend on rows of their own model: trees."""

from __future__ import annotations

import pytest
from django.db import connection
from django.db.models.signals import m2m_changed, post_delete, post_save
from django.test.utils import CaptureQueriesContext

from django_sitemaps_plus import ModelSource, notify_changed, under
from django_sitemaps_plus.tracking import collecting
from tests.support.testapp.models import (
    Author,
    Book,
    Cafe,
    Genre,
    Meal,
    Place,
    Product,
    Topic,
)
from tests.support.trees import CallableSource, PathSource

from .rows import BookSource, make_books, make_product, noticed, recorded

pytestmark = pytest.mark.database


class GenreSource(ModelSource):
    model = Genre
    limit = 1
    watch = {Genre: under("tree_id", "lft", "rght")}


TOPICS = ["0001", "00010001", "000100010001", "00010002", "0002", "00020001"]

GENRES = [(1, 1, 8), (1, 2, 5), (1, 3, 4), (1, 6, 7), (2, 1, 4), (2, 2, 3)]


@pytest.fixture
def topics():
    made = [Topic(path=path, slug=f"t{n}") for n, path in enumerate(TOPICS, 1)]
    Topic.objects.bulk_create(made)
    return list(Topic.objects.order_by("pk"))


@pytest.fixture
def genres():
    names = ("tree_id", "lft", "rght")
    made = [
        Genre(slug=f"g{n}", **dict(zip(names, values, strict=True)))
        for n, values in enumerate(GENRES, 1)
    ]
    Genre.objects.bulk_create(made)
    return list(Genre.objects.order_by("pk"))


class TestDescendants:
    @pytest.mark.parametrize("source", [PathSource, CallableSource])
    @pytest.mark.parametrize(
        ("number", "pages"), [(1, [1, 2, 3, 4]), (2, [2, 3]), (6, [6])]
    )
    def test_a_save_marks_the_rows_below_as_well(
        self, publish, topics, source, number, pages
    ):
        section = publish(source)
        topics[number - 1].save()
        assert noticed(section) == pages
        assert recorded() == []

    @pytest.mark.parametrize(
        ("number", "pages"), [(1, [1, 2, 3, 4]), (2, [2, 3]), (6, [6])]
    )
    def test_nested_sets(self, publish, genres, number, pages):
        section = publish(GenreSource)
        genres[number - 1].save()
        assert noticed(section) == pages

    def test_a_declared_path_to_the_row_above_needs_no_watch(self, publish, genres):
        Genre.objects.filter(pk=genres[2].pk).update(parent=genres[1])
        declared = {"watch": {}, "changefreq": "parent__slug"}
        section = publish(type("Linked", (GenreSource,), declared))
        genres[1].save()
        assert noticed(section) == [2, 3]

    def test_a_save_asks_for_no_rows(self, publish, topics):
        """It writes its changes by one statement; the build asks."""
        section = publish(CallableSource)
        topics[0].save()
        noticed(section)
        with CaptureQueriesContext(connection) as queries:
            topics[0].save()
        said = [query["sql"] for query in queries]
        assert [sql for sql in said if "startswith" in sql or "LIKE" in sql] == []
        assert len([sql for sql in said if sql.startswith("INSERT")]) == 1

    @pytest.mark.parametrize(
        ("source", "fixture"), [(PathSource, "topics"), (GenreSource, "genres")]
    )
    def test_many_rows_need_one_query(self, publish, request, source, fixture):
        rows = request.getfixturevalue(fixture)
        section = publish(source)
        asked = []
        for changed in (rows[1:2], rows[1:]):
            for row in changed:
                row.save()
            with CaptureQueriesContext(connection) as queries:
                found = noticed(section)
            table = source.model._meta.db_table
            reads = [q["sql"] for q in queries if q["sql"].startswith("SELECT")]
            asked.append(len([sql for sql in reads if f"FROM {quoted(table)}" in sql]))
        assert asked[0] == asked[1]
        assert found == [2, 3, 4, 5, 6]

    @pytest.mark.parametrize("source", [PathSource, CallableSource])
    def test_too_many_rows_mark_the_section(self, publish, topics, monkeypatch, source):
        monkeypatch.setattr(collecting, "MAX_RELATED", 2)
        section = publish(source)
        topics[0].save()
        assert noticed(section) == [1, 2, 3, 4, 5, 6]

    def test_a_row_that_was_moved_marks_what_it_took_along(self, publish, topics):
        """The same rows, at their new place; what is below the old one is others'."""
        section = publish(PathSource)
        topics[1].move("00020002")
        topics[1].save()
        assert noticed(section) == [2, 3]

    def test_a_move_without_a_signal_is_passed_by_hand(self, publish, topics):
        section = publish(PathSource)
        topics[1].move("00020002")
        assert noticed(section) == []
        notify_changed(Topic.objects.filter(path__startswith=topics[1].path))
        assert noticed(section) == [2, 3]

    def test_a_row_that_has_gone_meanwhile_marks_nothing(self, publish, topics):
        section = publish(PathSource)
        topics[5].save()
        Topic.objects.filter(pk=topics[5].pk)._raw_delete("default")
        assert noticed(section) == [6]


class TestDeletions:
    """The rows below are deleted as well, each with a change of its own."""

    def test_under_a_row_all_is_deleted_with_it(self, publish, topics):
        section = publish(PathSource)
        Topic.objects.filter(path__startswith=topics[1].path).delete()
        assert noticed(section) == [2, 3]

    def test_a_callable_cannot_be_called_so_the_section_is_marked(
        self, publish, topics
    ):
        section = publish(CallableSource)
        topics[5].delete()
        assert noticed(section) == [1, 2, 3, 4, 5, 6]


class TestOtherModels:
    def test_a_callable_is_given_the_saved_object(self, publish):
        """It may be of any model, and returns rows of the section."""
        one, two = [Author.objects.create(name=name) for name in ("one", "two")]
        make_books(one, 2, "a")
        make_books(two, 2, "b")
        rows = {Author: lambda author: Book.objects.filter(author=author)}
        section = publish(type("Books", (BookSource,), {"limit": 2, "watch": rows}))
        two.save()
        assert noticed(section) == [2]

    def test_rows_of_a_parent_are_those_of_the_child(self, publish):
        """They share a row, and have the key of each other."""
        Place.objects.create(slug="no-cafe")
        cafes = [Cafe.objects.create(slug=f"c{n}") for n in range(2)]
        meal = Meal.objects.create(place_id=cafes[1].pk)
        watch = {Meal: lambda meal: Place.objects.filter(meal=meal)}
        declared = {"model": Cafe, "limit": 1, "watch": watch}
        section = publish(type("CafeSource", (BookSource,), declared))
        meal.save()
        assert noticed(section) == [2]

    @pytest.mark.parametrize(
        "rows",
        [
            lambda topic: 1 / 0,
            lambda topic: None,
            lambda topic: [topic],
            lambda topic: Author.objects.all(),
            lambda topic: Topic.objects.all()[:1],
            lambda topic: Topic.objects.extra(where=["nowhere = 1"]),
            lambda: None,
        ],
        ids=["raises", "none", "list", "others", "slice", "query", "arguments"],
    )
    def test_one_that_fails_marks_the_section(self, publish, topics, messages, rows):
        """And the log names it; neither the save nor the build fails."""
        section = publish(type("Failing", (PathSource,), {"watch": {Topic: rows}}))
        topics[0].save()
        assert noticed(section) == [1, 2, 3, 4, 5, 6]
        assert recorded() == []
        (message,) = messages("watch_failed")
        assert "testapp.Topic" in message


class TestSignalsByHand:
    """Code that copies what save() does, but leaves out the database."""

    @pytest.mark.parametrize("signal", [post_save, post_delete])
    def test_the_database_is_that_of_the_object(self, publish, signal):
        product = make_product("one")
        section = publish(type("Source", (BookSource,), {"model": Product}))
        signal.send(Product, instance=product)
        assert noticed(section) == [1]

    def test_of_an_object_that_has_none_the_router_is_asked(self, publish):
        product = make_product("one")
        section = publish(type("Source", (BookSource,), {"model": Product}))
        post_save.send(Product, instance=Product(pk=product.pk))
        assert noticed(section) == [1]

    def test_a_relation(self, publish):
        book = make_books(Author.objects.create(name="one"), 1)[0]
        section = publish(type("Source", (BookSource,), {"images": "tags__name"}))
        signal = {"instance": book, "action": "post_clear", "model": Book}
        m2m_changed.send(Book.tags.through, **signal)
        assert noticed(section) == [1]


def quoted(name: str) -> str:
    return connection.ops.quote_name(name)
