"""The one setting, and the site that it describes."""

from __future__ import annotations

from typing import Any

import pytest
from django.core import mail
from django.core.exceptions import ImproperlyConfigured
from django.test import RequestFactory, modify_settings, override_settings

from django_sitemaps_plus.conf import (
    AppSettings,
    Site,
    get_settings,
    get_site,
    is_public,
    notifies_engines,
    parse_base_url,
)
from django_sitemaps_plus.exceptions import ConfigurationError


@pytest.fixture
def sites() -> Any:
    """Install django.contrib.sites; return its model, which must not be queried."""
    with modify_settings(INSTALLED_APPS={"append": "django.contrib.sites"}):
        from django.contrib.sites.models import Site as DjangoSite

        yield DjangoSite


class TestGetSettings:
    def test_everything_has_a_default_that_works(self, settings):
        """No setting at all is fine."""
        settings.SITEMAPS_PLUS = {}
        del settings.SITEMAPS_PLUS  # which alone would tell nobody
        assert get_settings() == AppSettings()
        assert get_settings().unknown == ()

    def test_a_key_is_the_name_of_its_field_in_upper_case(self, settings):
        """And nothing else is a key."""
        settings.SITEMAPS_PLUS = {"BASE_URL": "https://a.example", "PLAN_SECONDS": 5}
        assert get_settings().base_url == "https://a.example"
        assert get_settings().plan_seconds == 5
        assert get_settings().client_cache_seconds == AppSettings().client_cache_seconds
        assert {"BASE_URL", "STORAGE", "LIVE_MAX_ROWS"} <= set(AppSettings.keys())
        assert "UNKNOWN" not in set(AppSettings.keys())

    @pytest.mark.parametrize("key", ["BASEURL", "base_url", "UNKNOWN", "", 5])
    def test_an_unknown_key_is_kept_for_the_check(self, settings, key):
        """Reading the setting never raises."""
        settings.SITEMAPS_PLUS = {key: "x", "CACHE": "other"}
        assert get_settings().unknown == (key,)
        assert get_settings().cache == "other"

    @pytest.mark.parametrize("value", [None, "https://a.example", ["BASE_URL"], 5])
    def test_what_is_no_dict_is_told_from_an_empty_one(self, settings, value):
        """A check says so; until then the defaults hold."""
        settings.SITEMAPS_PLUS = value
        assert get_settings().unknown != ()
        assert get_settings().base_url is None

    def test_it_is_read_once(self, settings):
        """Until it is changed."""
        assert get_settings() is get_settings()

    def test_tests_may_override_it(self):
        """And afterwards it is as before."""
        before = get_settings()
        with override_settings(SITEMAPS_PLUS={"CACHE": "other"}):
            assert get_settings().cache == "other"
        assert get_settings() == before

    def test_another_setting_does_not_matter(self):
        """Its values are kept."""
        before = get_settings()
        with override_settings(DEBUG=True):
            assert get_settings() is before


ENGINES = {"one": {"BACKEND": "django_sitemaps_plus.testing.RecordingEngine"}}
PUBLIC = {"BASE_URL": "https://shop.eu", "ENGINES": ENGINES}


@pytest.fixture
def in_production(monkeypatch, settings) -> None:
    """Look like a process that runs no tests."""
    monkeypatch.delattr(mail, "outbox", raising=False)
    settings.DEBUG = False


class TestTellsEngines:
    def test_a_public_site_in_production_does(self, in_production, settings):
        """Without being told to."""
        settings.SITEMAPS_PLUS = PUBLIC
        assert notifies_engines()

    @pytest.mark.parametrize(
        "given",
        [
            {"ENGINES": {}},
            {"NOTIFY": False},
            {"BASE_URL": "http://localhost:8000"},
            {"BASE_URL": "https://shop.test"},
            {"BASE_URL": None},
            {"BASE_URL": "nonsense"},
        ],
    )
    def test_others_do_not(self, in_production, settings, given):
        """Nobody to tell, switched off, not public, or no site at all."""
        settings.SITEMAPS_PLUS = {**PUBLIC, **given}
        assert not notifies_engines()

    def test_under_debug_it_does_not(self, in_production, settings):
        """A developer's changes are nobody's business."""
        settings.SITEMAPS_PLUS = PUBLIC
        settings.DEBUG = True
        assert not notifies_engines()

    def test_in_tests_it_does_not(self, settings):
        """They have an outbox for mails, of which they are known."""
        assert hasattr(mail, "outbox")
        settings.SITEMAPS_PLUS = PUBLIC
        assert not notifies_engines()

    def test_it_can_be_forced(self, settings):
        """Under DEBUG, in tests and of a site that is not public."""
        settings.DEBUG = True
        settings.SITEMAPS_PLUS = {"ENGINES": ENGINES, "NOTIFY": True}
        assert notifies_engines()

    def test_force_tells_nobody_where_there_is_nobody(self, settings):
        """It still takes an engine."""
        settings.SITEMAPS_PLUS = {**PUBLIC, "ENGINES": {}, "NOTIFY": True}
        assert not notifies_engines()

    def test_a_site_may_be_another_than_that_of_the_settings(
        self, in_production, settings
    ):
        """Each is judged by its own address."""
        settings.SITEMAPS_PLUS = PUBLIC
        assert not notifies_engines(Site("other", "https://10.0.0.1"))


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        *(("shop.eu", True), ("xn--bcher-kva.com:8443", True), ("mytest.com", True)),
        *(("8.8.8.8", True), ("[2606:4700::1111]", True), ("myexample.com", True)),
        *(("example.com", False), ("www.example.org", False), ("shop", False)),
        *(("localhost:8000", False), ("a.localhost", False), ("SHOP.TEST", False)),
        *(("shop.test.", False), ("nas.home.arpa", False), ("db.internal", False)),
        *(("127.0.0.1", False), ("10.1.2.3:80", False), ("169.254.169.254", False)),
        *(("[::1]:8000", False), ("[fc00::1]", False), ("100.64.0.1", False)),
        ("", False),
    ],
)
def test_which_origins_are_public(host, expected):
    """By their name alone: no name server is asked."""
    assert is_public(f"https://{host}") is expected


