"""The checks of names that a source class has and nothing reads."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.sitemaps import GenericSitemap, Sitemap
from django.utils.functional import SimpleLazyObject, cached_property

from django_sitemaps_plus import Entry, ModelSource, Source, ViewSource
from django_sitemaps_plus.checks import check_sources
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
    """Return what is said of a source."""
    with temporary_registry() as sections:
        sections.register("checked", source)
        return check_sources()


def with_name(base: type, name: str, value: Any = None) -> list[Any]:
    """Return what is said of a class that has a name more than its base."""
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
    """With what to write."""
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
    assert message.id == "sitemaps_plus.W030"
    assert message.hint.startswith(f"Did you mean '{close}'?")


@pytest.mark.parametrize(
    ("base", "name"),
    [
        (ModelSource, "category"),
        (ModelSource, "_items"),
        (ModelSource, "max_age"),
        (ViewSource, "max_age"),
        (Source, "helper"),
        (Sitemap, "max_age"),
        (Sitemap, "changefreq"),
        (Sitemap, "model"),
        (Sitemap, "date_field"),
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
        """Return the rows."""
        return self.queryset.all()

    def images(self, row: Product) -> Any:  # type: ignore[override]
        """Return an image."""
        return [getattr(self, "image") for _ in self.i18n]  # noqa: B009

    @cached_property
    def _protocols(self) -> Any:
        return [(lambda: self.protocol)() for _ in "a"]

    @classmethod
    def location(cls, row: Product) -> str:
        """Return the path."""
        return cls.url(row)


class Mixin:
    """What the project gives its sources."""

    items = None

    def paginator(self) -> None:
        """Do something of the project's own."""


class Mixed(Mixin, ModelSource):
    """It may have what its mixin has."""

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
    """It reads the name from the row, or calls super()."""
    [message] = with_name(ModelSource, "image", lambda self, row: row.image.url)
    assert ids([message]) == ["E030"]


def test_names_of_ancestors_are_named_with_their_class():
    base = type("Base", (ModelSource,), {"items": None, "model": Product})
    [message] = messages_of(type("Checked", (base,), {}))
    assert "Base.items has no effect" in message.msg
