"""The one setting, the site that it describes, and what has an address there."""

from decimal import Decimal
from typing import Any

import pytest
from django.contrib.sitemaps import GenericSitemap
from django.contrib.staticfiles import finders
from django.core.files.storage import InMemoryStorage
from django.test import RequestFactory, modify_settings, override_settings
from django.test.utils import _TestState

from django_sitemaps_plus.conf import (
    AppSettings,
    Site,
    get_settings,
    in_force,
    setting_name,
)
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.site_urls import has_feed, stylesheet_url
from django_sitemaps_plus.sites import (
    for_each,
    get_site,
    get_sites,
    is_public,
    notifies_engines,
    parse_base_url,
    silence_reason,
)
from tests.integration.sources import contrib_zoo


@pytest.fixture
def sites() -> Any:
    """Install django.contrib.sites; return its model, which must not be queried."""
    with modify_settings(INSTALLED_APPS={"append": "django.contrib.sites"}):
        from django.contrib.sites.models import Site as DjangoSite

        yield DjangoSite


class TestGetSettings:
    def test_everything_has_a_default_that_works(self, settings):
        settings.SITEMAPS_PLUS = {}
        del settings.SITEMAPS_PLUS  # which alone would tell nobody
        assert get_settings() == AppSettings()

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
        assert get_settings() == AppSettings(unknown=None)

    @pytest.mark.parametrize(
        ("key", "value"),
        [
            ("LEASE_SECONDS", "60"),
            ("CLIENT_CACHE_SECONDS", None),
            ("LIVE_CACHE_SECONDS", Decimal("1.5")),
            ("MAX_BUILDERS", True),
            ("SHRINK_GUARD", "half"),
            ("NOTIFY_RETRY_SECONDS", None),
            ("PUBLIC_PLAIN", "no"),
            ("NOTIFY", "no"),
            ("CACHE", ["default"]),
            ("EXECUTOR", 5),
            ("STYLESHEET", 5),
            ("ENGINES", "IndexNow"),
        ],
    )
    def test_the_default_stands_in_for_a_value_of_a_wrong_kind(
        self, settings, key, value
    ):
        """A check still quotes the value."""
        settings.SITEMAPS_PLUS = {key: value}
        name, found = key.lower(), get_settings()
        assert getattr(found, name) == getattr(AppSettings(), name)
        [(wrong, words)] = found.wrong.items()
        assert wrong == name
        assert words.startswith(f"is {value!r}: it must be ")

    @pytest.mark.parametrize(
        ("key", "value"),
        [
            ("LEASE_SECONDS", 1),
            ("PLAN_SECONDS", -1),
            ("SHRINK_GUARD", 50),
            ("SCHEME", "ftp"),
            ("BASE_URL", 5),
            ("STORAGE", 5),
        ],
    )
    def test_other_values_that_cannot_be_right_are_used(self, settings, key, value):
        """No other origin or storage may be used than the one that was meant."""
        settings.SITEMAPS_PLUS = {key: value}
        assert getattr(get_settings(), key.lower()) == value
        assert [*get_settings().wrong] == [key.lower()]

    def test_it_is_read_once_until_tests_override_it(self):
        before = get_settings()
        with override_settings(DEBUG=True):
            assert get_settings() is before
        with override_settings(SITEMAPS_PLUS={"CACHE": "other"}):
            assert get_settings().cache == "other"
        assert get_settings() == before


ENGINES = {"one": {"BACKEND": "django_sitemaps_plus.testing.RecordingEngine"}}
PUBLIC = {"BASE_URL": "https://shop.eu", "ENGINES": ENGINES}


@pytest.fixture
def in_production(monkeypatch, settings) -> None:
    """Look like a process that runs no tests."""
    monkeypatch.delattr(_TestState, "saved_data")
    settings.DEBUG = False


