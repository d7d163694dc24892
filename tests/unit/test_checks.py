"""Every system check says what is wrong, and nothing where nothing is."""

from __future__ import annotations

import pytest
from django.core.checks import CheckMessage
from django.db import models
from django.db.models import Case, Count, Exists, OuterRef, Subquery, Value, When
from django.http import HttpResponse
from django.test import override_settings
from django.urls import include, path

from django_sitemaps_plus import ModelSource, Route, ViewSource
from django_sitemaps_plus.checks import (
    check_robots,
    check_settings,
    check_sources,
    check_urls,
)
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.testing import temporary_registry
from tests.support.testapp.models import (
    Annex,
    Author,
    Book,
    Cafe,
    Film,
    Opera,
    PlaceProxy,
    Product,
    Room,
    Show,
    Tag,
    Theatre,
    Venue,
)

BASE = {"BASE_URL": "https://example.com"}
SHARED = {"default": {"BACKEND": "django.core.cache.backends.db.DatabaseCache"}}


class Composite(models.Model):
    """A key of two columns."""

    pk = models.CompositePrimaryKey("one", "two")
    one = models.IntegerField()
    two = models.IntegerField()

    class Meta:
        app_label = "testapp"
        managed = False

    def __str__(self) -> str:
        return f"{self.one}, {self.two}"


class Nothing(models.Model):
    """A model without rows."""

    class Meta:
        app_label = "testapp"
        abstract = True

    def __str__(self) -> str:
        return ""


def ids(messages) -> list[str]:
    """Return the ids of messages, without the app's label."""
    return [message.id.removeprefix("sitemaps_plus.") for message in messages]


def ids_of(**attributes) -> list[str]:
    """Return the ids of what is said of a product source with these attributes."""
    return ids(messages_of(**attributes))


def messages_of(**attributes) -> list[CheckMessage]:
    """Return what is said of a product source with these attributes."""
    declared = {"model": Product, "location": Route("product-detail", slug="slug")}
    source = type("Checked", (ModelSource,), {**declared, **attributes})
    with temporary_registry():
        registry._registry["checked"] = source()
        return check_sources()


class TestSettings:
    @pytest.mark.parametrize(
        ("given", "expected"),
        [
            ({**BASE, "BASE_ULR": "x"}, ["E001"]),
            (5, ["E002", "E003"]),
            ({**BASE, "PLAN_SECONDS": "soon"}, ["E002"]),
            ({**BASE, "PLAN_SECONDS": -1}, ["E002"]),
            ({**BASE, "SCHEME": "ftp"}, ["E002"]),
            ({**BASE, "MAX_BUILDERS": 0}, ["E002"]),
            ({**BASE, "LEASE_SECONDS": 1}, ["E002"]),
            ({**BASE, "NOTIFY": "yes"}, ["E002"]),
            ({**BASE, "NOTIFY_RETRY_SECONDS": 0}, ["E002"]),
            ({**BASE, "NOTIFY_RETRY_SECONDS": True}, ["E002"]),
            ({**BASE, "NOTIFY_RETRY_SECONDS": 0.5}, []),
            ({"BASE_URL": "shop.example"}, ["E002"]),
            ({}, ["E003"]),
            ({**BASE, "STORAGE": "nowhere"}, ["E004"]),
            ({**BASE, "CACHE": "nowhere"}, ["E006"]),
            (BASE, []),
        ],
    )
    def test_a_value_that_cannot_work_is_named(self, settings, given, expected):
        """One message a fault; none without."""
        settings.CACHES = SHARED
        settings.SITEMAPS_PLUS = given
        assert ids(check_settings()) == expected

    def test_the_closest_key_is_proposed(self, settings):
        """For a key that was mistyped."""
        settings.SITEMAPS_PLUS = {**BASE, "LIVE_MAX_ROW": 5}
        (message,) = [m for m in check_settings() if m.id.endswith("E001")]
        assert "LIVE_MAX_ROWS" in message.hint

    @pytest.mark.parametrize(
        ("given", "said"),
        [
            (["BASE_URL"], "SITEMAPS_PLUS is ['BASE_URL'], which is not a dict."),
            (
                {**BASE, "LEASE_SECONDS": True},
                "SITEMAPS_PLUS['LEASE_SECONDS'] is True: it must be a whole number, "
                "2 or more.",
            ),
            (
                {**BASE, "STORAGE": "nowhere"},
                "SITEMAPS_PLUS['STORAGE'] is 'nowhere', which STORAGES does not "
                "define.",
            ),
        ],
    )
    def test_a_message_has_the_value_and_the_reason(self, settings, given, said):
        """The hint has the remedy."""
        settings.SITEMAPS_PLUS = given
        assert check_settings()[0].msg == said

    def test_files_need_a_place(self, settings):
        """An error in production, a warning while the project is new."""
        settings.CACHES = SHARED
        settings.MEDIA_ROOT = ""
        assert ids(check_settings()) == ["E005"]
        settings.DEBUG = True
        assert ids(check_settings()) == ["W004"]

    def test_without_an_origin_debug_only_warns(self, settings):
        """The request's host stands in."""
        settings.SITEMAPS_PLUS = {}
        settings.DEBUG = True
        assert ids(check_settings()) == ["W001"]

    def test_a_cache_of_one_process_is_not_enough(self, settings):
        """Each process would plan for itself."""
        assert ids(check_settings()) == ["W002"]


