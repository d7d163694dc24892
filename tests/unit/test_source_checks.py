"""The checks of sources: what cannot work, and what no signal tells."""

from __future__ import annotations

import pytest
from django.apps import apps
from django.contrib.contenttypes.models import ContentType
from django.contrib.sitemaps import Sitemap
from django.core.checks import CheckMessage
from django.core.exceptions import FieldDoesNotExist, FieldError
from django.db import OperationalError, ProgrammingError, models
from django.db.models import (
    Case,
    Count,
    Exists,
    FilteredRelation,
    OuterRef,
    Q,
    Subquery,
    Value,
    When,
    Window,
)
from django.db.models.expressions import RawSQL
from django.db.models.functions import Length, RowNumber
from django.db.models.sql import Query
from django.urls import reverse

from django_sitemaps_plus import ModelSource, Route, ViewSource, under
from django_sitemaps_plus.checks import check_sources
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.testing import temporary_registry
from tests.support.joins import joined
from tests.support.testapp.models import (
    Author,
    Book,
    Cafe,
    Film,
    Gallery,
    Genre,
    Opera,
    Painting,
    PathNode,
    PlaceProxy,
    Product,
    Reprint,
    Show,
    Tag,
    Theatre,
    Topic,
    Venue,
)

from .test_checks import ids


class Nothing(models.Model):
    class Meta:
        app_label = "testapp"
        abstract = True

    def __str__(self) -> str:
        return ""


class Composite(Nothing):
    pk = models.CompositePrimaryKey("one", "two")
    one = models.IntegerField()
    two = models.IntegerField()

    class Meta:
        app_label = "testapp"
        managed = False


def messages_of(model: object = Book, **attributes: object) -> list[CheckMessage]:
    declared = {"model": model, "location": Route("book-detail", slug="pk")}
    return said_of(type("Checked", (ModelSource,), declared | attributes))


def said_of(source: object) -> list[CheckMessage]:
    with temporary_registry() as sections:
        sections.register("checked", source)
        return check_sources()


def ids_of(model: object = Book, **attributes: object) -> list[str]:
    return ids(messages_of(model, **attributes))


def listing(rows: object) -> dict[str, object]:
    return {"get_queryset": lambda self: rows}


HIS_AUTHOR = Author.objects.filter(pk=OuterRef("author"), name="x")
TAGGED = Book.objects.filter(pk=OuterRef("pk"), tags__name="x")
HAS_AUTHOR = Case(When(Exists(HIS_AUTHOR), then=Value(1)), default=Value(0))
NAMED = Author.objects.filter(name="x")
BOOKS = Book.objects.all()
NAMED_GENRES = Genre.objects.filter(slug="x")
SAME_GENRE = NAMED_GENRES.filter(pk=OuterRef("pk"))
BELOW = Genre.objects.filter(parent=OuterRef("pk"))


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({}, []),
        ({"limit": 50_001}, ["E011"]),
        ({"limit": 0}, ["E011"]),
        ({"limit": "5", "max_age": "5"}, ["E011", "E011"]),
        ({"on_error": "ignore"}, ["E012"]),
        ({"model": None}, ["E013"]),
        ({"model": Composite, "location": lambda self, row: "/x/"}, ["E015"]),
        ({"key": "name"}, ["E016", "E018"]),
        ({"key": "popularity"}, ["E016", "E017", "E018", "E019"]),
        ({"key": "slug"}, []),
        ({"model": Author, "location": None}, ["E020"]),
        ({"location": Route("nowhere", slug="slug")}, ["E021"]),
        ({"location": Route("no:where", slug="slug")}, ["E021"]),
        ({"location": Route("product-detail", slug="label")}, ["E022"]),
        ({"priority": Value(1) + Value("a")}, ["E023"]),
        ({"starts": 5}, ["E023"]),
        ({"using": "nowhere"}, ["E023"]),
        ({"get_queryset": lambda self: [1]}, ["E023"]),
        ({"get_queryset": lambda self: Product.objects.all()[:5]}, ["E023"]),
        ({"get_queryset": lambda self: Product.objects.filter(publishd=1)}, ["E023"]),
        ({"lastmod": "created_on"}, ["W003"]),
        ({"lastmod": "updated_at"}, []),
    ],
)
def test_a_source_that_cannot_work_is_named(attributes, expected):
    assert ids_of(**{"model": Product, **attributes}) == expected


