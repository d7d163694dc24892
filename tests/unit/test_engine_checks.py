"""The check of engines says what is wrong with each, and asks none of them."""

from __future__ import annotations

import json
import os
import sys
from unittest import mock
from unittest.mock import Mock

import pytest
from django.contrib.sitemaps import GenericSitemap, Sitemap
from django.core.exceptions import ImproperlyConfigured
from django.test import modify_settings
from django.urls import include, path

from django_sitemaps_plus import ModelSource, Route, ViewSource
from django_sitemaps_plus.checks import check_engines, check_keys
from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.notifications import Batch, Engine, Secret, Takes
from tests.support.servers.engine_requests import State
from tests.support.servers.service_account import make_service_account
from tests.support.shop import START
from tests.support.testapp.models import Product

from .test_checks import BASE, ids, page, urlconf


def engine(name: str, **options: object) -> dict[str, object]:
    return {"BACKEND": f"{OURS}.{name}", "OPTIONS": options}


OURS = "django_sitemaps_plus.notifications"
RECORDING = {"BACKEND": "django_sitemaps_plus.testing.RecordingEngine"}
TEXT = json.dumps(make_service_account(State(url="https://x")))
CONSOLE = "SearchConsole"
KEY = "0123456789abcdef"
INDEXNOW = engine("IndexNow", key=KEY)


@pytest.fixture(autouse=True)
def one_engine(settings, sections):
    settings.SITEMAPS_PLUS = {**BASE, "ENGINES": {"one": RECORDING}}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, []),
        ({"one": RECORDING, "two": INDEXNOW}, []),
        ("IndexNow", ["E025"]),
        ({"one": "IndexNow"}, ["E025"]),
        ({"one": {}}, ["E025"]),
        ({"one": {**RECORDING, "OPTION": {}}}, ["E025"]),
        ({"one": {**RECORDING, "OPTIONS": ["a"]}}, ["E025"]),
        ({"one": {"BACKEND": f"{OURS}.Gopher"}}, ["E025"]),
        ({"one": {"BACKEND": "builtins.int"}}, ["E025"]),
        ({"one": engine("IndexNow", kee="x")}, ["E025"]),
        ({"": RECORDING, "x" * 65: RECORDING}, ["E025", "E025"]),
        ({"one": engine("IndexNow", key=KEY, endpoint="x")}, ["E025"]),
        ({"one": engine(CONSOLE, service_account_key=Secret(TEXT))}, []),
    ],
)
def test_what_cannot_work_is_named(settings, given, expected):
    settings.SITEMAPS_PLUS = {**BASE, "ENGINES": given}
    assert ids(check_engines()) == expected
    assert check_keys() == []


class Asking(Engine):
    """Takes a key by itself."""

    def __init__(self, key: str, fault: Exception | None = None) -> None:
        if fault is not None:
            raise fault

    def send(self, batch: Batch) -> None:
        pass


def asking(**options: object) -> dict[str, object]:
    return {"BACKEND": f"{__name__}.Asking", "OPTIONS": options}


@pytest.mark.parametrize(
    "given",
    [
        engine("IndexNow"),
        engine("IndexNow", key=None),
        engine("IndexNow", key=""),
        engine("IndexNow", key="dummy"),
        engine("Baidu", token=None),
        engine("IndexNow", key=KEY, endpoint=None),
        engine(CONSOLE, service_account_key="/no/such/file.json"),
        engine(CONSOLE, service_account_key=TEXT),
        asking(),
        asking(key="", fault=KeyError("THE_KEY")),
        asking(key="", fault=FileNotFoundError("key.json")),
        asking(key="", fault=ImproperlyConfigured("no client")),
        asking(key="", fault=ConfigurationError("no key")),
        {"BACKEND": f"{__name__}_nobody_imports.Engine"},
    ],
)
def test_what_an_environment_lacks_is_for_deploys(settings, monkeypatch, given):
    """Continuous integration has no keys, and need not have them."""
    module = Mock(spec=[])
    type(module).Engine = property(lambda self: os.environ["SITEMAPS_NO_SUCH_KEY"])
    monkeypatch.setitem(sys.modules, f"{__name__}_nobody_imports", module)
    settings.SITEMAPS_PLUS = {**BASE, "ENGINES": {"one": given}}
    assert check_engines() == []
    assert ids(check_keys()) == ["E025"]


FORM = "{'indexnow': {'BACKEND': 'django_sitemaps_plus.notifications.IndexNow', "


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (
            "IndexNow",
            f"is not a dict. Write it as {FORM}'OPTIONS': {{'key': ...}}}}}}.",
        ),
        (
            {"one": engine("IndexNow", api_key=KEY)},
            "'api_key'. Did you mean 'key'? IndexNow takes key, endpoint.",
        ),
        ({"bing": engine("IndexNow")}, "'key' of IndexNow must be 8 to 128 of"),
        *[
            ({"one": {"BACKEND": it}}, f"Did you mean '{OURS}.IndexNow'?")
            for it in (f"{OURS}.Indexnow", "django_sitemaps_plus.engines.IndexNow")
        ],
        (
            {"one": {"BACKEND": f"{OURS}.IndexNow", "key": KEY}},
            "has an unknown key 'key': options belong into OPTIONS.",
        ),
    ],
)
def test_a_fault_says_what_to_write_once(settings, caplog, given, words):
    """In the error alone: a check is not also a line of the log."""
    settings.SITEMAPS_PLUS = {**BASE, "ENGINES": given}
    (message,) = [*check_engines(), *check_keys()]
    assert f"{words} " in f"{message.msg} "
    assert KEY not in message.msg
    assert str(message).count("docs/reference/checks.md") == 1
    assert caplog.records == []


