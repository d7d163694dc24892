"""The checks of sources: what cannot work, and what no signal tells."""

from __future__ import annotations

import uuid
from datetime import UTC, date, datetime, time, timedelta
from enum import Enum, StrEnum
from typing import Any

import pytest
from django.apps import apps
from django.contrib.contenttypes.models import ContentType
from django.contrib.sitemaps import GenericSitemap, Sitemap
from django.core.checks import CheckMessage
from django.core.exceptions import FieldDoesNotExist, FieldError
from django.core.files.storage import FileSystemStorage, InMemoryStorage
from django.db import OperationalError, ProgrammingError, models
from django.db.models import (
    Case,
    Count,
    Exists,
    ExpressionWrapper,
    FilteredRelation,
    Max,
    OuterRef,
    Q,
    Subquery,
    Value,
    When,
    Window,
)
from django.db.models.expressions import RawSQL
from django.db.models.functions import Coalesce, Greatest, Length, Now, RowNumber, Upper
from django.db.models.lookups import LessThan
from django.db.models.sql import Query
from django.test.utils import isolate_apps
from django.urls import reverse, reverse_lazy
from django.utils import timezone, translation
from django.utils.functional import SimpleLazyObject, cached_property

from django_sitemaps_plus import Entry, ModelSource, Route, Source, ViewSource, under
from django_sitemaps_plus.checks import check_sources
from django_sitemaps_plus.checks.languages import check_languages
from django_sitemaps_plus.core.key_ranges import EVERYTHING
from django_sitemaps_plus.exceptions import ConfigurationError, SourceError
from django_sitemaps_plus.rendering import render_page
from django_sitemaps_plus.section import open_section
from django_sitemaps_plus.sites import sample_site
from django_sitemaps_plus.testing import temporary_registry
from tests.support.joins import joined
from tests.support.testapp.models import (
    Annex,
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

TIMES = {"W048", "W049", "W050"}
TIMED = {"starts": "updated_at"}
HALF = timedelta(seconds=90)
MONTH, YEARS_AGO = timedelta(days=30), datetime(2020, 1, 1, tzinfo=UTC)


def midnight() -> datetime:
    return timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)


def inner(**conditions: Any) -> Any:
    """Return a condition on the row itself, within another query."""
    return Q(Exists(Product.objects.filter(pk=OuterRef("pk"), **conditions)))


LATER = Greatest("updated_at", "created_on", output_field=models.DateTimeField())
LATEST = Subquery(Product.objects.filter(pk=OuterRef("pk")).values("updated_at")[:1])


CAME = ExpressionWrapper(Q(updated_at__lte=Now()), models.BooleanField())
UPDATED = models.F("updated_at")


def come(now: Any, then: Any = True) -> Case:
    """Return a value of rows whose time has come."""
    return Case(When(updated_at__lte=now, then=then), default=None)


def came_within(now: Any) -> Case:
    """Return a value that another query decides."""
    return Case(When(inner(updated_at__lte=now), then=UPDATED), default=None)


def annotated(of: Any, **conditions: Any) -> Any:
    """Return rows with an annotation, and conditions on it."""
    return Product.objects.annotate(n=of).filter(**conditions)


def newer(day: date) -> Count:
    return Count("pk", filter=Q(created_on__lte=day))


def raw(sql: str, *params: Any) -> Any:
    return Product.objects.extra(where=[sql], params=params)  # noqa: S610


class Nothing(models.Model):
    class Meta:
        app_label = "testapp"
        abstract = True

    def __str__(self) -> str:
        return ""


