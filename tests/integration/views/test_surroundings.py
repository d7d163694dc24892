"""A request never influences a byte."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.handlers.wsgi import WSGIHandler
from django.core.signals import request_started
from django.db import close_old_connections
from django.urls import clear_script_prefix, get_script_prefix, get_urlconf
from django.utils import timezone, translation

from django_sitemaps_plus import ModelSource, Route, views
from tests.integration.builds import build
from tests.integration.documents import locs
from tests.integration.shop import make_products
from tests.testapp.models import Product

pytestmark = pytest.mark.django_db

MINE = "tests.integration.middleware"
PATHS = ("/sitemap.xml", "/sitemap-declared-1.xml", "/sitemap-methods-1.xml")


class Declared(ModelSource):
    """By a route."""

    model = Product
    location = Route("product-detail", slug="slug")
    lastmod = "updated_at"


class Methods(ModelSource):
    """By methods that depend on all that surrounds them."""

    model = Product

    def location(self, product: Product) -> str:
        """Put the surroundings into the URL."""
        path = product.get_absolute_url()
        zone = timezone.get_current_timezone_name().replace("/", "-")
        return f"{path}?{translation.get_language()}&{zone}"

    def lastmod(self, product: Product) -> Any:
        """Return the date of the day, which is another one elsewhere."""
        return timezone.localdate(product.updated_at)


@pytest.fixture(autouse=True)
def registered(sections: Any, settings: Any) -> None:
    """Have two sections, and languages in URLs."""
    settings.ROOT_URLCONF = "tests.integration.urls_i18n"
    settings.LANGUAGE_CODE = "de"
    settings.LANGUAGES = [("de", "Deutsch"), ("en", "English"), ("fr", "French")]
    make_products(3)
    sections.register("declared", Declared)
    sections.register("methods", Methods)


@pytest.fixture
def keep_connections() -> Iterator[None]:
    """Let a request of a real server use the connection of the test."""
    request_started.disconnect(close_old_connections)
    yield
    request_started.connect(close_old_connections)


def served(client: Any) -> dict[str, bytes]:
    return {path: client.get(path).content for path in PATHS}


def test_the_surroundings_are_those_of_the_settings(client):
    """Default language, UTC and ROOT_URLCONF."""
    expected = served(client)
    assert (
        locs(expected[PATHS[1]])[0] == "https://example.com/de/products/product-00000/"
    )
    assert locs(expected[PATHS[2]])[0] == (
        "https://example.com/de/products/product-00000/?de&UTC"
    )


@pytest.mark.parametrize("is_built", [False, True])
class TestRequests:
    """Each of these changes what an ordinary view would say."""

    @pytest.fixture(autouse=True)
    def expected(self, is_built, client):
        """Return what a request without frills gets; leave no language behind."""
        if is_built:
            build()
        yield served(client)
        translation.deactivate()
        timezone.deactivate()
        clear_script_prefix()

    @pytest.mark.parametrize("language", ["fr", "en", "xx", "de;q=0,*"])
    def test_accept_language(self, client, settings, expected, language):
        """LocaleMiddleware activates what the client prefers."""
        settings.MIDDLEWARE = [
            *settings.MIDDLEWARE,
            "django.middleware.locale.LocaleMiddleware",
        ]
        headers = {"Accept-Language": language}
        for path in PATHS:
            response = client.get(path, headers=headers)
            assert response.content == expected[path]
            assert response.status_code == 200

    def test_language_cookie(self, client, settings, expected):
        """The same by cookie."""
        settings.MIDDLEWARE = [
            *settings.MIDDLEWARE,
            "django.middleware.locale.LocaleMiddleware",
        ]
        client.cookies[settings.LANGUAGE_COOKIE_NAME] = "fr"
        assert served(client) == expected

    def test_script_name(self, rf, expected, keep_connections):
        """Where the server mounts the project is not where the site is."""
        handler = WSGIHandler()  # the test client's own sets no prefix
        for path in PATHS:
            environ = rf.get(path, SCRIPT_NAME="/mounted").environ
            response = handler(environ, lambda *args: None)
            assert get_script_prefix() == "/mounted/"
            assert b"".join(response) == expected[path]

    def test_urlconf_of_the_request(self, client, settings, expected):
        """Middleware may choose another URLconf; sitemaps keep to ROOT_URLCONF."""
        settings.MIDDLEWARE = [*settings.MIDDLEWARE, f"{MINE}.other_urlconf"]
        assert served(client) == expected

    def test_language_time_zone_and_prefix_left_active(
        self, client, settings, expected
    ):
        """Whatever middleware has activated."""
        settings.MIDDLEWARE = [*settings.MIDDLEWARE, f"{MINE}.other_surroundings"]
        assert served(client) == expected

    def test_what_was_active_is_active_again(self, client, settings, rf):
        """Rendering leaves no trace in the thread that serves the next request."""
        with translation.override("fr"), timezone.override("Asia/Tokyo"):
            assert views.page(rf.get("/"), "methods", "1").status_code == 200
            assert views.index(rf.get("/")).status_code == 200
            assert translation.get_language() == "fr"
            assert timezone.get_current_timezone_name() == "Asia/Tokyo"
            assert get_script_prefix() == "/"
            assert get_urlconf() is None


def test_a_build_in_other_surroundings_gives_the_same_bytes(client):
    """Who runs the command has a language and a time zone too."""
    expected = served(client)
    with translation.override("fr"), timezone.override("Asia/Tokyo"):
        build()
    for path in PATHS[1:]:
        assert client.get(path).content == expected[path]
