"""A request never influences a byte: not what is around it, nor an origin."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.core.handlers.wsgi import WSGIHandler
from django.core.management import CommandError, call_command
from django.core.signals import request_started
from django.db import close_old_connections
from django.test import Client
from django.urls import clear_script_prefix, get_script_prefix, get_urlconf
from django.utils import timezone, translation

from django_sitemaps_plus import ModelSource, views
from tests.support.builds import build_fully
from tests.support.documents import locs, read_index
from tests.support.shop import ProductSource, make_products
from tests.support.testapp.models import Product

LOCALE = "django.middleware.locale.LocaleMiddleware"
MINE = "tests.support.middleware"
PAGE = "/sitemap-products-1.xml"
PATHS = ("/sitemap.xml", "/sitemap-declared-1.xml", "/sitemap-methods-1.xml")

COMMANDS = [
    ["build_sitemaps"],
    ["build_sitemaps", "--dry-run"],
    ["check_sitemaps", "--sources"],
    ["notify_search_engines"],
    ["prune_sitemaps"],
    ["sitemap_status"],
]


class Methods(ModelSource):
    model = Product

    def location(self, product: Product) -> str:
        path = product.get_absolute_url()
        zone = timezone.get_current_timezone_name().replace("/", "-")
        return f"{path}?{translation.get_language()}&{zone}"

    def lastmod(self, product: Product) -> Any:
        return timezone.localdate(product.updated_at)


@pytest.fixture
def registered(sections: Any, settings: Any) -> None:
    settings.ROOT_URLCONF = "tests.support.urls_i18n"
    settings.LANGUAGE_CODE = "de"
    settings.LANGUAGES = [("de", "Deutsch"), ("en", "English"), ("fr", "French")]
    make_products(3)
    sections.register("declared", ProductSource)
    sections.register("methods", Methods)


@pytest.fixture
def keep_connections() -> Iterator[None]:
    """Let a request of a real server use the connection of the test."""
    request_started.disconnect(close_old_connections)
    yield
    request_started.connect(close_old_connections)


@pytest.fixture
def among(settings: Any) -> Callable[[str], Client]:
    """Return what gives a client of a project with one more middleware."""

    def among(middleware: str) -> Client:
        settings.MIDDLEWARE = [*settings.MIDDLEWARE, middleware]
        return Client()  # one that was used has the old middleware

    return among


def surroundings(client: Client, **options: Any) -> list[str]:
    """Return what an ordinary view has around it, to know that it is influenced."""
    return client.get("/surroundings/", **options).content.decode().split()


def served(client: Any, **options: Any) -> dict[str, bytes]:
    return {path: client.get(path, **options).content for path in PATHS}


def test_the_surroundings_are_those_of_the_settings(registered, client):
    """Default language, TIME_ZONE and ROOT_URLCONF; a command has others too."""
    expected = served(client)
    url = "https://example.com/de/products/product-00000/"
    assert locs(expected[PATHS[1]])[0] == url
    assert locs(expected[PATHS[2]])[0] == f"{url}?de&Europe-Berlin"
    with translation.override("fr"), timezone.override("Asia/Tokyo"):
        build_fully()
    for path in PATHS[1:]:
        assert client.get(path).content == expected[path]


@pytest.mark.parametrize("is_built", [False, True])
class TestRequests:
    """Each of these changes what an ordinary view would say."""

    @pytest.fixture(autouse=True)
    def expected(self, registered, is_built, client):
        """Return what a request without frills gets; leave no language behind."""
        if is_built:
            build_fully()
        yield served(client)
        translation.deactivate()
        timezone.deactivate()
        clear_script_prefix()

    def test_accept_language(self, among, expected):
        client = among(LOCALE)
        headers = {"Accept-Language": "en;q=0.1,fr"}
        assert surroundings(client, headers=headers)[0] == "fr"
        assert served(client, headers=headers) == expected

    def test_script_name(self, rf, expected, keep_connections):
        """Where the server mounts the project is not where the site is."""
        handler = WSGIHandler()  # the test client's own sets no prefix
        for path in PATHS:
            environ = rf.get(path, SCRIPT_NAME="/mounted").environ
            response = handler(environ, lambda *args: None)
            assert get_script_prefix() == "/mounted/"
            assert b"".join(response) == expected[path]

    @pytest.mark.parametrize(
        ("middleware", "influenced"),
        [
            ("other_urlconf", ["de", "Europe/Berlin", "/other/x/"]),
            ("other_surroundings", ["fr", "Asia/Tokyo", "/elsewhere/fr/products/x/"]),
        ],
    )
    def test_what_middleware_has_activated(
        self, among, expected, middleware, influenced
    ):
        client = among(f"{MINE}.{middleware}")
        assert surroundings(client) == influenced
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


@pytest.fixture
def product(sections: Any) -> None:
    make_products(1)
    sections.register("products", ProductSource)


@pytest.mark.usefixtures("product")
class TestOrigin:
    @pytest.mark.parametrize(
        ("base_url", "origin", "path"),
        [
            ("https://shop.example/", "https://shop.example", ""),
            ("http://shop.example:8080", "http://shop.example:8080", ""),
            ("https://shop.example/app", "https://shop.example", "/app"),
            ("https://Bücher.example/ü", "https://xn--bcher-kva.example", "/%C3%BC"),
        ],
    )
    def test_locations_begin_with_it(self, client, settings, base_url, origin, path):
        settings.SITEMAPS_PLUS = {"BASE_URL": base_url}
        assert list(read_index(client.get("/sitemap.xml").content)) == [
            f"{origin}{path}{PAGE}"
        ]
        assert locs(client.get(PAGE).content) == [
            f"{origin}{path}/products/product-00000/"
        ]
        settings.FORCE_SCRIPT_NAME = "/forced"
        assert locs(client.get(PAGE).content) == [
            f"{origin}/forced/products/product-00000/"
        ]

    @pytest.mark.parametrize("debug", [False, True])
    def test_the_current_site_is_https(self, client, settings, django_site, debug):
        """contrib.sites knows no scheme; DEBUG helps only where nothing else does."""
        settings.SITEMAPS_PLUS, settings.DEBUG = {}, debug
        response = client.get(PAGE, headers={"Host": "elsewhere.example"})
        assert locs(response.content) == [
            "https://sites.example/products/product-00000/"
        ]
        settings.SITEMAPS_PLUS = {"SCHEME": "http"}
        assert list(read_index(client.get("/sitemap.xml").content)) == [
            f"http://sites.example{PAGE}"
        ]

    def test_with_neither_the_host_is_used_under_debug(self, client, settings):
        """For a first look, and each host has entries of its own."""
        settings.SITEMAPS_PLUS, settings.DEBUG = {}, True
        for host in ("localhost:8000", "127.0.0.1:8000"):
            response = client.get(PAGE, headers={"Host": host})
            assert locs(response.content) == [f"http://{host}/products/product-00000/"]

    @pytest.mark.parametrize("path", ["/sitemap.xml", PAGE, f"{PAGE}.gz"])
    def test_with_neither_there_is_no_sitemap(self, client, settings, messages, path):
        """Without DEBUG the request never gives the origin."""
        settings.SITEMAPS_PLUS = {}
        assert client.get(path).status_code == 503
        assert "Set SITEMAPS_PLUS['BASE_URL']" in messages("live_failed")[0]

    def test_nor_without_a_current_site(self, client, settings, django_site, messages):
        """SITE_ID is missing."""
        settings.SITEMAPS_PLUS = {}
        del settings.SITE_ID
        assert client.get(PAGE).status_code == 503
        assert "Set SITE_ID" in messages("live_failed")[0]

    @pytest.mark.parametrize("command", COMMANDS)
    def test_commands_say_what_to_do(self, settings, command):
        settings.SITEMAPS_PLUS = {}
        with pytest.raises(CommandError, match=r"SITEMAPS_PLUS\['BASE_URL'\]"):
            call_command(*command, skip_checks=True)