class Signed(Nothing):
    slug = models.SlugField(unique=True)
    updated_at = models.DateTimeField(db_index=True)
    author = models.ForeignKey(Author, models.DO_NOTHING)  # no table, so none is asked

    class Meta:
        app_label = "testapp"
        managed = False

    def get_absolute_url(self) -> str:
        return f"/{self.slug}/"

    def modified(self):
        return self.updated_at

    @property
    def shown(self):
        return self.updated_at


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
        ({"live": True}, []),
        ({"live": 1}, ["E037"]),
        ({"live": "yes"}, ["E037"]),
        ({"live": lambda self: True}, ["E037"]),
        ({"model": None}, ["E013"]),
        ({"model": "testapp.Book"}, []),
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
        ({"starts": "slug"}, ["E023"]),
        ({"ends": "created_on"}, ["W050"]),
        ({"title": 5}, ["E037"]),
        ({"title": Upper("name")}, []),
        ({"using": "nowhere"}, ["E023"]),
        ({"get_queryset": lambda self: [1]}, ["E023"]),
        ({"get_queryset": lambda self: Product.objects.all()[:5]}, ["E023"]),
        ({"get_queryset": lambda self: Product.objects.filter(publishd=1)}, ["E023"]),
        ({"get_queryset": lambda self: Book.objects.all()}, ["W058"]),
        ({"model": Theatre, **listing(Venue.objects.all())}, []),
        ({"model": Venue, **listing(Opera.objects.all())}, []),
        ({"model": Annex, **listing(Theatre.objects.all())}, ["W058"]),
        ({"model": PlaceProxy, **listing(PlaceProxy._base_manager.all())}, []),
        ({"location": Route("home")}, ["W039"]),
        ({"location": Route("product-detail", slug=Value("a"))}, ["W039"]),
        ({"location": Value("/a/")}, ["W039"]),
        ({"location": "/a/"}, ["E022"]),
        ({"lastmod": "created_on"}, ["W003"]),
        ({"lastmod": "updated_at"}, []),
        ({"lastmod": "slug"}, ["W044"]),
        ({"lastmod": "published"}, ["W044"]),
        ({"priority": "name"}, ["W044"]),
        ({"priority": "popularity"}, []),
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


@pytest.mark.parametrize(
    ("attributes", "is_named"),
    [
        ({"model": Painting, "images": "photo"}, True),
        ({"model": Painting, "images": models.F("photo")}, True),
        ({"model": Gallery, "images": "photos__image"}, True),
        ({"model": Painting, "images": lambda self, row: row.photo}, False),
        ({"model": Painting, "images": ["/logo.png"]}, False),
        ({"model": Painting}, False),
    ],
)
def test_files_without_a_media_url_are_named(settings, attributes, is_named):
    """W036: Django gives them URLs at the root of the site, where nothing is."""
    assert "W036" not in ids_of(**attributes)
    settings.MEDIA_URL = ""
    assert ("W036" in ids_of(**attributes)) == is_named


@pytest.mark.parametrize(
    ("storage", "is_named"),
    [
        (FileSystemStorage(), True),
        (InMemoryStorage(), True),
        (FileSystemStorage(base_url="/files/"), False),
        (FileSystemStorage(base_url="/"), False),
        (type("Own", (FileSystemStorage,), {"base_url": "/cdn/"})(), False),
        (type("Remote", (FileSystemStorage,), {"url": lambda *given: "/x"})(), False),
    ],
)
def test_a_storage_with_urls_of_its_own_is_fine(
    settings, monkeypatch, storage, is_named
):
    settings.MEDIA_URL = ""
    field = Painting._meta.get_field("photo")
    monkeypatch.setattr(field, "storage", storage)
    found = ids_of(model=Painting, images="photo")
    assert ("W036" in found) == is_named


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
        ({"starts": "length"}, ["W050"]),
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
        ({"views": []}, ["E033"]),
        ({"views": property(lambda self: [])}, []),
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


OF_PRODUCT = Route("product-detail", slug="slug")
BY_METHOD = Route("product-detail", slug="modified")
URL_OF = 'reverse("product-detail", kwargs={"slug": obj.modified()})'