@pytest.mark.parametrize(
    ("path", "remedy"),
    [("scan", "a method"), ("painting", "'painting__photo'"), ("picture", "")],
)
def test_what_holds_no_images_is_named(path, remedy):
    """Paths on the disk, and objects without a URL; one that has a URL is an image."""
    found = messages_of(model=Reprint, images=path)
    assert ids(found) == ["W044"] * bool(remedy)
    assert all(remedy in it.hint for it in found)


class Custom(Query):
    """Knows more fields than Django does, unless it says otherwise."""


def custom(rows: models.QuerySet) -> models.QuerySet:
    rows = rows.all()
    rows.query = rows.query.chain(Custom)
    return rows


def raising(fault: Exception) -> dict[str, object]:
    """Return the attribute that lists nothing, since it needs what is not there."""

    def get_queryset(self):
        raise fault

    return {"get_queryset": get_queryset}


LACKING = property(lambda self: {}["tenant"])


@pytest.mark.parametrize(
    "attributes",
    [
        raising(Product.DoesNotExist("Product matching query does not exist.")),
        raising(ConnectionError("Redis")),
        raising(LookupError("tenant")),
        raising(ConfigurationError("no current site")),
        raising(FieldError("no tenant")),
        raising(FieldDoesNotExist("no tenant")),
        {"get_queryset": lambda self: custom(Product.objects.all()).filter(x=1)},
        {"lastmod": "x", "get_queryset": lambda self: custom(Product.objects.all())},
        *[{it: LACKING} for it in ("priority", "limit", "watch", "key", "languages")],
        {"get_queryset": lambda self: joined(Product.objects.all())},
    ],
)
def test_what_may_work_elsewhere_is_a_warning(attributes):
    (message,) = messages_of(Product, **attributes)
    assert ids([message]) == ["W037"]
    assert "it could not be examined: " in message.msg


@pytest.mark.parametrize(
    "rows",
    [
        lambda: Product.objects.none(),
        lambda: Product.objects.filter(pk__in=[]),
        lambda: Product.objects.filter(Q(pk__in=[]) & Q(published=True)),
        lambda: Product.objects.exclude(~Q(pk__in=[])),
        lambda: Product.objects.filter(pk__in=Product.objects.none()),
    ],
)
def test_a_query_that_is_empty_by_construction_is_no_fault(rows):
    assert ids_of(Product, get_queryset=lambda self: rows()) == []


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({"lastmod": "updatd"}, ["E022"]),
        ({"lastmod": "writer__updatd"}, ["E022"]),
        ({"lastmod": "length__nothing"}, ["E022"]),
        ({"lastmod": "author__updatd"}, ["E022"]),
        ({"lastmod": "writer__updated_at"}, ["W009"]),
        ({"lastmod": "writer__updated_at", "watch": {Author: "book"}}, []),
        ({"location": Route("book-detail", slug="length")}, []),
        ({"priority": "length__exact"}, ["E022"]),
        ({"starts": "length"}, []),
    ],
)
def test_paths_of_the_queryset_itself(attributes, expected):
    """Annotations and aliases of filtered relations, as Django resolves them."""
    writer = FilteredRelation("author", condition=Q(author__name="x"))
    rows = Book.objects.alias(writer=writer).annotate(length=Length("slug"))
    assert ids_of(**listing(rows), **attributes) == expected


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({"views": 5}, ["E033"]),
        ({"views": "home"}, ["E033"]),
        ({"views": ["home", 5]}, ["E033"]),
        ({"views": ["home", "nowhere"]}, ["E021"]),
        ({"views": LACKING}, ["W037"]),
        ({"views": [5], "location": lambda self, view: {}["tenant"]}, ["W037"]),
        ({"views": ["x"], "location": lambda self, view: reverse(view)}, ["W037"]),
        ({"views": [5], "location": lambda self, view: "/"}, []),
    ],
)
def test_views_are_declared_or_found_by_code(attributes, expected):
    assert ids(said_of(type("Views", (ViewSource,), attributes))) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [("queryset", []), ("limit", ["W037"]), ("protocol", ["W037"])],
)
def test_a_property_of_a_contrib_class_may_need_what_is_not_there(name, expected):
    """Registering an instance asks for none of them, or Django would not start."""
    needing = {name: LACKING}
    needing["items"] = lambda self: self.queryset
    assert ids(said_of(type("S", (Sitemap,), needing)())) == expected