class TestUnannouncedSaves:
    """W006: an engine takes URLs, and a lastmod does not show each edit."""

    @pytest.mark.parametrize(
        ("attributes", "given", "expected"),
        [
            ({}, {}, ["W006"]),
            ({"lastmod": "updated_at"}, {}, []),
            ({"lastmod": "created_on"}, {}, ["W006"]),
            ({"lastmod": "created_on", "announce_saves": True}, {}, []),
            ({}, {"NOTIFY": False}, []),
            ({}, {"ENGINES": {}}, []),
            ({}, {"ENGINES": {"one": engine("Ping", endpoint="https://x.io/")}}, []),
        ],
    )
    def test_of_a_model(self, configure, sections, attributes, given, expected):
        configure(**given)
        declared = {"model": Product, "location": Route("product-detail", slug="slug")}
        sections.register("some", type("Some", (ModelSource,), declared | attributes))
        sections.register("views", type("Views", (ViewSource,), {"views": ["home"]}))
        assert ids(check_engines()) == expected

    @pytest.mark.parametrize(
        ("attributes", "expected"),
        [
            ({}, ["W006"]),
            ({"lastmod": lambda self, item: item.updated_at}, []),
            ({"lastmod": START}, []),
            ({"get_urls": lambda self, **asked: []}, []),  # which may have any
        ],
    )
    def test_of_contrib_classes(self, sections, attributes, expected):
        kind = type("Old", (Sitemap,), {"items": Product.objects.all, **attributes})
        sections.register("made", lambda: kind())  # what it makes is not asked
        for given in (kind, kind()):
            sections.register("old", given)
            messages = check_engines()
            assert ids(messages) == expected
            assert all(["ModelSource" in message.hint for message in messages])
            sections.unregister("old")
        date_field = {} if expected else {"date_field": "updated_at"}
        info = {"queryset": Product.objects.all(), **date_field}
        sections.register("generic", GenericSitemap(info))
        assert ids(check_engines()) == expected


INCLUDED = path("", include("django_sitemaps_plus.urls"))
BELOW = urlconf(path("maps/", include("django_sitemaps_plus.urls")))
BEHIND = urlconf(path("<str:name>.txt", page), INCLUDED)
WITHOUT = urlconf(path("", page))


class Feeds(Engine):
    takes = Takes.FEEDS

    def __init__(self, file: object) -> None:
        self.file = file

    def send(self, batch: Batch) -> None:
        pass

    def files(self, site: Site) -> dict[str, str]:
        return {self.file: "text"} if self.file else 1 / 0


def looking_for(file: object) -> dict[str, object]:
    backend = {"BACKEND": f"{__name__}.Feeds", "OPTIONS": {"file": file}}
    return {"ENGINES": {"feeds": backend}}


class TestKeyFiles:
    """W011: an engine looks for a file that the app does not serve."""

    @staticmethod
    def said(settings, urlconf="tests.support.urls", **given):
        settings.SITEMAPS_PLUS = {**BASE, "ENGINES": {"bing": INDEXNOW}, **given}
        settings.ROOT_URLCONF = urlconf
        return check_engines()

    @pytest.mark.parametrize("urlconf", [BELOW, BEHIND])
    def test_a_file_that_is_not_served_is_named(self, settings, urlconf):
        (message,) = self.said(settings, urlconf)
        assert message.id == "sitemaps_plus.W011"
        assert "'bing'" in message.msg
        assert 'Put path("", include(' in message.hint
        assert KEY not in f"{message}"

    def test_each_engine_that_looks_for_one_is_named(self, settings):
        given = {"broken": {}, "bing": INDEXNOW, "one": RECORDING}
        given |= looking_for("a-key.txt")["ENGINES"]
        messages = self.said(settings, BEHIND, ENGINES=given)
        assert ids(messages) == ["E025", "W011", "W011"]
        assert "'bing'" in messages[1].msg
        assert "'feeds'" in messages[2].msg

    @pytest.mark.parametrize("file", ["google123.html", "x/y.txt", 5])
    def test_a_name_that_is_never_served_is_named(self, settings, file):
        (message,) = self.said(settings, **looking_for(file))
        assert message.id == "sitemaps_plus.W011"
        assert "return a name of A-Z" in message.hint

    @pytest.mark.parametrize(
        ("urlconf", "given"),
        [
            ("tests.support.urls", {}),
            ("tests.support.urls", looking_for("a-key.txt")),
            (WITHOUT, {}),
            (None, {}),
            (BEHIND, {"NOTIFY": False}),
            (BEHIND, {"BASE_URL": None}),
            (BEHIND, {"ENGINES": {}}),
            (BEHIND, looking_for(None)),
        ],
    )
    def test_nothing_else_is_said(self, settings, urlconf, given):
        """Where it is served, nobody looks, or another check or the log says more."""
        assert self.said(settings, urlconf, **given) == []

    def test_a_project_under_a_path_serves_its_file_there(self, settings, client):
        """Where the engine is told to look, though not at the root of the host."""
        assert self.said(settings, BASE_URL="https://example.com/app") == []
        found = client.get(f"/{KEY}.txt", SCRIPT_NAME="/app")
        assert found.wsgi_request.path == f"/app/{KEY}.txt"
        assert (found.status_code, found.content) == (200, KEY.encode())

    def test_the_current_site_is_not_asked_for(self, settings):
        """It is in a database, which no check may need."""
        with modify_settings(INSTALLED_APPS={"append": "django.contrib.sites"}):
            from django.contrib.sites.models import Site as DjangoSite

            with mock.patch.object(DjangoSite.objects, "get_current") as asked:
                assert self.said(settings, BEHIND, BASE_URL=None) == []
        asked.assert_not_called()