@pytest.mark.parametrize(
    ("attributes", "code", "said"),
    [
        (
            {"lastmod": "modified"},
            "E022",
            "def lastmod(self, obj): return obj.modified()",
        ),
        ({"images": "shown"}, "E022", "def images(self, obj): return obj.shown."),
        ({"title": "__str__"}, "E022", "return obj.__str__()."),
        ({"lastmod": "modified()"}, "E022", "return obj.modified()."),
        ({"lastmod": "obj.modified"}, "E022", "return obj.modified()."),
        ({"location": "get_absolute_url"}, "E022", "Leave location out: "),
        ({"location": BY_METHOD}, "E022", f"location(self, obj): return {URL_OF}."),
        ({"starts": "modified"}, "E022", "Name a field: "),
        (
            {"lastmod": "day", "day": lambda self, row: None},
            "E022",
            "Rename the method",
        ),
        ({"title": "author.name"}, "E022", 'Write title = "author__name".'),
        ({"lastmod": "-updated_at"}, "E022", 'Write lastmod = "updated_at".'),
        ({"lastmod": "2026-01-31"}, "E022", "Write lastmod = date(2026, 1, 31)."),
        ({"lastmod": "auto_now"}, "E022", 'such as lastmod = "updated_at".'),
        ({"priority": "0.8"}, "E022", "Write priority = 0.8."),
        ({"priority": "0,8"}, "E022", "Write priority = 0.8."),
        ({"priority": "high"}, "E022", "Write a number from 0.0 to 1.0"),
        ({"changefreq": "Daily"}, "E022", 'Write changefreq = "daily".'),
        ({"changefreq": "sometimes"}, "E022", "Choose one of always, hourly, "),
        ({"images": "/logo.png"}, "E022", "Write images = ['/logo.png']."),
        ({"title": "All of it"}, "E022", "def title(self, obj): return 'All of it'."),
        (
            {"location": "product-detail"},
            "E022",
            'Route("product-detail", slug="slug")',
        ),
        ({"location": "/shop/"}, "E022", "Write location = Route("),
        ({"images": ["author"]}, "E037", 'Write images = "author".'),
        ({"lastmod": ["updated_at"]}, "E037", 'Write lastmod = "updated_at".'),
        ({"lastmod": timezone.now().replace(tzinfo=None)}, "E037", "has no time zone"),
        ({"lastmod": False}, "E037", "lastmod cannot be written: False is no date."),
        ({"priority": 5}, "E037", "Write a number from 0.0 to 1.0"),
        ({"lastmod": OF_PRODUCT}, "E037", 'such as lastmod = "updated_at".'),
        ({"priority": True}, "E037", "Write a number from 0.0 to 1.0"),
        ({"changefreq": ["daily"]}, "E037", 'Write changefreq = "daily".'),
        ({"changefreq": Enum("Often", {"DAILY": "daily"}).DAILY}, "E037", '"daily".'),
        ({"news": True}, "E037", "Write a method that returns a News."),
        ({"alternates": [("de", "/de/")]}, "E037", "pairs of a language and a URL."),
        (
            {"location": reverse_lazy("product-detail")},
            "E037",
            "Write location = Route",
        ),
        ({"location": Route("product-detail", slug=5)}, "E037", "Write slug=Value(5)."),
        ({"location": Route("product-detail", slug=Tag)}, "E037", 'slug="slug".'),
        ({"lastmod": Signed.updated_at}, "E037", 'Write lastmod = "updated_at".'),
        ({"lastmod": Signed.modified}, "E037", "return obj.modified()."),
        ({"location": Signed.get_absolute_url}, "E037", "Leave location out: "),
        ({"key": Signed.pk}, "E037", 'Write key = "pk".'),
        ({"mobile": "yes"}, "E037", "Write mobile = True, or False."),
        ({"limit": "1000"}, "E011", "Write limit = 1000."),
        ({"limit": True}, "E011", "limit is True. A sitemap may have 1 to 50,000 "),
        ({"max_age": True}, "E011", "Write a number of seconds"),
        ({"max_age": timedelta(days=1)}, "E011", "Write max_age = 86400,"),
        ({"key": 5}, "E014", "Write the name of a field"),
        ({"model": "Product"}, "E013", "Write model = 'testapp.Product'."),
        ({"model": "testapp.models.Product"}, "E013", "model = 'testapp.Product'."),
        ({"model": "testapp.Prodct"}, "E013", "Did you mean 'testapp.Product'?"),
        ({"model": Nothing}, "E013", "model is Nothing, which is abstract."),
        ({"model": Product.objects}, "E013", "Write model = Product."),
        ({"model": (Product,)}, "E013", "Write model = Product."),
        ({"watch": [Author]}, "E027", "Write watch = {Author: "),
        ({"watch": {"testapp.Auther": "x"}}, "E027", "Did you mean 'testapp.Author'?"),
        ({"get_queryset": lambda self: None}, "E023", "It lacks a return."),
        (listing(Product.objects), "E023", "Return Product.objects.all()."),
        ({"get_queryset": lambda: None}, "E034", "Write def get_queryset(self)."),
        ({"get_queryset": lambda self, request: 5}, "E034", "def get_queryset(self)."),
        ({"get_queryset": 5}, "E034", "it is a int"),
        ({"lastmod": datetime.now}, "E034", "Write def lastmod(self, row)."),
        ({"lastmod": "updated"}, "E022", "Did you mean 'updated_at'?"),
        ({"changefreq": "dayly"}, "E022", 'Write changefreq = "daily".'),
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
def test_what_to_write_is_said(attributes, code, said):
    """By one error, of what can never work, whatever the rows are."""
    declared = {"model": Signed, "location": OF_PRODUCT, **attributes}
    [message] = messages_of(**declared)
    assert ids([message]) == [code]
    assert said in f"{message.msg} {message.hint}"


@pytest.mark.parametrize(
    "attributes",
    [
        {"priority": 0.8, "changefreq": "daily", "lastmod": date(2026, 1, 31)},
        {"images": ["/logo.png"], "lastmod": timezone.now()},
        {"changefreq": StrEnum("Often", {"DAILY": "daily"}).DAILY},
        {"get_queryset": lambda self, site: Signed.objects.all()},
        {"title": str},
    ],
)
def test_constants_that_can_be_written_are_fine(attributes):
    assert messages_of(Signed, location=OF_PRODUCT, **attributes) == []


LISTED = {"entries": lambda self, origin: [], "__annotations__": {"own": "int"}}


@pytest.mark.parametrize(
    ("base", "attributes", "code", "said"),
    [
        (ViewSource, {"views": ["home"], "priority": "high"}, "E037", "0.0 to 1.0"),
        (ViewSource, {"views": ["home"], "changefreq": "Daily"}, "E037", '"daily".'),
        (ViewSource, {"views": ["home"], "lastmod": "x"}, "E037", "an aware datetime."),
        (ViewSource, {"views": [("home", ["a"])]}, "E033", "are no dict."),
        (ViewSource, {}, "E033", 'Write views = ["home"].'),
        (Source, {}, "E037", "Write def entries(self, origin)"),
        (Source, {"entries": lambda self: []}, "E034", "def entries(self, origin)."),
        (Source, {**LISTED, "extensions": ["images"]}, "E037", "mean 'image'?"),
        (Source, {**LISTED, "extensions": ["alternates"]}, "E037", "news, xhtml."),
        (
            ViewSource,
            {"views": ["home"], "__annotations__": {"lastmod": "'updated_at'"}},
            "W030",
            'lastmod has a type and no value. Write "lastmod = "',
        ),
    ],
)
def test_sources_without_rows_say_what_to_write(base, attributes, code, said):
    [message] = said_of(type("Checked", (base,), attributes))
    assert ids([message]) == [code]
    assert said in f"{message.msg} {message.hint}"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("post", "slug"), r"as in Route\('post', slug='slug'\)"),
        *[((it,), "the name of a pattern in quotes") for it in (ids_of, Product)],
    ],
)
def test_what_a_route_cannot_be_made_of_is_named(given, said):
    with pytest.raises(TypeError, match=said):
        Route(*given)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("base", "attributes"),
    [
        (ModelSource, {"model": Product, "get_queryset": lambda self: None}),
        (Source, {"entries": lambda self, origin: None}),
        (Sitemap, {"items": lambda self: None}),
    ],
)
def test_a_forgotten_return_is_named_when_rows_are_read(base, attributes):
    """No check calls entries() or items(), which may read a whole table."""
    with temporary_registry() as sections:
        sections.register("checked", type("Checked", (base,), attributes))
        section = open_section("checked", sample_site())
        with pytest.raises(SourceError, match=r"None, .*Does it lack a return\?"):
            render_page(section, EVERYTHING)


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
            (Book, {"testapp.Tag": "book"}),
            ("testapp.Book", {Tag: "book"}),
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
            {"testapp.Tga": "book"},
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

    @pytest.mark.parametrize(
        ("rows", "attributes", "expected"),
        [
            (lambda now: Q(updated_at__lte=now), {}, []),
            (lambda now: Q(updated_at__lte=Now()), {}, []),
            (lambda now: Q(updated_at__gte=now - timedelta(days=30)), {}, []),
            (lambda now: Q(created_on__lte=timezone.localdate()), {}, ["W049"]),
            (lambda now: Q(updated_at__date__lte=timezone.localdate()), {}, ["W049"]),
            (lambda now: LessThan(LATER, now - MONTH), {}, ["W049"]),
            (lambda now: Q(updated_at__date__lte=Now()), {}, ["W049"]),
            (lambda now: Q(updated_at__gte=date(2026, 1, 1)), TIMED, []),
            (lambda now: Q(created_on=date(2026, 1, 1)), {}, []),
            (lambda now: inner(updated_at__lte=now), {}, ["W048"]),
            (lambda now: inner(updated_at__lte=Now()), {}, ["W048"]),
            (lambda now: inner(updated_at__lte=now), {"max_age": 60}, []),
            (lambda now: inner(updated_at__lte=now), TIMED, []),
            (lambda now: inner(published=True), {}, []),
            (lambda now: inner(created_on__lte=timezone.localdate()), {}, ["W048"]),
            (lambda now: inner(updated_at__gte=now - MONTH), {}, ["W048"]),
            (lambda now: inner(updated_at__gte=YEARS_AGO), {}, []),
            (lambda now: inner(updated_at__lte=now - HALF), {}, ["W048"]),
            (lambda now: inner(updated_at__lte=now - HALF), TIMED, []),
            (lambda now: inner(updated_at__gte=midnight()), {}, ["W048"]),
            (
                lambda now: LessThan(Coalesce("updated_at", now - HALF), now),
                {},
                ["W048"],
            ),
            (lambda now: LessThan(LATER, now - HALF), {}, ["W049"]),
            (lambda now: LessThan(Coalesce("updated_at", now), now), {}, ["W048"]),
            (lambda now: annotated(come(Now()), n=True), {}, []),
            (lambda now: annotated(come(now), n=True), {}, []),
            (lambda now: annotated(CAME, n=True), {}, []),
            (lambda now: annotated(come(now, UPDATED), n__lte=Now()), {}, ["W048"]),
            (lambda now: annotated(Max("updated_at"), n__lte=now), {}, ["W048"]),
            (lambda now: annotated(Max("updated_at"), n__lte=Now()), {}, ["W048"]),
            (lambda now: annotated(LATEST, n__lte=now), {}, ["W048"]),
            (lambda now: annotated(LATEST, n__lte=Now()), {}, ["W048"]),
            (lambda now: annotated(newer(timezone.localdate()), n__gt=0), {}, ["W048"]),
            (lambda now: annotated(newer(date(2026, 1, 1)), n__gt=0), {}, []),
            (lambda now: raw("updated_at <= Now()"), {}, ["W048"]),
            (lambda now: raw("updated_at <= current_timestamp"), {}, ["W048"]),
            (lambda now: raw("updated_at <= %s", now), {}, ["W048"]),
            (lambda now: raw("updated_at <= %s", "2026-01-01"), {}, []),
            (lambda now: annotated(RawSQL("now()", ()), n=True), {}, ["W048"]),
            (lambda now: Q(), {"priority": come(Now(), 0.5)}, ["W048"]),
            (lambda now: Q(), {"priority": come(Now(), 0.5), "max_age": 60}, []),
            (lambda now: Q(), {"lastmod": came_within(Now())}, ["W048"]),
            (lambda now: Q(updated_at__lte=now), {"lastmod": come(YEARS_AGO)}, []),
            (lambda now: Q(published=True), TIMED, ["W050"]),
            (lambda now: Q(published=True), {**TIMED, "location": None}, ["W050"]),
            (lambda now: Q(updated_at__lte=now), TIMED, []),
        ],
    )
    def test_times_that_builds_cannot_follow(self, rows, attributes, expected):
        """W048, without an index W049, and W050 where times do not filter."""

        def get_queryset(self: Any) -> Any:
            found = rows(timezone.now())
            is_whole = isinstance(found, models.QuerySet)
            return found if is_whole else Product.objects.filter(found)

        given = {"get_queryset": get_queryset, **attributes}
        found = [it for it in ids_of(Product, **given) if it in TIMES]
        assert found == expected

    @pytest.mark.parametrize("hour", [12, 23])
    def test_the_day_of_utc_is_today_at_any_hour(self, monkeypatch, hour):
        """As now().date() gives it, while TIME_ZONE may have the next day."""
        now = datetime(2026, 1, 31, hour, 30, tzinfo=UTC)
        monkeypatch.setattr(timezone, "now", lambda: now)

        def get_queryset(self: Any) -> Any:
            return Product.objects.filter(created_on__lte=timezone.now().date())

        assert ids_of(Product, get_queryset=get_queryset) == ["W049"]

    @pytest.mark.parametrize(
        ("items", "attributes", "expected"),
        [
            (lambda: Product.objects.filter(inner(updated_at__lte=Now())), {}, "W048"),
            (lambda: Product.objects.filter(created_on__lte=Now()), {}, "W049"),
            (
                lambda: Product.objects.filter(inner(updated_at__lte=Now())),
                {"max_age": 60},
                "",
            ),
            (lambda: Product.objects.filter(updated_at__lte=timezone.now()), {}, ""),
            (lambda: [*Product.objects.filter(inner(updated_at__lte=Now()))], {}, ""),
            (lambda: ["home"], {}, ""),
        ],
    )
    def test_times_of_a_contrib_class(self, items, attributes, expected):
        """Its rows are not read."""
        given = {"items": lambda self: items(), **attributes}
        found = ids(attribute_messages(type("Checked", (Sitemap,), given)))
        assert found == [expected] * bool(expected)

    @pytest.mark.parametrize(
        ("field", "value", "expected"),
        [
            ("updated_at", timezone.now, ["W048"]),
            ("updated_at", lambda: timezone.now() - MONTH, ["W048"]),
            ("created_on", timezone.localdate, ["W048", "W049"]),
            ("updated_at", lambda: YEARS_AGO, []),
            ("updated_at", lambda: datetime.max.replace(tzinfo=UTC), []),
            ("created_on", lambda: date(2020, 1, 1), []),
        ],
    )
    def test_a_time_that_was_taken_once_is_named(self, field, value, expected):
        """In the class, or beside it; of contrib's classes as well."""
        taken = value()
        rows = Product.objects.filter(**{f"{field}__lte": taken})

        def get_queryset(self: Any) -> Any:
            return Product.objects.filter(**{f"{field}__lte": taken})

        for found in (
            ids_of(Product, **listing(rows)),
            ids_of(Product, get_queryset=get_queryset),
            ids(attribute_messages(GenericSitemap({"queryset": rows}))),
        ):
            assert [it for it in found if it in TIMES] == expected

    def test_the_fields_of_a_tree_are_proposed(self):
        rows = listing(Genre.objects.filter(parent__slug="x"))
        (message,) = messages_of(Genre, **rows)
        assert "under('tree_id', 'lft', 'rght')" in message.hint


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("limit", True, ["E011"]),
        ("limit", "500", []),
        ("priority", 5, ["W060"]),
        ("priority", 0.8, []),
        ("priority", property(lambda self: 5), []),
        ("changefreq", "dayly", ["W060"]),
        ("changefreq", lambda self, item: "dayly", []),
        ("lastmod", "updated_at", ["W060"]),
        ("lastmod", datetime(2020, 1, 1), []),  # noqa: DTZ001 - as contrib takes it
        ("i18n", "no", ["W060"]),
        ("alternates", lambda self, item: [], []),
    ],
)
def test_values_of_a_contrib_class(name, value, expected):
    """Each entry would lack them, or they do not mean what they say."""
    given = {"items": lambda self: Product.objects.all(), name: value}
    assert ids(attribute_messages(type("Checked", (Sitemap,), given))) == expected


