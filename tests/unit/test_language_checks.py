"""The checks of the languages that a source lists."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.sitemaps import Sitemap
from django.core.checks import CheckMessage
from django.db import models
from django.test import override_settings
from django.test.utils import isolate_apps
from django.utils import translation

from django_sitemaps_plus import ModelSource, Route, ViewSource
from django_sitemaps_plus.checks import check_sources
from django_sitemaps_plus.checks.languages import check_languages
from django_sitemaps_plus.testing import temporary_registry
from tests.support.testapp.models import Product

pytestmark = pytest.mark.urls("tests.support.urls_i18n")

ROUTE = Route("product-detail", slug="slug")


@pytest.fixture(autouse=True)
def locale_middleware(settings: Any) -> None:
    """Have what the patterns of languages need."""
    settings.MIDDLEWARE = ["django.middleware.locale.LocaleMiddleware"]


def found(kind: Any = ModelSource, **attributes: Any) -> list[CheckMessage]:
    """Return what the checks say of a source."""
    source = type("Listed", (kind,), {"model": Product, **attributes})
    with temporary_registry() as sections:
        sections.register("listed", source)
        return check_sources()


@pytest.mark.parametrize(
    "attributes",
    [
        {"languages": "all"},
        {"languages": ["de", "fr"], "location": ROUTE},
        {"languages": ["de", "en"], "x_default": True},
        {"languages": ["de"], "get_languages": lambda self, row: ["de"]},
    ],
)
def test_nothing_is_said_of_what_works(attributes):
    assert found(**attributes) == []


@pytest.mark.parametrize(
    ("attributes", "expected", "words"),
    [
        ({"languages": "de"}, "E050", "languages = ['de']"),
        ({"languages": None}, "E050", "Write languages = ['en', 'de']"),
        ({"languages": {"en", "de"}}, "E050", "not a list"),
        ({"languages": ["de", "it"]}, "E050", "'it', which LANGUAGES lacks"),
        ({"languages": [("de", "German")], "location": ROUTE}, "E050", "'German'"),
        ({"languages": "all", "alternates": "name"}, "E051", "Remove alternates"),
        ({"x_default": True}, "E051", 'Write languages = "all", or remove x_default.'),
        ({"get_languages": "name"}, "E051", "get_languages without languages"),
        ({"languages": ["de"], "x_default": True}, "E051", "LANGUAGE_CODE 'en-us'"),
    ],
)
def test_what_does_not_fit_is_named(attributes, expected, words):
    """With the value and the remedy."""
    [message] = found(**attributes)
    assert message.id == f"sitemaps_plus.{expected}"
    assert words in f"{message.msg} {message.hint}"


@pytest.mark.parametrize(
    ("code", "meant"), [("jp", "'ja'"), ("en-uk", "'en-GB'"), ("de-formal", "")]
)
@pytest.mark.parametrize("kind", [ModelSource, Sitemap])
def test_a_language_that_engines_do_not_know(kind, code, meant, settings):
    """Of a source and of a contrib class, by LANGUAGES; it is listed all the same."""
    settings.LANGUAGES = [("en", "English"), (code, "Other")]
    given = {"languages": "all"} if kind is ModelSource else {"i18n": True}
    messages = [it for it in found(kind, **given) if it.id == "sitemaps_plus.W043"]
    [message] = messages
    assert repr(code) in message.msg
    assert meant in message.msg


@pytest.mark.parametrize(
    ("model", "path", "is_named"),
    [
        ("InColumns", "slug", True),
        ("InColumns", "slug_{language}", False),
        ("InTable", "slug", True),
        ("InTable", "code", False),
        ("Child", "parent__slug", True),
        ("Child", "parent__slug_{language}", False),
        ("Child", "slug", False),
    ],
)
def test_a_slug_of_which_each_language_has_its_own(model, path, is_named):
    """In columns, in a table, or behind a relation; the path to write is named."""
    with isolate_apps("tests.support.testapp"):

        class InColumns(models.Model):  # noqa: DJ008 - nobody reads it
            slug = models.SlugField(unique=True)
            slug_de = models.SlugField(blank=True)

            class Meta:
                app_label = "testapp"

        class InTable(models.Model):  # noqa: DJ008 - nobody reads it
            slug = models.SlugField()
            code = models.SlugField()

            class Meta:
                app_label = "testapp"

        class Translation(models.Model):  # noqa: DJ008 - nobody reads it
            master = models.ForeignKey(InTable, models.CASCADE)
            language_code = models.CharField(max_length=15)
            slug = models.SlugField()

            class Meta:
                app_label = "testapp"

        class Child(models.Model):  # noqa: DJ008 - nobody reads it
            parent = models.ForeignKey(InColumns, models.CASCADE)
            slug = models.SlugField()

            class Meta:
                app_label = "testapp"

        route = Route("product-detail", slug=path)
        languages = check_languages(
            type(
                "Listed",
                (ModelSource,),
                {
                    "model": locals()[model],
                    "location": route,
                    "languages": ["en", "de"],
                },
            )()
        )
        messages = list(languages)
    assert [it.id for it in messages] == ["sitemaps_plus.W045"] * is_named
    assert all(f"{path}_{{language}}" in it.hint for it in messages)


@pytest.mark.urls("tests.support.urls")  # i18n_patterns() would keep the setting
def test_languages_need_internationalization(settings, monkeypatch):
    """Django keeps for a process what the setting was at first; here it may not."""
    monkeypatch.setattr(translation, "_trans", type(translation._trans)())
    settings.USE_I18N = False
    assert "USE_I18N" in found(languages="all")[0].msg


@pytest.mark.urls("tests.support.urls")
def test_one_url_for_all_languages_is_an_error_of_views():
    """Each such view is named, unless not every one has all languages."""
    given = {"views": ["home"], "languages": "all"}
    [message] = found(ViewSource, **given)
    assert message.id == "sitemaps_plus.E052"
    assert "'home'" in message.msg
    assert found(ViewSource, get_languages=lambda self, view: ["de"], **given) == []


def test_a_route_without_a_pattern_is_no_fault_of_languages():
    """Nor is a language that is named twice."""
    [message] = found(languages=["de", "de"], location=Route("nothing"))
    assert message.id == "sitemaps_plus.E021"
    assert found(languages=["de", "de"], location=ROUTE) == []


@pytest.mark.urls("tests.support.urls")
def test_one_url_for_all_languages_is_an_error():
    """Unless a field of each language makes them differ."""
    assert [it.id for it in found(languages="all", location=ROUTE)] == [
        "sitemaps_plus.E052"
    ]
    origins = {"LANGUAGE_ORIGINS": {"de": "https://shop.example.de"}}
    with override_settings(SITEMAPS_PLUS=origins):  # where they differ
        assert found(languages=["de", "en"], location=ROUTE) == []
        given = {"views": ["home"], "languages": ["de", "en"]}
        assert found(ViewSource, **given) == []
    fields = Route("product-detail", slug="slug_{language}")
    found_ids = [it.id for it in found(languages="all", location=fields)]
    assert "sitemaps_plus.E052" not in found_ids
    assert found_ids[0] == "sitemaps_plus.E022"  # there is no such field
