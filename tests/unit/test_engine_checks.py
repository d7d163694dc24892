"""The check of engines says what is wrong with each, and asks none of them."""

from __future__ import annotations

import json
from importlib.util import find_spec
from unittest import mock

import pytest
from django.contrib.sitemaps import GenericSitemap, Sitemap

from django_sitemaps_plus import ModelSource, Route, ViewSource
from django_sitemaps_plus.checks import check_engines, engines
from django_sitemaps_plus.notifications import Secret
from tests.integration.shop import START
from tests.servers.engine_requests import State
from tests.servers.service_account import make_service_account
from tests.testapp.models import Product

from .test_checks import BASE, ids


def engine(name: str, **options: object) -> dict[str, object]:
    """Return the settings of an engine of ours."""
    return {"BACKEND": f"{OURS}.{name}", "OPTIONS": options}


OURS = "django_sitemaps_plus.notifications"
RECORDING = {"BACKEND": "django_sitemaps_plus.testing.RecordingEngine"}
TEXT = json.dumps(make_service_account(State(url="https://x")))
HIDDEN = Secret(TEXT)
INDEXNOW = engine("IndexNow", key="0123456789abcdef")


class TestEngines:
    @pytest.fixture(autouse=True)
    def none_registered(self, sections):
        """Have no sections."""

    @pytest.mark.parametrize(
        ("given", "expected"),
        [
            ({}, []),
            ({"ENGINES": {"one": RECORDING, "two": INDEXNOW}}, []),
            ({"ENGINES": {"one": RECORDING}, "NOTIFY": True}, []),
            ({"ENGINES": {"one": RECORDING}, "NOTIFY": False}, []),
            ({"NOTIFY_RETRY_AFTER": 0.5}, []),
            ({"ENGINES": "IndexNow"}, ["E002"]),
            ({"ENGINES": None}, ["E002"]),
            ({"NOTIFY": "yes"}, ["E002"]),
            ({"NOTIFY_RETRY_AFTER": 0}, ["E002"]),
            ({"NOTIFY_RETRY_AFTER": "5"}, ["E002"]),
            ({"NOTIFY_RETRY_AFTER": True}, ["E002"]),
            ({"ENGINES": {"one": "IndexNow"}}, ["E025"]),
            ({"ENGINES": {"one": {}}}, ["E025"]),
            ({"ENGINES": {"one": {**RECORDING, "OPTION": {}}}}, ["E025"]),
            ({"ENGINES": {"one": {**RECORDING, "OPTIONS": ["a"]}}}, ["E025"]),
            ({"ENGINES": {"one": {"BACKEND": f"{OURS}.Gopher"}}}, ["E025"]),
            ({"ENGINES": {"one": {"BACKEND": "builtins.dict"}}}, ["E025"]),
            ({"ENGINES": {"one": {"BACKEND": "builtins.int"}}}, ["E025"]),
            ({"ENGINES": {"one": {"BACKEND": "os.sep"}}}, ["E025"]),
            ({"ENGINES": {"one": engine("IndexNow")}}, ["E025"]),
            ({"ENGINES": {"one": engine("IndexNow", kee="x")}}, ["E025"]),
            ({"ENGINES": {"": RECORDING, "x" * 65: RECORDING}}, ["E025", "E025"]),
            ({"ENGINES": {5: RECORDING}}, ["E025"]),
            ({"ENGINES": {"one": engine("SearchConsole", credentials=TEXT)}}, ["W008"]),
            ({"ENGINES": {"one": engine("SearchConsole", credentials=HIDDEN)}}, []),
        ],
    )
    def test_what_cannot_work_is_named(self, settings, given, expected):
        """One message a fault; none without."""
        settings.SITEMAPS_PLUS = {**BASE, **given}
        assert ids(check_engines()) == expected

    def test_the_message_says_which_and_why(self, settings):
        """The engine by its name, and the option."""
        settings.SITEMAPS_PLUS = {**BASE, "ENGINES": {"bing": engine("IndexNow")}}
        (message,) = check_engines()
        assert "['ENGINES']['bing']" in message.msg
        assert "'key'" in message.msg

    @pytest.mark.parametrize(
        ("missing", "expected"), [("urllib3", "[engines]"), ("google", "[google]")]
    )
    def test_an_extra_that_is_not_installed_is_named(
        self, settings, tmp_path, missing, expected
    ):
        """With what to install."""
        account = tmp_path / "account.json"
        account.write_text(TEXT)
        google = engine("SearchConsole", credentials=str(account))
        settings.SITEMAPS_PLUS = {**BASE, "ENGINES": {"google": google}}
        assert check_engines() == []
        with mock.patch.object(engines, "find_spec", self.without(missing)):
            (message,) = check_engines()
        assert message.id == "sitemaps_plus.E026"
        assert expected in message.hint

    @staticmethod
    def without(missing: str):
        """Return a find_spec() of a Python that lacks a package."""

        def find(name: str) -> object:
            if name == missing:
                return None
            if name.startswith(f"{missing}."):
                raise ModuleNotFoundError(name)
            return find_spec(name)

        return find

    def test_an_engine_of_the_project_needs_none(self, settings):
        """It may speak to its own as it likes."""
        settings.SITEMAPS_PLUS = {**BASE, "ENGINES": {"one": RECORDING}}
        with mock.patch.object(engines, "find_spec", return_value=None):
            assert check_engines() == []

    @pytest.mark.parametrize(
        ("attributes", "given", "expected"),
        [
            ({}, {}, ["W006"]),
            ({"lastmod": "updated_at"}, {}, []),
            ({"lastmod": "created_on"}, {}, ["W006"]),
            ({"lastmod": "created_on", "announce_saves": True}, {}, []),
            ({"announce_saves": True}, {}, []),
            ({}, {"NOTIFY": False}, []),
            ({}, {"ENGINES": {}}, []),
            ({}, {"ENGINES": {"one": engine("Ping", endpoint="https://x.io/")}}, []),
        ],
    )
    def test_saves_that_engines_do_not_hear_of_are_named(
        self, settings, sections, attributes, given, expected
    ):
        """Where an engine is told of URLs."""
        settings.SITEMAPS_PLUS = {**BASE, "ENGINES": {"one": RECORDING}, **given}
        declared = {"model": Product, "location": Route("product-detail", slug="slug")}
        sections.register("some", type("Some", (ModelSource,), declared | attributes))
        sections.register("views", type("Views", (ViewSource,), {"views": ["home"]}))
        assert ids(check_engines()) == expected

    @pytest.mark.parametrize(
        ("attributes", "expected"),
        [
            ({}, ["W006"]),
            ({"lastmod": None}, ["W006"]),
            ({"lastmod": lambda self, item: item.updated_at}, []),
            ({"lastmod": START}, []),
            ({"get_urls": lambda self, **asked: []}, []),  # which may have any
        ],
    )
    @pytest.mark.parametrize("is_class", [True, False])
    def test_those_of_contrib_classes_are_named(
        self, settings, sections, attributes, expected, is_class
    ):
        """A class or an instance, with what can be done about it there."""
        settings.SITEMAPS_PLUS = {**BASE, "ENGINES": {"one": RECORDING}}
        kind = type("Old", (Sitemap,), {"items": Product.objects.all, **attributes})
        sections.register("old", kind if is_class else kind())
        messages = check_engines()
        assert ids(messages) == expected
        assert all(["ModelSource" in message.hint for message in messages])

    @pytest.mark.parametrize(
        ("date_field", "expected"), [(None, ["W006"]), ("updated_at", [])]
    )
    def test_those_of_generic_sitemaps_are_named(
        self, settings, sections, date_field, expected
    ):
        """Their lastmod gives nothing without the name of a field."""
        settings.SITEMAPS_PLUS = {**BASE, "ENGINES": {"one": RECORDING}}
        info = {"queryset": Product.objects.all(), "date_field": date_field}
        sections.register("generic", GenericSitemap(info))
        assert ids(check_engines()) == expected