class TestNotifiesEngines:
    def test_of_a_public_site_in_production(self, in_production, settings):
        settings.SITEMAPS_PLUS = PUBLIC
        assert notifies_engines()
        with in_force(Site("other", "https://10.0.0.1")):
            assert not notifies_engines()

    @pytest.mark.parametrize(
        ("given", "debug", "reason"),
        [
            ({}, False, ""),
            ({}, True, "DEBUG is on"),
            ({"NOTIFY": True}, True, ""),
            ({"NOTIFY": False}, False, "SITEMAPS_PLUS['NOTIFY'] is False"),
            ({"NOTIFY": False}, True, "SITEMAPS_PLUS['NOTIFY'] is False"),
            ({"ENGINES": {}}, False, "SITEMAPS_PLUS['ENGINES'] is empty"),
            ({"ENGINES": {}}, True, "SITEMAPS_PLUS['ENGINES'] is empty"),
            ({"ENGINES": {}, "NOTIFY": True}, False, "['ENGINES'] is empty"),
            ({"BASE_URL": "http://localhost"}, False, "is not a public address"),
            *[({"BASE_URL": it}, False, None) for it in (None, "nonsense")],
        ],
    )
    def test_one_reason_not_to_is_named(
        self, in_production, settings, given, debug, reason
    ):
        settings.DEBUG = debug
        settings.SITEMAPS_PLUS = {**PUBLIC, **given}
        assert notifies_engines() is (reason == "")
        if reason is not None:
            assert silence_reason().endswith(reason)

    def test_the_setting_of_the_site_is_named_that_decides(self, settings):
        sites = {it: {"BASE_URL": f"https://{it}.example"} for it in ("one", "two")}
        sites["one"] |= {"NOTIFY": False, "ROBOTS": 5}
        settings.SITEMAPS_PLUS = {**PUBLIC, "SITES": sites, "NOTIFY": False}
        own = "SITEMAPS_PLUS['SITES']['one']['NOTIFY'] is False"
        expected = [own, "SITEMAPS_PLUS['NOTIFY'] is False"]
        assert for_each(get_sites(), silence_reason) == expected

    def test_in_tests_it_takes_force(self, settings):
        """Django's runner and pytest-django set up a test environment."""
        settings.SITEMAPS_PLUS = PUBLIC
        assert not notifies_engines()
        settings.SITEMAPS_PLUS = {**PUBLIC, "NOTIFY": True}
        assert notifies_engines()


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


def test_live_pages_are_kept_a_minute_in_production(request, settings):
    """In tests, and where developers look, each change shows at once."""
    settings.SITEMAPS_PLUS = {}
    assert get_settings().live_cache == 0
    settings.SITEMAPS_PLUS = {"LIVE_CACHE_SECONDS": 9}
    assert get_settings().live_cache == 9
    request.getfixturevalue("in_production")
    settings.SITEMAPS_PLUS = {}
    assert get_settings().live_cache == 60
    settings.DEBUG = True
    assert get_settings().live_cache == 0


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
        assert parse_base_url(base_url) == Site("default", origin, prefix)

    @pytest.mark.parametrize(
        ("base_url", "said"),
        [
            ("", "Use scheme and host, such as 'https://shop.example'"),
            ("shop.example", r"URL\. Did you mean 'https://shop\.example'\?$"),
            ("//shop.example/a", r"Did you mean 'https://shop\.example/a'\?$"),
            ("ftp://shop.example", r"Did you mean 'https://shop\.example'\?$"),
            (5, "Use scheme and host"),
            ("https://u:p@shop.example", "credentials in it. Use scheme and host"),
            (
                "https://shop.example/sitemap.xml",
                "a file. Write 'https://shop.example'",
            ),
            ("https://shop.example/a/b.xml", "a file. Write 'https://shop.example/a'"),
            ("https://shop.example?a=1", "Remove it"),
            ("https://shop.example/app#top", "Remove it"),
        ],
    )
    def test_what_is_no_address_is_a_configuration_error(self, base_url, said):
        with pytest.raises(ConfigurationError, match=rf"BASE_URL.*{said}"):
            parse_base_url(base_url)

    def test_force_script_name_wins_over_the_path(self, settings):
        settings.FORCE_SCRIPT_NAME = "/forced"
        assert parse_base_url("https://shop.example/app").script_prefix == "/forced/"


