"""The checks of sources: what cannot work, and what no signal tells."""

from __future__ import annotations

import pytest
from django.core.checks import CheckMessage
from django.db import models
from django.db.models import Case, Count, Exists, OuterRef, Subquery, Value, When

from django_sitemaps_plus import ModelSource, Route, ViewSource
from django_sitemaps_plus.checks import check_sources
from django_sitemaps_plus.testing import temporary_registry
from tests.support.testapp.models import (
    Author,
    Book,
    Cafe,
    Film,
    Opera,
    PlaceProxy,
    Product,
    Show,
    Tag,
    Theatre,
    Venue,
)

from .test_checks import ids


class Nothing(models.Model):
    """A model without rows."""

    class Meta:
        app_label = "testapp"
        abstract = True

    def __str__(self) -> str:
        return ""


class Composite(Nothing):
    """A key of two columns."""

    pk = models.CompositePrimaryKey("one", "two")
    one = models.IntegerField()
    two = models.IntegerField()

    class Meta:
        app_label = "testapp"
        managed = False


def messages_of(model: object = Book, **attributes: object) -> list[CheckMessage]:
    """Return what is said of a source of a model with these attributes."""
    declared = {"model": model, "location": Route("book-detail", slug="pk")}
    source = type("Checked", (ModelSource,), declared | attributes)
    with temporary_registry() as sections:
        sections.register("checked", source)
        return check_sources()


def ids_of(model: object = Book, **attributes: object) -> list[str]:
    """Return the ids of what is said of a source of a model with these attributes."""
    return ids(messages_of(model, **attributes))


def listing(rows: object) -> dict[str, object]:
    """Return the attribute that lists some rows."""
    return {"get_queryset": lambda self: rows}


HIS_AUTHOR = Author.objects.filter(pk=OuterRef("author"), name="x")
TAGGED = Book.objects.filter(pk=OuterRef("pk"), tags__name="x")
HAS_AUTHOR = Case(When(Exists(HIS_AUTHOR), then=Value(1)), default=Value(0))
NAMED = Author.objects.filter(name="x")
BOOKS = Book.objects.all()


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({}, []),
        ({"limit": 50_001}, ["E011"]),
        ({"limit": 0}, ["E011"]),
        ({"on_error": "ignore"}, ["E012"]),
        ({"model": None}, ["E013"]),
        ({"key": "nothing"}, ["E014"]),
        ({"model": Composite, "location": lambda self, row: "/x/"}, ["E015"]),
        ({"key": "name"}, ["E016", "E018"]),
        ({"key": "popularity"}, ["E016", "E017", "E018", "E019"]),
        ({"key": "slug"}, []),
        ({"model": Author, "location": None}, ["E020"]),
        ({"location": Route("nowhere", slug="slug")}, ["E021"]),
        ({"location": Route("no:where", slug="slug")}, ["E021"]),
        ({"location": Route("product-detail", pk="pk")}, ["E021"]),
        ({"lastmod": "changed"}, ["E022"]),
        ({"location": Route("product-detail", slug="label")}, ["E022"]),
        ({"changefreq": "sometimes"}, ["E022"]),
        ({"priority": Value(1) + Value("a")}, ["E023"]),
        ({"lastmod": "created_on"}, ["W003"]),
        ({"lastmod": "updated_at"}, []),
    ],
)
def test_a_source_that_cannot_work_is_named(attributes, expected):
    assert ids_of(**{"model": Product, **attributes}) == expected


def test_a_view_must_have_a_url():
    source = type("Views", (ViewSource,), {"views": ["home", "nowhere"]})
    with temporary_registry() as sections:
        sections.register("views", source)
        assert ids(check_sources()) == ["E021"]


