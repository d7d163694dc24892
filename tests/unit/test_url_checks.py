"""The checks of URLs: the index and its pages must lead to our views, at the root."""

from __future__ import annotations

from typing import Any

import pytest
from django.conf.urls.i18n import i18n_patterns
from django.http import HttpRequest, HttpResponse
from django.urls import include, path, re_path, register_converter
from django.urls.converters import StringConverter

from django_sitemaps_plus import Route, ViewSource
from django_sitemaps_plus.checks import check_robots, check_sources, check_urls
from django_sitemaps_plus.testing import temporary_registry
from tests.support.shop import limited

from .test_checks import ids

OURS = "django_sitemaps_plus.urls"


def page(request: HttpRequest, **kwargs: Any) -> HttpResponse:
    """Answer anything."""
    return HttpResponse()


class Root:
    urlpatterns = [path("<slug:page>/", page), path("", include(OURS))]


class CatchesLater:
    urlpatterns = [path("", include(OURS)), path("<path:page>", page)]


class NoDefaultPrefix:
    urlpatterns = [
        *i18n_patterns(path("about/", page), prefix_default_language=False),
        path("", include(OURS)),
    ]


class Missing:
    urlpatterns = [path("", page)]


class Named:
    urlpatterns = [path("", include(([path("", include(OURS))], "seo")))]


class Below:
    urlpatterns = [path("maps/", include(OURS))]


class OfLanguage:
    urlpatterns = [*i18n_patterns(path("", include(OURS)))]


class OfFile:
    urlpatterns = [path("sitemap.xml", include(OURS))]


class Behind:
    urlpatterns = [path("<path:page>", page), path("", include(OURS))]


class PagesBehind:
    urlpatterns = [re_path("^sitemap-.*", page), path("", include(OURS))]


class BehindContrib:
    urlpatterns = [path("sitemap.xml", page), path("", include(OURS))]


@pytest.mark.parametrize("urlconf", [Root, CatchesLater, NoDefaultPrefix])
def test_the_root_is_fine(settings, urlconf):
    """Whatever else there is, as long as our views answer."""
    settings.ROOT_URLCONF = urlconf
    assert check_urls() == []


@pytest.mark.parametrize(
    ("urlconf", "expected", "said"),
    [
        (Missing, ["W038"], "does not include the sitemaps"),
        (Named, ["W038"], "without a namespace"),
        (Below, ["W031"], "below /maps/. The protocol lets a sitemap list only URLs"),
        (OfLanguage, ["W031"], "outside of i18n_patterns()"),
        (OfFile, ["E032"], "The index is at /sitemap.xmlsitemap.xml"),
        (Behind, ["E031"], "/sitemap.xml leads to tests.unit.test_url_checks."),
        (PagesBehind, ["E031"], "/sitemap-pages-1.xml leads to "),
        (BehindContrib, ["E031"], "before what answers it now"),
    ],
)
def test_a_wrong_place_is_named(settings, urlconf, expected, said):
    """With what answers there, and what to write."""
    settings.ROOT_URLCONF = urlconf
    found = check_urls()
    assert ids(found) == expected
    assert said in f"{found[0].msg} {found[0].hint}"
    assert 'path("", include("django_sitemaps_plus.urls"))' in found[0].hint


@pytest.mark.parametrize(("urlconf", "expected"), [(Root, "E021"), (Missing, "W059")])
def test_urls_of_other_tests_stop_no_suite(settings, urlconf, expected):
    """Names that they lack are Errors only beside our URLs."""
    settings.ROOT_URLCONF = urlconf
    views = type("Views", (ViewSource,), {"views": ["nowhere"]})
    with temporary_registry() as registry:
        registry.register("views", views)
        registry.register("rows", limited(10, location=Route("nowhere", slug="slug")))
        assert ids(check_sources()) == [expected] * 2


def test_a_project_under_a_path_is_fine(settings):
    """There the directory is that of the site."""
    settings.FORCE_SCRIPT_NAME = "/app"
    settings.ROOT_URLCONF = Root
    assert check_urls() == []


class Asking(StringConverter):
    """A converter that looks its value up, as in a table."""

    def to_python(self, value: str) -> str:
        """Find nothing."""
        raise LookupError(value)


def test_a_converter_that_needs_rows_is_a_warning(settings):
    """Django asks it before our patterns, where it comes first."""
    register_converter(Asking, "sitemaps_plus_asking")
    patterns = [path("<sitemaps_plus_asking:page>", page), path("", include(OURS))]
    settings.ROOT_URLCONF = type("Urls", (), {"urlpatterns": patterns})
    [message] = check_urls()
    assert ids([message]) == ["W037"]
    assert "LookupError: sitemap.xml" in message.msg
    settings.SITEMAPS_PLUS = {"BASE_URL": "https://example.com", "ROBOTS": {}}
    assert ids(check_robots()) == ["W037"]