@pytest.mark.parametrize("code", ["get_domain", "given"])
def test_what_a_contrib_class_raises_is_a_warning(code):
    def raises(*args):
        raise LookupError("tenant")

    given = raises if code == "given" else type("S", (Sitemap,), {code: raises})
    assert ids(said_of(given)) == ["W037"]


@pytest.mark.django_db
@pytest.mark.parametrize("kind", [OperationalError, ProgrammingError])
def test_a_database_that_is_empty_yet_stops_nothing(kind):
    """``migrate`` makes the tables, and runs the checks before."""

    assert ids_of(Product, **raising(kind("no such table: wagtailcore"))) == []


@pytest.mark.parametrize(
    ("rows", "tables"),
    [
        (BOOKS.filter(tags__name="x"), ["testapp_book_tags"]),
        (BOOKS.filter(tags__in=[5, 6]), ["testapp_book_tags"]),
        (BOOKS.filter(Q(tags=5) | Q(slug="x")), ["testapp_book_tags"]),
        (Author.objects.filter(book__tags=5), ["testapp_book"]),
        (Author.objects.filter(book__slug__gt="x"), ["testapp_book"]),
        (Gallery.objects.filter(photos__taken=None), ["testapp_photo"]),
        (Gallery.objects.filter(photos=None), []),
        (BOOKS.filter(tags__name="x").distinct(), []),
        (BOOKS.filter(tags=5), []),
        (BOOKS.filter(tags__pk=5, author__name="x"), []),
        (BOOKS.filter(tags=None), []),
        (BOOKS.exclude(tags__name="x"), []),
        (BOOKS.filter(Exists(TAGGED)), []),
        (BOOKS.annotate(count=Count("tags")), []),
        (BOOKS.select_related("author").filter(author__name="x"), []),
        (Author.objects.filter(book__pk=5), []),
    ],
)
def test_joins_that_repeat_rows(rows, tables):
    """W032: but for those of which at most one row fits."""
    found = messages_of(rows.model, **listing(rows))
    found = [it.msg.split()[4] for it in found if it.id.endswith("W032")]
    assert found == [f"{table}," for table in tables]


@pytest.mark.parametrize(
    ("condition", "repeats"),
    [
        (Q(permission__codename="add_book"), False),
        (Q(permission__pk=5), False),
        (Q(permission__codename__startswith="add"), True),
        (Q(permission__codename="a") | Q(permission__codename="b"), True),
        (Q(permission__name="Can add"), True),
    ],
)
def test_a_filtered_relation_that_a_declaration_names(condition, repeats):
    """W032: but for one row, by what is unique together with the relation."""
    rows = ContentType.objects.alias(
        one=FilteredRelation("permission", condition=condition)
    )
    found = ids_of(ContentType, **listing(rows), priority="one__pk")
    assert ("W032" in found) == repeats