class TestUnwatched:
    """W009: a query reads rows of a model, and no save of that model is watched."""

    @pytest.mark.parametrize(
        ("filters", "attributes", "expected"),
        [
            ({"author__name": "x"}, {}, ["W009"]),
            ({"tags__name": "x"}, {}, ["W009"]),
            ({"tags": 5}, {}, ["W009"]),
            ({"tags": 5}, {"watch": {Tag: "book"}}, []),
            ({"author": 5}, {}, []),
            ({"author__name": "x"}, {"watch": {Author: "book"}}, []),
            ({"author__name": "x"}, {"lastmod": "author__updated_at"}, ["W003"]),
        ],
    )
    def test_a_model_that_a_filter_joins(self, filters, attributes, expected):
        assert ids_of(**listing(BOOKS.filter(**filters)), **attributes) == expected

    @pytest.mark.parametrize(
        ("rows", "model"),
        [
            (BOOKS.filter(~Exists(HIS_AUTHOR)), Author),
            (BOOKS.filter(author__in=Author.objects.all()), Author),
            (BOOKS.alias(x=Subquery(HIS_AUTHOR.values("pk")[:1])).filter(x=1), Author),
            (BOOKS.alias(x=HAS_AUTHOR).filter(x=1), Author),
            (BOOKS.filter(Exists(TAGGED)), Tag),
            (BOOKS.exclude(tags__name="x"), Tag),
            (BOOKS.exclude(tags=5), Tag),
            (BOOKS.filter(pk__in=BOOKS.filter(author__in=NAMED)), Author),
            (BOOKS.filter(author__in=NAMED.union(Author.objects.all())), Author),
        ],
    )
    def test_a_model_that_an_inner_query_reads(self, rows, model):
        (message,) = messages_of(**listing(rows))
        assert message.id == "sitemaps_plus.W009"
        assert f"rows of {model._meta.label}," in message.msg
        assert ids_of(**listing(rows), watch={model: "book"}) == []

    def test_a_model_that_a_declared_query_reads(self):
        assert ids_of(priority=HAS_AUTHOR) == ["W009"]
        assert ids_of(priority=HAS_AUTHOR, watch={Author: "book"}) == []

    def test_a_model_between_is_watched_where_a_declared_path_crosses_it(self):
        rows = listing(Film.objects.filter(cast__name="x"))
        assert ids_of(Film, **rows) == ["W009"]
        assert ids_of(Film, **rows, priority=Count("cast__name") * 0.1) == []

    def test_rows_that_it_lists_are_watched(self):
        """In an inner query, and as the parent of a child whose row they share."""
        inner = Product.objects.filter(pk__in=Product.objects.filter(published=True))
        assert ids_of(Product, **listing(inner)) == []
        inherited = Cafe.objects.filter(slug__startswith="a")
        assert ids_of(Cafe, **listing(inherited)) == []

    def test_who_watches_a_child_watches_its_parent(self):
        """A column that it inherits is in the parent's table."""
        rows = listing(Show.objects.filter(theatre__slug="x"))
        assert ids_of(Show, **rows) == ["W009"]
        assert ids_of(Show, **rows, watch={Theatre: "show"}) == []


class TestWatched:
    """E027: a path of ``watch`` that does not lead to the rows."""

    @pytest.mark.parametrize(
        ("model", "watch"),
        [
            (Book, {Tag: "book"}),
            (Tag, {Author: "book__tags", Book: "tags"}),
            (Theatre, {Show: "theatre"}),
            (Opera, {Show: "theatre"}),
            (Venue, {Show: "theatre__venue", Tag: "venue"}),
            (PlaceProxy, {Cafe: "place_ptr"}),
        ],
    )
    def test_one_that_leads_to_rows_with_their_key_is_right(self, model, watch):
        assert ids_of(model, watch=watch) == []

    @pytest.mark.parametrize(
        ("watch", "said"),
        [
            ({Tag: "pk"}, "'pk'"),
            ({Tag: ""}, "''"),
            ({Tag: "name"}, "testapp.Tag.name is not a relation"),
            ({Tag: "book_set"}, "'book_set'"),
            ({Tag: "book__slug"}, "testapp.Book.slug is not a relation"),
            ({Tag: "book__author"}, "leads to testapp.Author"),
            ({Tag: 5}, "5"),
            ({"testapp.Tag": "book"}, "'testapp.Tag'"),
            ({Nothing: "book"}, "Nothing"),
            ([Tag], "watch is ["),
        ],
    )
    def test_others_are_named_with_what_to_write_instead(self, watch, said):
        (message,) = messages_of(watch=watch)
        assert message.id == "sitemaps_plus.E027"
        assert message.msg.startswith("Section 'checked': ")
        assert said in message.msg
        assert "testapp.Book" in message.hint

    def test_the_relations_to_the_rows_are_proposed(self):
        (message,) = messages_of(watch={Tag: "book_set"})
        assert "'book'" in message.hint

    @pytest.mark.parametrize(
        ("model", "watch"), [(Venue, {Show: "theatre"}), (Theatre, {Tag: "venue"})]
    )
    def test_one_to_rows_with_another_key_is_named(self, model, watch):
        """The pages of other rows would be built for it."""
        assert ids_of(model, watch=watch) == ["E027"]