class TestUrls:
    def test_urls_that_are_not_included_are_missed(self):
        """An index could not name its pages."""
        assert check_urls() == []
        with override_settings(ROOT_URLCONF="django.contrib.auth.urls"):
            assert ids(check_urls()) == ["E007"]


class Elsewhere:
    """A URLconf that includes ours below the root."""

    urlpatterns = [path("maps/", include("django_sitemaps_plus.urls"))]


class Behind:
    """A URLconf where another view answers /robots.txt first."""

    urlpatterns = [
        path("robots.txt", lambda request: HttpResponse("mine")),
        path("", include("django_sitemaps_plus.urls")),
    ]


class TestRobots:
    @pytest.mark.parametrize(
        ("robots", "expected"),
        [
            (None, []),
            ({}, []),
            ("User-agent: *", ["E024"]),
            ({"RULE": []}, ["E024"]),
            ({"RULES": [{"DISALOW": "/admin/"}]}, ["E024"]),
            ({"RULES": ["/admin/"]}, ["E024"]),
            ({"RULES": {"USER_AGENT": []}}, ["E024"]),
            ({"RULES": {"DISALLOW": ["admin/", "/a\nAllow: /"]}}, ["E024", "E024"]),
            ({"RULES": {"CRAWL_DELAY": "10"}}, ["E024"]),
            ({"EXTRA": "Host: x\nDisallow: /"}, ["E024"]),
            ({"SITEMAPS": ["/sitemap.xml"]}, ["E024"]),
            ({"RULES": {"DISALLOW": "/sitemap"}}, ["W020"]),
            ({"RULES": {"DISALLOW": "/*.xml$"}}, ["W020"]),
            ({"RULES": {"DISALLOW": "/", "ALLOW": "/products/"}}, ["W020"]),
            ({"RULES": {"DISALLOW": "/", "ALLOW": "/sitemap"}}, []),
            ({"RULES": {"USER_AGENT": "GPTBot", "DISALLOW": "/"}}, []),
            ({"RULES": {"DISALLOW": "/admin/"}}, []),
            ({"EXTRA": "#" * 512_000}, ["W022"]),
        ],
    )
    def test_what_crawlers_would_misread_is_named(self, settings, robots, expected):
        """A message for each fault; a site that is closed on purpose has none."""
        settings.SITEMAPS_PLUS = {**BASE, "ROBOTS": robots}
        assert ids(check_robots()) == expected

    def test_rules_that_keep_crawlers_from_a_page_are_named(self, settings):
        """The index alone is of no use."""
        settings.SITEMAPS_PLUS = {**BASE, "ROBOTS": {"RULES": {"DISALLOW": "/*-1."}}}
        with temporary_registry() as sections:
            assert ids(check_robots()) == []
            sections.register("pages", ViewSource)
            assert ids(check_robots()) == ["W020"]

    def test_the_closest_key_is_proposed(self, settings):
        """For a key that was mistyped."""
        settings.SITEMAPS_PLUS = {**BASE, "ROBOTS": {"RULES": {"disallow": "/"}}}
        (message,) = check_robots()
        assert "'DISALLOW'" in message.msg

    @pytest.mark.parametrize("urlconf", [Elsewhere, Behind])
    def test_a_file_that_crawlers_do_not_find_is_named(self, settings, urlconf):
        """They look at the root of the host only, and get one answer."""
        settings.SITEMAPS_PLUS = {**BASE, "ROBOTS": {}}
        settings.ROOT_URLCONF = urlconf
        assert ids(check_robots()) == ["W021"]

    def test_a_project_under_a_path_has_no_robots(self, settings):
        """Its /robots.txt is another's."""
        base = "https://example.com/app"
        settings.SITEMAPS_PLUS = {"BASE_URL": base, "ROBOTS": {}}
        assert ids(check_robots()) == ["W021"]