class OfProcess(Sitemap):
    lastmod = timezone.now()
    opens = time.fromisoformat("08:00")  # of no module
    until = timezone.now() if lastmod else None  # perhaps a constant
    unread = uuid.uuid4()
    days: Any = (lastmod, date(2026, 1, 1))
    later = property(lambda self: timezone.now())

    def items(self):
        return [self.days, self.opens, self.until, self.later]

    def location(self, item):
        now = timezone.now()
        return f"/{now}/"


def test_values_that_a_class_computes_once_are_named():
    """Pages would say what the process had that built them."""
    found = [it for it in attribute_messages(OfProcess) if it.id.endswith("W061")]
    assert {it.msg.partition(" is ")[0].rpartition(".")[2] for it in found} == {
        *("lastmod", "days"),
    }


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


BASES: dict[type, dict[str, Any]] = {
    ModelSource: {"model": Product},
    ViewSource: {"views": ["home"]},
    Source: {"entries": lambda self, origin: [Entry(f"{origin}/")]},
    Sitemap: {"items": lambda self: ["home"], "location": lambda self, item: "/"},
}


def attribute_messages(source: Any) -> list[Any]:
    with temporary_registry() as sections:
        sections.register("checked", source)
        return check_sources()


def with_name(base: type, name: str, value: Any = None) -> list[Any]:
    return attribute_messages(type("Checked", (base,), {**BASES[base], name: value}))