class TestParseBaseUrl:
    @pytest.mark.parametrize(
        ("base_url", "origin", "prefix"),
        [
            ("HTTPS://Shop.EXAMPLE/", "https://shop.example", "/"),
            ("http://[::1]:8000", "http://[::1]:8000", "/"),
            ("https://b\u00fccher.example", "https://xn--bcher-kva.example", "/"),
            ("https://shop.example/a/b/", "https://shop.example", "/a/b/"),
            ("https://shop.example//", "https://shop.example", "/"),
            ("https://shop.example/caf%C3%A9", "https://shop.example", "/caf\u00e9/"),
        ],
    )
    def test_an_address_is_an_origin_and_a_script_prefix(
        self, base_url, origin, prefix
    ):
        """The origin encoded, the prefix decoded as a request's is."""
        assert parse_base_url(base_url) == Site("default", origin, prefix)

    @pytest.mark.parametrize(
        "base_url",
        [
            *("", "shop.example", "ftp://shop.example", 5, "https://u:p@shop.example"),
        ],
    )
    def test_what_is_no_address_is_a_configuration_error(self, base_url):
        """With the value, and what to give."""
        with pytest.raises(ConfigurationError, match=r"BASE_URL .* is not the address"):
            parse_base_url(base_url)

    @pytest.mark.parametrize("end", ["?a=1", "#top", "/app?x", "/app#x"])
    def test_a_query_or_fragment_is_refused(self, end):
        """No path could be put behind it."""
        with pytest.raises(ConfigurationError, match="Remove it"):
            parse_base_url(f"https://shop.example{end}")

    def test_force_script_name_wins_over_the_path(self, settings):
        """It is what the rest of the project uses."""
        settings.FORCE_SCRIPT_NAME = "/forced"
        assert parse_base_url("https://shop.example/app").script_prefix == "/forced/"


class TestGetSite:
    def test_base_url_names_it(self, settings):
        """Whatever the request says, under DEBUG too."""
        settings.SITEMAPS_PLUS = {"BASE_URL": "https://shop.example"}
        settings.DEBUG = True
        request = RequestFactory().get("/", headers={"host": "evil.example"})
        assert get_site(request) == Site("default", "https://shop.example")

    def test_without_an_origin_there_is_no_site(self, settings):
        """The error says what to set."""
        settings.SITEMAPS_PLUS = {}
        request = RequestFactory().get("/", headers={"host": "evil.example"})
        for given in (None, request):
            with pytest.raises(ConfigurationError, match="BASE_URL"):
                get_site(given)

    def test_under_debug_the_request_names_it(self, settings):
        """So that a new project works at once."""
        settings.SITEMAPS_PLUS = {}
        settings.DEBUG = True
        request = RequestFactory().get("/", headers={"host": "localhost:8000"})
        assert get_site(request).origin == "http://localhost:8000"
        with pytest.raises(ConfigurationError):
            get_site()

    def test_an_error_is_one_of_djangos_configuration_errors(self, settings):
        """Who knows nothing of us can catch it."""
        settings.SITEMAPS_PLUS = {}
        with pytest.raises(ImproperlyConfigured):
            get_site()


class TestContribSites:
    def test_its_current_site_names_the_origin(self, settings, sites, monkeypatch):
        """With https, since it knows no scheme."""
        current = sites(domain="blog.example")
        monkeypatch.setattr(sites.objects, "get_current", lambda: current)
        settings.SITEMAPS_PLUS = {}
        assert get_site().origin == "https://blog.example"
        settings.SITEMAPS_PLUS = {"SCHEME": "http"}
        assert get_site().origin == "http://blog.example"

    def test_base_url_wins(self, settings, sites, monkeypatch):
        """The database is not asked."""
        monkeypatch.delattr(type(sites.objects), "get_current")
        settings.SITEMAPS_PLUS = {"BASE_URL": "https://shop.example"}
        assert get_site().origin == "https://shop.example"

    def test_without_a_current_site_the_error_says_what_to_set(
        self, settings, sites, monkeypatch
    ):
        """SITE_ID names none, or is missing."""
        settings.SITEMAPS_PLUS = {}

        def fail(error: Exception) -> Any:
            raise error

        for error in (sites.DoesNotExist(), ImproperlyConfigured("no SITE_ID")):
            monkeypatch.setattr(
                sites.objects, "get_current", lambda error=error: fail(error)
            )
            with pytest.raises(ConfigurationError, match="SITE_ID"):
                get_site()