HIS_AUTHOR = Author.objects.filter(pk=OuterRef("author"), name="x")
TAGGED = Book.objects.filter(pk=OuterRef("pk"), tags__name="x")

# What the rows of another model let in, and of which.
INNER = {
    "Exists": (lambda books: books.filter(Exists(HIS_AUTHOR)), Author),
    "not Exists": (lambda books: books.filter(~Exists(HIS_AUTHOR)), Author),
    "in": (lambda books: books.filter(author__in=Author.objects.all()), Author),
    "Subquery": (
        lambda books: books.alias(
            x=Subquery(HIS_AUTHOR.values("name")[:1]),
        ).filter(x="x"),
        Author,
    ),
    "case": (
        lambda books: books.alias(
            x=Case(When(Exists(HIS_AUTHOR), then=Value(1)), default=Value(0))
        ).filter(x=1),
        Author,
    ),
    "joined": (lambda books: books.filter(Exists(TAGGED)), Tag),
    "excluded": (lambda books: books.exclude(tags__name="x"), Tag),
    "relation": (lambda books: books.exclude(tags=5), Tag),
    "nested": (
        lambda books: books.filter(
            pk__in=Book.objects.filter(author__in=Author.objects.filter(name="x"))
        ),
        Author,
    ),
    "union": (
        lambda books: books.filter(
            author__in=Author.objects.filter(name="x").union(Author.objects.all())
        ),
        Author,
    ),
}