@pytest.mark.parametrize(
    ("base", "name", "instead"),
    [
        (ModelSource, "items", "get_queryset()"),
        (ModelSource, "queryset", "get_queryset()"),
        (ModelSource, "entries", "get_queryset()"),
        (ModelSource, "i18n", "languages"),
        (ModelSource, "change_freq", "changefreq"),
        (ModelSource, "get_lastmod", "lastmod"),
        (ModelSource, "last_modified", "lastmod"),
        (ModelSource, "image", "images"),
        (ModelSource, "Meta", "its attributes in the class itself"),
        (ModelSource, "protocol", "BASE_URL"),
        (ViewSource, "items", "views"),
        (ViewSource, "watch", "a ModelSource"),
        (Source, "items", "entries()"),
        (Source, "last_mod", "to each Entry"),
        (Source, "i18n", "to each Entry"),
        (Sitemap, "queryset", "items()"),
        (Sitemap, "last_mod", "lastmod"),
        (Sitemap, "announce_saves", "a ModelSource"),
    ],
)
def test_names_of_habit_are_errors(base, name, instead):
    """In a class of contrib, which works without, a warning."""
    [message] = with_name(base, name)
    assert ids([message]) == ["W030" if base is Sitemap else "E030"]
    assert f"Checked.{name} has no effect on a {base.__name__}." in message.msg
    assert instead in message.hint