class TestGetSite:
    def test_base_url_names_it(self, settings):
        settings.SITEMAPS_PLUS = {"BASE_URL": "https://shop.example"}
        settings.DEBUG = True
        request = RequestFactory().get("/", headers={"host": "evil.example"})
        assert get_site(request) == Site("default", "https://shop.example")

    def test_base_url_wins(self, settings, sites, monkeypatch):
        monkeypatch.delattr(type(sites.objects), "get_current")
        settings.SITEMAPS_PLUS = {"BASE_URL": "https://shop.example"}
        assert get_site().origin == "https://shop.example"


SITE = Site("default", "https://shop.example", "/app/")
INSTALLED = modify_settings(INSTALLED_APPS={"append": "django.contrib.staticfiles"})
OURS = AppSettings().stylesheet
HASHED = "django.contrib.staticfiles.storage.ManifestStaticFilesStorage"


class Remote(InMemoryStorage):
    """A storage that serves its files by itself."""


@INSTALLED
@pytest.mark.parametrize(
    ("static_url", "backend", "stylesheet", "expected"),
    [
        ("/static/", HASHED, OURS, f"/static/{OURS}"),
        ("static/", HASHED, OURS, f"/app/static/{OURS}"),
        ("https://cdn.example/s/", HASHED, OURS, f"https://cdn.example/s/{OURS}"),
        # URLs of a storage elsewhere may be signed, and would change each page.
        *[
            ("/static/", it, OURS, "")
            for it in ("no.such.Storage", "", f"{__name__}.Remote")
        ],
        *[("/static/", HASHED, it, "") for it in (None, "")],
        ("/static/", HASHED, "shop/my map.css", "/static/shop/my%20map.css"),
        *[
            ("/static/", HASHED, it, it)
            for it in ("/own.css", "https://cdn.example/own.css")
        ],
    ],
)
def test_a_stylesheet_is_below_static_url_or_another(
    settings, configure, static_url, backend, stylesheet, expected
):
    """With hashed names too: collectstatic keeps the others, and need not run."""
    settings.STORAGES = {**settings.STORAGES, "staticfiles": {"BACKEND": backend}}
    settings.STATIC_URL = static_url
    configure(STYLESHEET=stylesheet)
    assert stylesheet_url(SITE) == expected
    assert finders.find(OURS)


def test_without_static_files_there_is_no_stylesheet(settings):
    """Browsers show a file as one line if its stylesheet is missing."""
    settings.STATIC_URL = "/static/"
    assert stylesheet_url(SITE) == ""


@pytest.mark.parametrize(
    ("name", "is_expected"),
    [("Plain", True), ("ConstantLastmod", True), ("OfNames", False), ("OwnUrls", True)],
)
@pytest.mark.parametrize("make", [lambda kind: kind, lambda kind: kind()])
def test_a_contrib_class_without_lastmod_has_no_feed(sections, make, name, is_expected):
    """So no hub is told of one; a class with its own pages may write dates itself."""
    sections.register("given", make(getattr(contrib_zoo, name)))
    assert has_feed("given") is is_expected
    sections.register("made", lambda: contrib_zoo.OfNames())
    assert has_feed("made")  # what it makes is not asked
    sections.register("generic", GenericSitemap({"queryset": []}))
    assert not has_feed("generic")  # without a date_field


@pytest.mark.parametrize(
    ("given", "key", "expected"),
    [
        ({"SITES": None}, "ENGINES", "['ENGINES']"),
        ({"SITES": "contrib.sites"}, "ENGINES", "['ENGINES']"),
        ({}, "ENGINES", "['SITES']['shop']['ENGINES']"),
        ({"ENGINES": {}}, "ENGINES", "['ENGINES']"),
        ({"ROBOTS": {}}, "ROBOTS", "['SITES']['shop']['ROBOTS']"),
        (
            {"BASE_URL": "https://example.com"},
            "BASE_URL",
            "['SITES']['shop']['BASE_URL']",
        ),
    ],
)
def test_messages_name_the_setting_that_decides(configure, given, key, expected):
    """That of the site, unless the one of all sites is the one that is set."""
    own = {"BASE_URL": "https://shop.example", "ROBOTS": {}}
    configure(**{"BASE_URL": None, "SITES": {"shop": own}, **given})
    with in_force(Site("shop", "https://shop.example")):
        assert setting_name(key) == f"SITEMAPS_PLUS{expected}"
