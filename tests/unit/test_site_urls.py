"""The stylesheet by which browsers show sitemaps: where it is, and whether there is."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.sitemaps import GenericSitemap
from django.contrib.staticfiles import finders
from django.core.files.storage import InMemoryStorage
from django.test import modify_settings

from django_sitemaps_plus.conf import AppSettings, Site
from django_sitemaps_plus.site_urls import has_feed, stylesheet_url
from django_sitemaps_plus.testing import temporary_registry
from tests.integration.sources import contrib_zoo

SITE = Site("default", "https://shop.example", "/app/")
INSTALLED = modify_settings(INSTALLED_APPS={"append": "django.contrib.staticfiles"})
HASHED = "django.contrib.staticfiles.storage.ManifestStaticFilesStorage"


@INSTALLED
@pytest.mark.parametrize(
    ("static_url", "expected"),
    [
        ("/static/", "/static/sitemaps_plus/sitemap.css"),
        ("static/", "/app/static/sitemaps_plus/sitemap.css"),
        ("https://cdn.example/s/", "https://cdn.example/s/sitemaps_plus/sitemap.css"),
    ],
)
def test_it_is_below_static_url(settings, static_url, expected):
    """With hashed names too: collectstatic keeps the others, and need not run."""
    settings.STORAGES = {**settings.STORAGES, "staticfiles": {"BACKEND": HASHED}}
    settings.STATIC_URL = static_url
    assert stylesheet_url(SITE) == expected
    assert finders.find(AppSettings().stylesheet)


def test_without_static_files_there_is_none(settings):
    """Browsers show a file as one line if its stylesheet is missing."""
    settings.STATIC_URL = "/static/"
    assert stylesheet_url(SITE) == ""


@INSTALLED
@pytest.mark.parametrize(
    "backend", ["no.such.Storage", "", f"{__name__}.Remote"], ids=str
)
def test_a_storage_elsewhere_has_none(settings, backend):
    """Its URLs may be signed, and would change each page with each build."""
    settings.STORAGES = {**settings.STORAGES, "staticfiles": {"BACKEND": backend}}
    assert stylesheet_url(SITE) == ""


class Remote(InMemoryStorage):
    """A storage that serves its files by itself."""


@INSTALLED
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, ""),
        ("", ""),
        ("shop/my map.css", "/static/shop/my%20map.css"),
        ("/own.css", "/own.css"),
        ("https://cdn.example/own.css", "https://cdn.example/own.css"),
    ],
)
def test_it_may_be_another(settings: Any, configure: Any, value, expected):
    settings.STATIC_URL = "/static/"
    configure(STYLESHEET=value)
    assert stylesheet_url(SITE) == expected


@pytest.mark.parametrize(
    ("name", "is_expected"),
    [("Plain", True), ("ConstantLastmod", True), ("OfNames", False), ("OwnUrls", True)],
)
@pytest.mark.parametrize("make", [lambda kind: kind, lambda kind: kind()])
def test_a_contrib_class_without_lastmod_has_no_feed(make, name, is_expected):
    """So no hub is told of one; a class with its own pages may write dates itself."""
    with temporary_registry() as registry:
        registry.register("given", make(getattr(contrib_zoo, name)))
        assert has_feed("given") is is_expected
        registry.register("made", lambda: contrib_zoo.OfNames())
        registry.register("generic", GenericSitemap({"queryset": []}))
        assert not has_feed("generic")  # without a date_field
        assert has_feed("made")  # what it makes is not asked