@pytest.mark.parametrize(
    ("base", "name", "close"),
    [
        (ModelSource, "get_querysets", "get_queryset"),
        (ModelSource, "prioritity", "priority"),
        (Sitemap, "lastmodd", "lastmod"),
    ],
)
def test_near_misses_are_warnings(base, name, close):
    """They may be names of the user's own."""
    [message] = with_name(base, name)
    assert ids([message]) == ["W030"]
    assert message.hint.startswith(f"Did you mean '{close}'?")


@pytest.mark.parametrize(
    ("base", "name"),
    [
        *[(ModelSource, name) for name in ("category", "_items", "max_age")],
        *[(ViewSource, "max_age"), (Source, "helper")],
        *[(Sitemap, it) for it in ("max_age", "limit", "sites", "model", "date_field")],
    ],
)
def test_own_names_and_those_that_are_read_are_fine(base, name):
    assert with_name(base, name, 60) == []


class Used(ModelSource):
    """Its names are of common habit, and its methods use them."""

    model = Product
    queryset = Product.objects.all()
    image = "photo.jpg"
    url = staticmethod(lambda row: f"/{row.slug}/")
    i18n = languages = ("de",)
    protocol = property(lambda self: self.languages)

    def get_queryset(self) -> Any:
        return self.queryset.all()

    def images(self, row: Product) -> Any:  # type: ignore[override]
        return [getattr(self, "image") for _ in self.i18n]  # noqa: B009

    @cached_property
    def _protocols(self) -> Any:
        return [(lambda: self.protocol)() for _ in "a"]

    @classmethod
    def location(cls, row: Product) -> str:
        return cls.url(row)


