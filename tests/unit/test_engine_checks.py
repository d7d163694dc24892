"""The check of engines says what is wrong with each, and asks none of them."""

from __future__ import annotations

import json

import pytest
from django.contrib.sitemaps import GenericSitemap, Sitemap

from django_sitemaps_plus import ModelSource, Route, ViewSource
from django_sitemaps_plus.checks import check_engines
from django_sitemaps_plus.notifications import Secret
from tests.support.servers.engine_requests import State
from tests.support.servers.service_account import make_service_account
from tests.support.shop import START
from tests.support.testapp.models import Product

from .test_checks import BASE, ids


def engine(name: str, **options: object) -> dict[str, object]:
    """Return the settings of an engine of ours."""
    return {"BACKEND": f"{OURS}.{name}", "OPTIONS": options}


OURS = "django_sitemaps_plus.notifications"
RECORDING = {"BACKEND": "django_sitemaps_plus.testing.RecordingEngine"}
TEXT = json.dumps(make_service_account(State(url="https://x")))
CONSOLE = "SearchConsole"
KEY = "0123456789abcdef"
INDEXNOW = engine("IndexNow", key=KEY)


@pytest.fixture(autouse=True)
def one_engine(settings, sections):
    """Have an engine that takes URLs, and no sections."""
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
        ({"one": engine(CONSOLE, service_account_key=TEXT)}, ["E025"]),
        ({"one": engine(CONSOLE, service_account_key=Secret(TEXT))}, []),
    ],
)
def test_what_cannot_work_is_named(settings, given, expected):
    settings.SITEMAPS_PLUS = {**BASE, "ENGINES": given}
    assert ids(check_engines()) == expected


def test_the_message_says_which_and_why(settings):
    settings.SITEMAPS_PLUS = {**BASE, "ENGINES": {"bing": engine("IndexNow")}}
    (message,) = check_engines()
    assert "['ENGINES']['bing']" in message.msg
    assert "'key'" in message.msg


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
        ({"one": engine("IndexNow")}, "'key' of IndexNow must be 8 to 128 of"),
        ({"one": {**RECORDING, "OPTIONS": ["a"]}}, "OPTIONS is not a dict."),
        ({"one": {"BACKEND": f"{OURS}.Gopher"}}, '"Gopher" attribute/class.'),
        (
            {"one": {"BACKEND": f"{OURS}.Indexnow"}},
            f"Did you mean '{OURS}.IndexNow'?",
        ),
        (
            {"one": {"BACKEND": "django_sitemaps_plus.engines.IndexNow"}},
            f"Did you mean '{OURS}.IndexNow'?",
        ),
        (
            {"one": {"BACKEND": f"{OURS}.IndexNow", "key": KEY}},
            "has an unknown key 'key': options belong into OPTIONS.",
        ),
        (
            {"one": engine("IndexNow", key=KEY, endpoint="http://api.indexnow.org/")},
            "or http to localhost, 127.0.0.1 or ::1. Set it in "
            "SITEMAPS_PLUS['ENGINES'].",
        ),
    ],
)
def test_a_fault_says_what_to_write_once(settings, caplog, given, words):
    """In the error alone: a check is not also a line of the log."""
    settings.SITEMAPS_PLUS = {**BASE, "ENGINES": given}
    (message,) = check_engines()
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
    def test_of_a_model(self, settings, sections, attributes, given, expected):
        settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, **given}
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
    @pytest.mark.parametrize("is_class", [True, False])
    def test_of_contrib_classes(self, sections, attributes, expected, is_class):
        kind = type("Old", (Sitemap,), {"items": Product.objects.all, **attributes})
        sections.register("old", kind if is_class else kind())
        messages = check_engines()
        assert ids(messages) == expected
        assert all(["ModelSource" in message.hint for message in messages])

    @pytest.mark.parametrize(
        ("date_field", "expected"), [(None, ["W006"]), ("updated_at", [])]
    )
    def test_of_generic_sitemaps(self, sections, date_field, expected):
        info = {"queryset": Product.objects.all(), "date_field": date_field}
        sections.register("generic", GenericSitemap(info))
        assert ids(check_engines()) == expected