@pytest.mark.parametrize(
    ("attributes", "code", "said"),
    [
        ({"lastmod": "updated"}, "E022", "Did you mean 'updated_at'?"),
        ({"changefreq": "dayly"}, "E022", "Did you mean 'daily'?"),
        ({"starts": "publish_on"}, "E022", "starts names 'publish_on'"),
        ({"model": Painting, "images": "photo__url"}, "E022", "images = 'photo'."),
        ({"key": "slgu"}, "E014", "Did you mean 'slug'?"),
        (
            {"location": Route("product-detial", slug="slug")},
            "E021",
            "no pattern is named 'product-detial'. Did you mean 'product-detail'?",
        ),
        (
            {"location": Route("index", number="pk")},
            "E021",
            "Did you mean 'admin:index' or 'sitemaps_plus:index'?",
        ),
        (
            {"location": Route("product-detail", pk="pk")},
            "E021",
            "'product-detail' takes slug, not pk.",
        ),
        ({"location": Route("home", pk="pk")}, "E021", "takes no arguments, not pk."),
        ({"lastmod": lambda: None}, "E034", "Write def lastmod(self, row)."),
        (
            {"languages": ["de"], "get_languages": lambda self: ["de"]},
            "E034",
            "Write def get_languages(self, row).",
        ),
    ],
)
def test_what_is_wrong_is_named_with_what_is_near(attributes, code, said):
    [message] = messages_of(**{"model": Product, **attributes})
    assert ids([message]) == [code]
    assert said in f"{message.msg} {message.hint}"


class TestUnwatched:
    """W009: a query reads rows of a model, and no save of that model is watched."""

    @pytest.mark.parametrize(
        ("filters", "attributes", "expected"),
        [
            ({"author__name": "x"}, {}, ["W009"]),
            ({"tags__name": "x"}, {}, ["W009", "W032"]),
            ({"tags": 5}, {}, ["W009"]),
            ({"tags": 5}, {"watch": {Tag: "book"}}, []),
            ({"author": 5}, {}, []),
            ({"author__name": "x"}, {"watch": {Author: "book"}}, []),
            ({"author__name": "x"}, {"lastmod": "author__updated_at"}, ["W003"]),
            ({}, {"priority": HAS_AUTHOR}, ["W009"]),
            ({}, {"priority": HAS_AUTHOR, "watch": {Author: "book"}}, []),
        ],
    )
    def test_a_model_that_a_filter_or_a_declaration_joins(
        self, filters, attributes, expected
    ):
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
        assert ids([message]) == ["W009"]
        assert f"rows of {model._meta.label}, whose" in message.msg
        assert ids_of(**listing(rows), watch={model: "book"}) == []

    def test_a_model_between_is_watched_where_a_declared_path_crosses_it(self):
        rows = listing(Film.objects.filter(cast__name="x"))
        assert ids_of(Film, **rows) == ["W009", "W032"]
        assert ids_of(Film, **rows, priority=Count("cast__name") * 0.1) == []

    def test_rows_that_it_lists_are_watched(self):
        """In an inner query, and as the parent of a child whose row they share."""
        inner = Product.objects.filter(pk__in=Product.objects.filter(published=True))
        assert ids_of(Product, **listing(inner)) == []
        assert ids_of(Cafe, **listing(Cafe.objects.filter(slug__startswith="a"))) == []

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
            (Book, {Author: lambda author: author.book_set.all()}),
            (Topic, {Topic: under("path")}),
            (Genre, {Genre: under("tree_id", "lft", "rght")}),
        ],
    )
    def test_one_that_leads_to_rows_with_their_key_is_right(self, model, watch):
        assert ids_of(model, watch=watch) == []

    @pytest.mark.parametrize(
        "watch",
        [
            *[{Tag: it} for it in ("pk", "", "name", "book_set", 5, Book)],
            *[{Tag: it} for it in ("book__slug", "book__author")],
            {Author: under("path")},
            {Topic: under("path")},
            {Book: under("id", "lft", "id")},
            {"testapp.Tag": "book"},
            {Nothing: "book"},
            [Tag],
        ],
    )
    def test_others_are_named(self, watch):
        assert ids_of(watch=watch) == ["E027"]

    def test_the_relations_to_the_rows_are_proposed(self):
        (message,) = messages_of(watch={Tag: "book_set"})
        assert message.msg.startswith("Section 'checked': ")
        assert "lead from it to testapp.Book: 'book'." in message.hint

    @pytest.mark.parametrize(
        ("model", "watch"), [(Venue, {Show: "theatre"}), (Theatre, {Tag: "venue"})]
    )
    def test_one_to_rows_with_another_key_is_named(self, model, watch):
        assert ids_of(model, watch=watch) == ["E027"]


