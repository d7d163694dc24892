"""Checks of names that a source class has and nothing reads, and of its languages."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.sitemaps import GenericSitemap, Sitemap
from django.core.checks import CheckMessage
from django.db import models
from django.test.utils import isolate_apps
from django.utils import translation
from django.utils.functional import SimpleLazyObject, cached_property

from django_sitemaps_plus import Entry, ModelSource, Route, Source, ViewSource
from django_sitemaps_plus.checks import check_sources
from django_sitemaps_plus.checks.languages import check_languages
from django_sitemaps_plus.testing import temporary_registry
from tests.support.testapp.models import Product

from .test_checks import ids

BASES: dict[type, dict[str, Any]] = {
    ModelSource: {"model": Product},
    ViewSource: {"views": ["home"]},
    Source: {"entries": lambda self, origin: [Entry(f"{origin}/")]},
    Sitemap: {"items": lambda self: ["home"], "location": lambda self, item: "/"},
}


def messages_of(source: Any) -> list[Any]:
    with temporary_registry() as sections:
        sections.register("checked", source)
        return check_sources()


def with_name(base: type, name: str, value: Any = None) -> list[Any]:
    return messages_of(type("Checked", (base,), {**BASES[base], name: value}))


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
    [message] = with_name(base, name)
    assert message.id == "sitemaps_plus.E030"
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
        *[(Sitemap, it) for it in ("max_age", "changefreq", "model", "date_field")],
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
    assert messages_of(source) == []


def test_lazy_attributes_are_not_woken():
    """They may ask the database."""
    lazy = SimpleLazyObject(lambda: pytest.fail("it was woken"))
    assert with_name(ModelSource, "helper", lazy) == []


def test_a_method_does_not_use_itself():
    messages = with_name(ModelSource, "image", lambda self, row: row.image.url)
    assert ids(messages) == ["E030"]


def test_names_of_ancestors_are_named_with_their_class():
    base = type("Base", (ModelSource,), {"items": None, "model": Product})
    [message] = messages_of(type("Checked", (base,), {}))
    assert "Base.items has no effect" in message.msg


ROUTE = Route("product-detail", slug="slug")


def found(kind: Any = ModelSource, **attributes: Any) -> list[CheckMessage]:
    """Return what the checks say of a source with languages."""
    return messages_of(type("Listed", (kind,), {"model": Product, **attributes}))


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