class Mixin:
    items = None

    def paginator(self) -> None:
        pass


class Mixed(Mixin, ModelSource):
    model = Product
    items = ()  # type: ignore[assignment]


class Generic(GenericSitemap):
    """Its base reads the name."""

    queryset = Product.objects.none()


@pytest.mark.parametrize("source", [Used, Mixed, Generic({"queryset": []})])
def test_names_that_code_of_the_class_uses_are_fine(source):
    assert attribute_messages(source) == []


def test_lazy_attributes_are_not_woken():
    """They may ask the database."""
    lazy = SimpleLazyObject(lambda: pytest.fail("it was woken"))
    assert with_name(ModelSource, "helper", lazy) == []


def test_a_method_does_not_use_itself():
    messages = with_name(ModelSource, "image", lambda self, row: row.image.url)
    assert ids(messages) == ["E030"]


def test_names_of_ancestors_are_named_with_their_class():
    base = type("Base", (ModelSource,), {"items": None, "model": Product})
    [message] = attribute_messages(type("Checked", (base,), {}))
    assert "Base.items has no effect" in message.msg


ROUTE = Route("product-detail", slug="slug")


def found(kind: Any = ModelSource, **attributes: Any) -> list[CheckMessage]:
    """Return what the checks say of a source with languages."""
    return attribute_messages(type("Listed", (kind,), {"model": Product, **attributes}))


class PlainModel(models.Model):
    class Meta:
        abstract = True
        app_label = "testapp"

    def __str__(self) -> str:
        return ""