class TestSources:
    @pytest.mark.parametrize(
        ("attributes", "expected"),
        [
            ({}, []),
            ({"limit": 50_001}, ["E011"]),
            ({"limit": 0}, ["E011"]),
            ({"on_error": "ignore"}, ["E012"]),
            ({"model": None}, ["E013"]),
            ({"key": "nothing"}, ["E014"]),
            ({"key": "name"}, ["E016", "E018"]),
            ({"key": "popularity"}, ["E016", "E017", "E018", "E019"]),
            ({"key": "slug"}, []),
            ({"location": Route("nowhere", slug="slug")}, ["E021"]),
            ({"location": Route("no:where", slug="slug")}, ["E021"]),
            ({"location": Route("product-detail", pk="pk")}, ["E021"]),
            ({"lastmod": "changed"}, ["E022"]),
            ({"location": Route("product-detail", slug="label")}, ["E022"]),
            ({"changefreq": "sometimes"}, ["E022"]),
            ({"lastmod": "created_on"}, ["W003"]),
            ({"lastmod": "updated_at"}, []),
            ({"priority": Value(1) + Value("a")}, ["E023"]),
        ],
    )
    def test_a_source_that_cannot_work_is_named(self, attributes, expected):
        """One message a fault; none without."""
        assert ids_of(**attributes) == expected

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
    def test_a_model_that_only_a_filter_names_is_not_heard(
        self, filters, attributes, expected
    ):
        """Watched, or at the end of a declared path, it is."""
        found = ids_of(
            model=Book,
            location=Route("book-detail", slug="slug"),
            get_queryset=lambda self: Book.objects.filter(**filters),
            **attributes,
        )
        assert found == expected

    @pytest.mark.parametrize(
        ("attributes", "expected"),
        [({}, ["W009"]), ({"priority": Count("cast__name") * 0.1}, [])],
    )
    def test_a_model_between_is_heard_where_a_declared_path_crosses_it(
        self, attributes, expected
    ):
        """It is named like any other of the project's models where none does."""
        found = ids_of(
            model=Film,
            location=Route("book-detail", slug="slug"),
            get_queryset=lambda self: Film.objects.filter(cast__name="x"),
            **attributes,
        )
        assert found == expected

    @pytest.mark.parametrize("name", INNER)
    def test_a_model_that_only_an_inner_query_names_is_not_heard(self, name):
        """The message names it; watched, it is heard."""
        change, model = INNER[name]
        declared = {
            "model": Book,
            "location": Route("book-detail", slug="slug"),
            "get_queryset": lambda self: change(Book.objects.all()),
        }
        (message,) = messages_of(**declared)
        assert message.id == "sitemaps_plus.W009"
        assert f"rows of {model._meta.label}," in message.msg
        assert ids_of(**declared, watch={model: "book"}) == []

    def test_a_model_that_only_a_declared_query_names_is_not_heard(self):
        """What it says of a page changes with rows of that model."""
        declared = {
            "model": Book,
            "location": Route("book-detail", slug="slug"),
            "priority": Case(When(Exists(HIS_AUTHOR), then=Value(0.9))),
        }
        assert ids_of(**declared) == ["W009"]
        assert ids_of(**declared, watch={Author: "book"}) == []

    def test_an_inner_query_of_its_own_rows_is_heard(self):
        """They are saved under the name that it lists."""
        rows = Product.objects.filter(pk__in=Product.objects.filter(published=True))
        assert ids_of(get_queryset=lambda self: rows) == []

    def test_a_child_is_heard_with_its_parent(self):
        """They share the row."""
        slug = {"slug__startswith": "a"}
        assert (
            ids_of(model=Cafe, get_queryset=lambda _: Cafe.objects.filter(**slug)) == []
        )

    @pytest.mark.parametrize(
        ("watch", "expected"), [({}, ["W009"]), ({Theatre: "show"}, [])]
    )
    def test_who_hears_a_child_hears_its_parent(self, watch, expected):
        """A column that it inherits is in the parent's table."""
        found = ids_of(
            model=Show,
            get_queryset=lambda self: Show.objects.filter(theatre__slug="x"),
            watch=watch,
        )
        assert found == expected

    def test_a_parent_from_which_no_path_leads_is_named(self):
        """Where the link to it is hidden, watching the child does not watch it."""
        found = ids_of(
            model=Room,
            location=Route("book-detail", slug="pk"),
            get_queryset=lambda self: Room.objects.filter(annex__slug="x"),
            watch={Annex: "room"},
        )
        assert found == ["W009"]

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
    def test_a_watched_path_that_leads_to_the_rows_is_right(self, model, watch):
        """Whatever part of them, as long as it has their key."""
        location = Route("book-detail", slug="pk")
        assert ids_of(model=model, location=location, watch=watch) == []

    @pytest.mark.parametrize(
        ("watch", "said"),
        [
            ({Tag: "pk"}, "'pk'"),
            ({Tag: ""}, "''"),
            ({Tag: "name"}, "testapp.Tag.name is not a relation"),
            ({Tag: "book_set"}, "'book_set'"),
            ({Tag: "book__nowhere"}, "'book__nowhere'"),
            ({Tag: "book__slug"}, "testapp.Book.slug is not a relation"),
            ({Tag: "book__author"}, "leads to testapp.Author"),
            ({Tag: 5}, "5"),
            ({"testapp.Tag": "book"}, "'testapp.Tag'"),
            ({Nothing: "book"}, "Nothing"),
            ([Tag], "watch is ["),
        ],
    )
    def test_a_watched_path_that_leads_elsewhere_is_named(self, watch, said):
        """With its model and its section, and what to write instead."""
        declared = {"model": Book, "location": Route("book-detail", slug="slug")}
        (message,) = messages_of(**declared, watch=watch)
        assert message.id == "sitemaps_plus.E027"
        assert message.msg.startswith("Section 'checked': ")
        assert said in message.msg
        assert "testapp.Book" in message.hint

    def test_the_relations_to_the_rows_are_proposed(self):
        """For a path that was mistyped."""
        declared = {"model": Book, "location": Route("book-detail", slug="slug")}
        (message,) = messages_of(**declared, watch={Tag: "book_set"})
        assert "'book'" in message.hint

    @pytest.mark.parametrize(
        ("model", "watch"), [(Venue, {Show: "theatre"}), (Theatre, {Tag: "venue"})]
    )
    def test_a_watched_path_to_a_row_with_another_key_is_named(self, model, watch):
        """The pages of other rows would be built for it."""
        location = Route("book-detail", slug="pk")
        assert ids_of(model=model, location=location, watch=watch) == ["E027"]

    def test_a_key_of_several_columns_is_refused(self):
        """Pages are ranges of one."""
        assert "E015" in ids_of(model=Composite, location="/x/")

    def test_an_object_must_have_a_location(self):
        """Declared, or its own."""
        assert ids_of(model=Author, location=None) == ["E020"]

    def test_a_view_must_have_a_url(self):
        """Each of those listed."""
        source = type("Views", (ViewSource,), {"views": ["home", "nowhere"]})
        with temporary_registry() as sections:
            sections.register("views", source)
            assert ids(check_sources()) == ["E021"]

    def test_a_name_must_fit_a_url(self):
        """However it came into the registry."""
        source = type("Views", (ViewSource,), {"views": ["home"]})
        with temporary_registry():
            registry._registry["No Name"] = source()
            assert ids(check_sources()) == ["E010"]