class TestTrees:
    """W013: rows depend on rows of their own model, and ``watch`` is silent."""

    @pytest.mark.parametrize("library", ["treebeard.mp_tree", "mptt.models"])
    def test_a_model_of_a_tree_library(self, library, monkeypatch):
        monkeypatch.setattr(PathNode, "__module__", library)
        (message,) = messages_of(Topic)
        assert ids([message]) == ["W013"]
        assert f"{library}.PathNode" in message.msg
        assert "watch = {Topic: under('path')}" in message.hint
        for watch in (under("path"), lambda topic: topic.get_descendants()):
            assert ids_of(Topic, watch={Topic: watch}) == []

    @pytest.mark.parametrize(
        ("attributes", "expected"),
        [
            ({}, []),
            ({"location": lambda self, genre: f"/{genre.parent.slug}/"}, []),
            ({"location": None}, []),
            (listing(Genre.objects.filter(parent__slug="x")), ["W013"]),
            ({"location": Route("book-detail", slug="parent__slug")}, []),
            (listing(Genre.objects.filter(Exists(BELOW))), ["W013"]),
            (listing(Genre.objects.filter(parent__in=NAMED_GENRES)), ["W013"]),
            (listing(Genre.objects.filter(pk__in=NAMED_GENRES[:3])), ["W013"]),
            (listing(Genre.objects.filter(pk__in=NAMED_GENRES)), []),
            (listing(Genre.objects.filter(Exists(SAME_GENRE))), []),
        ],
    )
    def test_a_relation_to_the_same_model(self, attributes, expected):
        """A declared path over it is watched by itself."""
        assert ids_of(Genre, **attributes) == expected
        watch = {"watch": {Genre: under("tree_id", "lft", "rght")}}
        assert ids_of(Genre, **attributes, **watch) == []

    def test_window_functions_are_named_with_what_is_faster(self):
        """W053, in filters and in what is shown; not of a query within."""
        number = Window(RowNumber(), partition_by="lft")
        told = {"watch": {Genre: under("tree_id", "lft", "rght")}}
        numbered = Genre.objects.annotate(number=number)
        for attributes in (
            listing(numbered.filter(number=1)),
            {"priority": number},
            {"lastmod": RawSQL("max(lft) OVER ()", [])},
        ):
            assert ids_of(Genre, **attributes, **told) == ["W053"]
        within = Genre.objects.filter(pk__in=numbered.filter(number=1).values("pk"))
        assert ids_of(Genre, **listing(within), **told) == []

    def test_the_fields_of_a_tree_are_proposed(self):
        rows = listing(Genre.objects.filter(parent__slug="x"))
        (message,) = messages_of(Genre, **rows)
        assert "under('tree_id', 'lft', 'rght')" in message.hint


@pytest.mark.parametrize("fields", [(), ("lft", "rght"), ("a", "b", "c", "d")])
def test_under_takes_one_field_or_three(fields):
    with pytest.raises(TypeError, match=r'under\("path"\)'):
        under(*fields)


@pytest.mark.parametrize(("watch", "expected"), [(False, ["W046"]), (True, [])])
def test_another_model_of_its_table_is_named(watch, expected):
    """Saves have its name; a proxy is watched by itself."""
    try:

        class Twin(models.Model):  # noqa: DJ008 - nobody reads it
            slug = models.SlugField()

            class Meta:
                app_label, managed = "testapp", False
                db_table = Product._meta.db_table

        given = {Twin: lambda twin: Product.objects.filter(pk=twin.pk)} if watch else {}
        assert ids_of(model=Product, watch=given, lastmod=None) == expected
    finally:
        del apps.all_models["testapp"]["twin"]
        apps.clear_cache()