@pytest.mark.urls("tests.support.urls_i18n")
class TestLanguages:
    @pytest.fixture(autouse=True)
    def locale_middleware(self, settings: Any) -> None:
        """Have what the patterns of languages need."""
        settings.MIDDLEWARE = ["django.middleware.locale.LocaleMiddleware"]

    @pytest.mark.parametrize(
        ("attributes", "expected"),
        [
            ({"languages": "all"}, []),
            ({"languages": ["de", "fr"], "location": ROUTE}, []),
            ({"languages": ["de", "de"], "location": ROUTE}, []),
            ({"languages": ["de", "en"], "x_default": True}, []),
            ({"languages": ["de"], "get_languages": lambda self, row: ["de"]}, []),
            ({"languages": "de"}, ["E050"]),
            ({"languages": None}, ["E050"]),
            ({"languages": {"en", "de"}}, ["E050"]),
            ({"languages": ["de", "it"]}, ["E050"]),
            ({"languages": [("de", "German")], "location": ROUTE}, ["E050"]),
            ({"languages": "all", "alternates": "name"}, ["E051"]),
            ({"x_default": True}, ["E051"]),
            ({"get_languages": "name"}, ["E051"]),
            ({"languages": ["de"], "x_default": True}, ["E051"]),
            # A route without a pattern is no fault of languages.
            ({"languages": ["de", "de"], "location": Route("nothing")}, ["E021"]),
        ],
    )
    def test_what_does_not_fit_is_named(self, attributes, expected):
        assert ids(found(**attributes)) == expected

    @pytest.mark.parametrize(
        ("attributes", "words"),
        [
            ({"languages": "de"}, "languages = ['de']"),
            ({"languages": ["de", "it"]}, "'it', which LANGUAGES lacks"),
            ({"x_default": True}, 'Write languages = "all", or remove x_default.'),
        ],
    )
    def test_a_message_has_value_and_remedy(self, attributes, words):
        [message] = found(**attributes)
        assert words in f"{message.msg} {message.hint}"

    @pytest.mark.parametrize(
        ("code", "meant"), [("jp", "'ja'"), ("en-uk", "'en-GB'"), ("de-formal", "")]
    )
    @pytest.mark.parametrize("kind", [ModelSource, Sitemap])
    def test_a_language_that_engines_do_not_know(self, kind, code, meant, settings):
        settings.LANGUAGES = [("en", "English"), (code, "Other")]
        given = {"languages": "all"} if kind is ModelSource else {"i18n": True}
        [message] = [it for it in found(kind, **given) if ids([it]) == ["W043"]]
        assert repr(code) in message.msg
        assert meant in message.msg

    @pytest.mark.parametrize(
        ("model", "path", "is_named"),
        [
            *(("InColumns", "slug", True), ("InColumns", "slug_{language}", False)),
            *(("InTable", "slug", True), ("InTable", "code", False)),
            *(("Child", "parent__slug", True), ("Child", "slug", False)),
            ("Child", "parent__slug_{language}", False),
        ],
    )
    def test_a_slug_of_which_each_language_has_its_own(self, model, path, is_named):
        with isolate_apps("tests.support.testapp"):

            class InColumns(PlainModel):
                slug = models.SlugField(unique=True)
                slug_de = models.SlugField(blank=True)

            class InTable(PlainModel):
                slug = models.SlugField()
                code = models.SlugField()

            class Translation(PlainModel):
                master = models.ForeignKey(InTable, models.CASCADE)
                language_code = models.CharField(max_length=15)
                slug = models.SlugField()

            class Child(PlainModel):
                parent = models.ForeignKey(InColumns, models.CASCADE)
                slug = models.SlugField()

            declared = {
                "model": locals()[model],
                "location": Route("product-detail", slug=path),
                "languages": ["en", "de"],
            }
            source = type("Listed", (ModelSource,), declared)
            messages = list(check_languages(source()))
        assert ids(messages) == ["W045"] * is_named
        assert all(f"{path}_{{language}}" in it.hint for it in messages)


@pytest.mark.urls("tests.support.urls")  # i18n_patterns() would keep the setting
class TestOneUrlForAllLanguages:
    def test_languages_need_internationalization(self, settings, monkeypatch):
        """Django keeps for a process what the setting was at first; here it may not."""
        monkeypatch.setattr(translation, "_trans", type(translation._trans)())
        settings.USE_I18N = False
        assert "USE_I18N" in found(languages="all")[0].msg

    def test_it_is_an_error_of_views(self):
        given = {"views": ["home"], "languages": "all"}
        [message] = found(ViewSource, **given)
        assert ids([message]) == ["E052"]
        assert "'home'" in message.msg
        assert found(ViewSource, get_languages=lambda self, view: ["de"], **given) == []

    def test_it_is_an_error_of_rows(self, configure):
        """Unless origins or a field of each language make them differ."""
        assert ids(found(languages="all", location=ROUTE)) == ["E052"]
        fields = Route("product-detail", slug="slug_{language}")
        found_ids = ids(found(languages="all", location=fields))
        assert "E052" not in found_ids
        assert found_ids[0] == "E022"  # there is no such field
        configure(BASE_URL=None, LANGUAGE_ORIGINS={"de": "https://shop.example.de"})
        assert found(languages=["de", "en"], location=ROUTE) == []
        assert found(ViewSource, views=["home"], languages=["de", "en"]) == []
