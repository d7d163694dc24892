"""Checks of settings, of sites, robots.txt, URLs and executors: what is wrong is named.

A table gives what is checked, and the ids that are found.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any
from unittest import mock
from unittest.mock import Mock

import pytest
from celery import Celery, _state
from django.apps import apps
from django.conf.urls.i18n import i18n_patterns
from django.contrib.sitemaps import GenericSitemap, Sitemap
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError
from django.http import HttpRequest, HttpResponse
from django.test import modify_settings
from django.urls import include, path, re_path, register_converter
from django.urls.converters import StringConverter

from django_sitemaps_plus import ModelSource, Route, ViewSource
from django_sitemaps_plus.checks import (
    check_engines,
    check_keys,
    check_public_origin,
    check_robots,
    check_row_caches,
    check_settings,
    check_sites,
    check_sources,
    check_token,
    check_urls,
)
from django_sitemaps_plus.conf import AppSettings, Site, in_force
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.executors.base import Executor
from django_sitemaps_plus.notifications import Batch, Engine, Secret, Takes
from django_sitemaps_plus.sites import get_sites
from tests.support.servers.engine_requests import State
from tests.support.servers.service_account import make_service_account
from tests.support.shop import START, limited
from tests.support.testapp.models import Product

BASE = {"BASE_URL": "https://example.com"}
SHARED = {"default": {"BACKEND": "django.core.cache.backends.db.DatabaseCache"}}
OURS = "django_sitemaps_plus.urls"


def ids(messages) -> list[str]:
    return [message.id.removeprefix("sitemaps_plus.") for message in messages]


def words(messages) -> str:
    [message] = messages
    return f"{message.msg} {message.hint}"


class TestSettings:
    @pytest.mark.parametrize(
        ("given", "expected"),
        [
            ({**BASE, "BASE_ULR": "x"}, ["E001"]),
            (5, ["E002", "E003"]),
            *[
                ({**BASE, name.upper(): "5"}, ["E002"])
                for name, kind in AppSettings.__annotations__.items()
                if kind.startswith(("int", "float"))
            ],
            ({**BASE, "PLAN_SECONDS": -1}, ["E002"]),
            ({**BASE, "SCHEME": "ftp"}, ["E002"]),
            ({**BASE, "MAX_BUILDERS": 0}, ["E002"]),
            ({**BASE, "LEASE_SECONDS": 1}, ["E002"]),
            ({**BASE, "LEASE_SECONDS": True}, ["E002"]),
            ({**BASE, "NOTIFY": "yes"}, ["E002"]),
            ({**BASE, "NOTIFY_RETRY_SECONDS": 0}, ["E002"]),
            ({**BASE, "NOTIFY_RETRY_SECONDS": 0.5}, []),
            ({**BASE, "SHRINK_GUARD": 50, "MAX_BAD_ROWS": True}, ["E002", "E002"]),
            ({**BASE, "SHRINK_GUARD": 1}, []),
            ({"BASE_URL": "shop.example"}, ["E002"]),
            ({"BASE_URL": "https://shop.example/sitemap.xml"}, ["E002"]),
            ({}, ["E003"]),
            ({**BASE, "LANGUAGE_ORIGINS": "https://a.example"}, ["E002"]),
            ({**BASE, "LANGUAGE_ORIGINS": {"de": "a.example"}}, ["E002"]),
            ({**BASE, "LANGUAGE_ORIGINS": {"it": "https://a.it"}}, ["E053"]),
            ({**BASE, "LANGUAGE_ORIGINS": {"de": "https://a.de/x"}}, []),
            ({**BASE, "STORAGE": "nowhere"}, ["E004"]),
            ({**BASE, "STORAGE": 5}, ["E002"]),
            ({**BASE, "CACHE": "nowhere"}, ["E006"]),
            ({**BASE, "EXECUTOR": "shop.NoExecutor"}, ["E008"]),
            ({**BASE, "MONITORING_TOKEN": "x" * 15}, ["E063"]),
            ({**BASE, "MONITORING_TOKEN": "x" * 16 + "\n"}, ["E063"]),
            ({**BASE, "MONITORING_TOKEN": b"x" * 16}, ["E063"]),
            ({**BASE, "MONITORING_TOKEN": "x" * 16}, []),
            (BASE, []),
        ],
    )
    def test_a_value_that_cannot_work_is_named(self, settings, given, expected):
        settings.CACHES = SHARED
        settings.SITEMAPS_PLUS = given
        assert ids(check_settings()) == expected

    @pytest.mark.parametrize(
        ("given", "said"),
        [
            ({**BASE, "LIVE_MAX_ROW": 5}, "Did you mean 'LIVE_MAX_ROWS'?"),
            ({**BASE, "EXECUTOR": "tasks"}, "Leave it out and run manage.py run_sit"),
            (None, "Write SITEMAPS_PLUS = {'BASE_URL': 'https://shop.example'}."),
            *[
                ({"BASE_URL": url}, "Did you mean 'https://shop.example'?")
                for url in (
                    *("shop.example", "//shop.example", "http:/shop.example"),
                    *("https//shop.example", "htps://shop.example"),
                    *("https:shop.example", " https://shop.example"),
                )
            ],
            (
                {**BASE, "LEASE_SECONDS": True},
                "SITEMAPS_PLUS['LEASE_SECONDS'] is True: it must be a whole number, "
                "2 or more.",
            ),
        ],
    )
    def test_a_message_has_value_reason_and_remedy(self, settings, given, said):
        settings.SITEMAPS_PLUS = given
        message = check_settings()[0]
        assert said in f"{message.msg} {message.hint}"

    @pytest.mark.parametrize(
        ("name", "value", "said"),
        [
            ("SITEMAP_PLUS", {}, "Move its keys to SITEMAPS_PLUS."),
            ("DJANGO_SITEMAPS_PLUS", {}, "Move its keys to SITEMAPS_PLUS."),
            ("SITEMAPS_PLUS_NOTIFY", True, "SITEMAPS_PLUS = {'NOTIFY': ...}."),
            ("SITEMAPS_PLUS_BASE_URL", BASE["BASE_URL"], ""),
            ("SITEMAPS_PLUS_COLOUR", "red", ""),
            ("SITEMAPS", {}, ""),
        ],
    )
    def test_a_setting_with_almost_its_name_is_named(self, settings, name, value, said):
        """But none of which the right one is made."""
        settings.CACHES, settings.SITEMAPS_PLUS = SHARED, BASE
        setattr(settings, name, value)
        found = check_settings()
        assert ids(found) == ["W055"] * bool(said)
        assert all(said in it.hint for it in found)

    def test_one_alone_is_to_be_renamed(self, settings):
        settings.CACHES, settings.SITEMAP_PLUS = SHARED, BASE
        settings.SITEMAPS_PLUS = {}
        assert ids(check_settings()) == ["W055", "E003"]
        assert "Rename it to SITEMAPS_PLUS." in check_settings()[0].hint

    def test_a_secret_is_not_quoted(self, settings):
        settings.SITEMAPS_PLUS = {**BASE, "MONITORING_TOKEN": "it-is-secret"}
        assert "it-is-secret" not in words(check_settings())

    def test_a_token_that_the_environment_lacks_is_for_deploys(self, settings):
        settings.CACHES = SHARED
        settings.SITEMAPS_PLUS = {**BASE, "MONITORING_TOKEN": ""}
        assert check_settings() == []
        assert ids(check_token()) == ["E063"]
        settings.SITEMAPS_PLUS = {**BASE, "MONITORING_TOKEN": None}
        assert check_token() == []

    def test_files_need_a_place(self, settings):
        settings.MEDIA_ROOT = ""
        assert ids(check_settings()) == ["W004"]

    def test_the_storage_must_be_one(self, settings):
        """Its library may be missing here, and views then render what they serve."""
        settings.CACHES = SHARED
        settings.STORAGES = {**settings.STORAGES, "s3": {"BACKEND": "no.such.Storage"}}
        settings.SITEMAPS_PLUS = {**BASE, "STORAGE": "s3"}
        [found] = check_settings()
        assert found.id == "sitemaps_plus.W004"
        assert "Could not find backend 'no.such.Storage'" in found.msg
        assert found.hint.startswith("Correct that alias in STORAGES.")

    def test_the_origin_may_be_missing_under_debug(self, settings, monkeypatch):
        """But not where the current site is installed without SITE_ID."""
        settings.CACHES = SHARED
        settings.SITEMAPS_PLUS = {}
        settings.DEBUG = True
        assert ids(check_settings()) == ["W001"]
        monkeypatch.setattr(apps, "is_installed", lambda name: True)
        for debug in (True, False):
            settings.DEBUG = debug
            assert ids(check_settings()) == ["E003"]
        settings.SITE_ID = 1
        assert ids(check_settings()) == []

    @pytest.mark.parametrize(
        ("base_url", "debug", "found"),
        [
            *(("http://localhost", False, ["W035"]), ("http://localhost", True, [])),
            *(("https://shop.com", False, []), (5, False, []), (None, False, [])),
        ],
    )
    def test_a_deployed_site_is_public(self, settings, base_url, debug, found):
        settings.SITEMAPS_PLUS, settings.DEBUG = {"BASE_URL": base_url}, debug
        assert ids(check_public_origin()) == found
        settings.SITEMAPS_PLUS = {"BASE_URL": base_url, "LANGUAGE_ORIGINS": 5}
        assert check_public_origin() == []  # another check says so

    def test_a_cache_of_one_process_matters_to_workers(self, settings, monkeypatch):
        monkeypatch.setattr("django_sitemaps_plus.checks.settings.is_test_run", bool)
        assert ids(check_settings()) == []
        path = "django_sitemaps_plus.executors.base.Executor"
        settings.SITEMAPS_PLUS = {**BASE, "EXECUTOR": path}
        assert ids(check_settings()) == ["W002"]
        settings.CACHES = SHARED
        assert ids(check_settings()) == []


SHOP, BLOG = "https://shop.example", "https://blog.example"
SITES = {"shop": {"BASE_URL": SHOP}, "blog": {"BASE_URL": BLOG}}


def views(**attributes: Any) -> type[ViewSource]:
    return type("Views", (ViewSource,), {"views": ["home"], **attributes})


@pytest.mark.usefixtures("sections", "no_base_url")
class TestSites:
    @pytest.fixture
    def no_base_url(self, configure):
        configure(BASE_URL=None)

    def test_those_that_work_are_fine(self, configure, sections):
        sections.register("pages", views(sites=["blog"]))
        configure(SITES=SITES)
        assert [*check_sites(), *check_settings(), *check_engines()] == []
        for site in get_sites():  # as sitemap_doctor asks
            with in_force(site):
                assert check_sites() == []

    @pytest.mark.parametrize(
        ("given", "expected"),
        [
            *[(it, "E060") for it in ({}, "contrib", ["shop"], 5)],
            ("contrib.sites", "E060"),  # which is not installed
            *[
                ({name: {"BASE_URL": SHOP}}, "E060")
                for name in ("Shop", "../shop", "shop\n", 5)
            ],
            *[
                ({"shop": it}, "E060")
                for it in (SHOP, {}, {"BASE_URL": "shop.example"})
            ],
            ({"shop": {"BASE_URL": SHOP, "STORAGE": "other"}}, "E060"),
            ({**SITES, "blog": {"BASE_URL": f"{SHOP}/blog"}}, "E061"),
            ({**SITES, "b": {"BASE_URL": "http://shop.example"}}, "E061"),
        ],
    )
    def test_what_is_wrong_with_the_setting_is_named(self, configure, given, expected):
        configure(SITES=given)
        assert ids(check_sites()) == [expected]
        check_settings()  # and nothing else ends by it
        check_robots()

    def test_two_have_no_language_at_one_host(self, configure):
        """As by LANGUAGE_ORIGINS of all, whose robots.txt would name one site alone."""
        configure(SITES=SITES, LANGUAGE_ORIGINS={"de": "https://de.example"})
        assert ids(check_sites()) == ["E061"]
        assert "de.example" in words(check_sites())

    def test_the_closest_key_is_proposed(self, configure):
        configure(SITES={"shop": {"BASE_URL": SHOP, "ROBOT": {}}})
        assert "'ROBOTS'" in words(check_sites())

    @pytest.mark.parametrize(
        ("sites", "given", "hint"),
        [
            (["blgo"], SITES, "Did you mean 'blog'?"),
            ("blog", SITES, "Write sites = ['blog']."),
            (["blog"], None, "Known: ['default']."),
        ],
    )
    def test_a_source_names_those_that_exist(
        self, configure, sections, sites, given, hint
    ):
        sections.register("pages", views(sites=sites))
        configure(SITES=given)
        assert ids(check_sites()) == ["E062"]
        assert hint in words(check_sites())

    @pytest.mark.parametrize(
        ("check", "given", "expected"),
        [
            (check_robots, {"ROBOTS": {"RULE": []}}, ["E024"]),
            (check_engines, {"ENGINES": {"x": {"BACKEND": "nowhere"}}}, ["E025"]),
            (check_settings, {"NOTIFY": "no"}, ["E002"]),
            (check_settings, {"LANGUAGE_ORIGINS": {"de": "b.example.de"}}, ["E002"]),
            (check_settings, {"LANGUAGE_ORIGINS": ["de"]}, ["E002"]),
        ],
    )
    def test_settings_of_one_are_checked_too(self, configure, check, given, expected):
        configure(SITES={**SITES, "blog": {"BASE_URL": BLOG, **given}})
        assert ids(check()) == expected
        assert check_sites() == []

    def test_each_address_is_to_be_public(self, configure):
        public = {"BASE_URL": "https://shop.com"}
        configure(SITES={"shop": public, "blog": {"BASE_URL": BLOG}})
        assert BLOG in words(check_public_origin())
        assert "['SITES']['blog']['BASE_URL']" in words(check_public_origin())
        german = {"LANGUAGE_ORIGINS": {"de": "https://shop.test"}}
        configure(**public, **german, SITES=None)
        assert "'https://shop.test'" in words(check_public_origin())
        configure(BASE_URL=None, LANGUAGE_ORIGINS={}, SITES={"shop": public | german})
        assert ids(check_public_origin()) == ["W035"]


def page(request: HttpRequest, **kwargs: Any) -> HttpResponse:
    return HttpResponse()


def urlconf(*patterns: Any) -> type:
    return type("Urls", (), {"urlpatterns": list(patterns)})


INCLUDED = path("", include(OURS))
ROOT = urlconf(path("<slug:page>/", page), INCLUDED)
MISSING = urlconf(path("", page))
BELOW = urlconf(path("maps/", include(OURS)))


class TestUrls:
    """The index and its pages must lead to our views, at the root."""

    @pytest.mark.parametrize(
        "root",
        [
            ROOT,
            urlconf(INCLUDED, path("<path:page>", page)),
            urlconf(
                *i18n_patterns(path("about/", page), prefix_default_language=False),
                INCLUDED,
            ),
        ],
    )
    def test_the_root_is_fine(self, settings, root):
        settings.ROOT_URLCONF = root
        assert check_urls() == []
        settings.FORCE_SCRIPT_NAME = "/app"  # the directory is that of the site
        assert check_urls() == []

    @pytest.mark.parametrize(
        ("patterns", "expected"),
        [
            ([path("", page)], "W038"),
            ([path("", include(([INCLUDED], "seo")))], "W038"),
            ([path("maps/", include(OURS))], "W031"),
            (i18n_patterns(INCLUDED), "W031"),
            ([path("<slug:tenant>/", include(OURS))], "W038"),
            ([path("sitemap.xml", include(OURS))], "E032"),
            ([path("/", include(OURS))], "E032"),
            ([path("maps", include(OURS))], "E032"),
            ([path("<path:page>", page), INCLUDED], "E031"),
            ([re_path("^sitemap-.*", page), INCLUDED], "E031"),
            ([path("sitemap.xml", page), INCLUDED], "E031"),
        ],
    )
    def test_a_wrong_place_is_named(self, settings, patterns, expected):
        settings.ROOT_URLCONF = urlconf(*patterns)
        assert ids(check_urls()) == [expected]
        assert 'path("", include("django_sitemaps_plus.urls"))' in words(check_urls())

    @pytest.mark.parametrize(
        ("patterns", "said"),
        [
            (
                [path("maps/", include(OURS))],
                "is at /maps/sitemap.xml. Nothing of this app answers /sitemap.xml.",
            ),
            (
                [path("maps/", include(OURS)), INCLUDED],
                "included twice: remove the include below /maps/",
            ),
            ([path("", include(([INCLUDED], "seo")))], "inside the namespace 'seo'"),
            ([path("<slug:tenant>/", include(OURS))], "inside a prefix that varies"),
            (i18n_patterns(INCLUDED), "outside of i18n_patterns()"),
            ([re_path("^sitemap-.*", page), INCLUDED], f"-1.xml leads to {__name__}."),
        ],
    )
    def test_a_message_has_what_answers_there(self, settings, patterns, said):
        settings.ROOT_URLCONF = urlconf(*patterns)
        assert said in words(check_urls())

    @pytest.mark.parametrize(("root", "expected"), [(ROOT, "E021"), (MISSING, "W059")])
    def test_urls_of_other_tests_stop_no_suite(
        self, settings, sections, root, expected
    ):
        """Names that they lack are Errors only beside our URLs."""
        settings.ROOT_URLCONF = root
        sections.register("views", views(views=["nowhere"]))
        sections.register("rows", limited(10, location=Route("nowhere", slug="slug")))
        assert ids(check_sources()) == [expected] * 2

    def test_a_converter_that_needs_rows_is_a_warning(self, settings):
        """Django asks it before our patterns, where it comes first."""

        class Asking(StringConverter):
            def to_python(self, value: str) -> str:
                raise LookupError(value)

        register_converter(Asking, "sitemaps_plus_asking")
        asking = path("<sitemaps_plus_asking:page>", page)
        settings.ROOT_URLCONF = urlconf(asking, INCLUDED)
        assert ids(check_urls()) == ["W037"]
        assert "LookupError: sitemap.xml" in words(check_urls())
        settings.SITEMAPS_PLUS = {**BASE, "ROBOTS": {}}
        assert ids(check_robots()) == ["W037"]


class TestRobots:
    @pytest.mark.parametrize(
        ("robots", "expected"),
        [
            (None, []),
            ({}, []),
            ("User-agent: *", ["E024"]),
            ({"RULE": []}, ["E024"]),
            ({"RULES": [{"DISALOW": "/admin/"}]}, ["E024"]),
            ({"RULES": ["/admin/"]}, ["E024"]),
            ({"RULES": {"USER_AGENT": []}}, ["E024"]),
            ({"RULES": {"DISALLOW": ["admin/", "/a\nAllow: /"]}}, ["E024", "E024"]),
            ({"RULES": {"CRAWL_DELAY": "10"}}, ["E024"]),
            ({"EXTRA": "Host: x\nDisallow: /"}, ["E024"]),
            ({"SITEMAPS": ["/sitemap.xml"]}, ["E024"]),
            ({"RULES": {"DISALLOW": "/sitemap"}}, ["W020"]),
            ({"RULES": {"DISALLOW": "/*.xml$"}}, ["W020"]),
            ({"RULES": {"DISALLOW": "/", "ALLOW": "/products/"}}, ["W020"]),
            ({"RULES": {"DISALLOW": "/", "ALLOW": "/sitemap"}}, []),
            ({"RULES": {"USER_AGENT": "GPTBot", "DISALLOW": "/"}}, []),
            ({"RULES": {"DISALLOW": "/admin/"}}, []),
        ],
    )
    def test_what_crawlers_would_misread_is_named(self, settings, robots, expected):
        """A message for each fault; a site that is closed on purpose has none."""
        settings.SITEMAPS_PLUS = {**BASE, "ROBOTS": robots}
        assert ids(check_robots()) == expected

    def test_rules_that_keep_crawlers_from_a_page_are_named(self, settings, sections):
        settings.SITEMAPS_PLUS = {**BASE, "ROBOTS": {"RULES": {"DISALLOW": "/*-1."}}}
        assert ids(check_robots()) == []
        sections.register("pages", ViewSource)
        assert ids(check_robots()) == ["W020"]

    def test_the_closest_key_is_proposed(self, settings):
        settings.SITEMAPS_PLUS = {**BASE, "ROBOTS": {"RULES": {"disallow": "/"}}}
        assert "'DISALLOW'" in words(check_robots())

    @pytest.mark.parametrize(
        ("root", "base_url"),
        [
            (BELOW, "https://example.com"),
            (urlconf(path("robots.txt", page), INCLUDED), "https://example.com"),
            ("tests.support.urls", "https://example.com/app"),
        ],
    )
    def test_a_file_that_crawlers_do_not_find_is_named(self, settings, root, base_url):
        """They look at the root of the host only, and get one answer."""
        settings.SITEMAPS_PLUS = {"BASE_URL": base_url, "ROBOTS": {}}
        settings.ROOT_URLCONF = root
        assert ids(check_robots()) == ["W021"]


CELERY = {**BASE, "EXECUTOR": "django_sitemaps_plus.tasks.CeleryExecutor"}
TASK = "django_sitemaps_plus.tasks.{}"


def make_app(name: str = "shop") -> Celery:
    """Return an app that is nobody's yet, as if no settings were named."""
    return Celery(name, broker="memory://", set_as_current=False, fixups=[])


class Faulty(Executor):
    def faults(self):
        yield "It is broken.", "Mend it."


class Lacking(Executor):
    def __init__(self):
        raise KeyError("BROKER")


class Asking(Executor):
    def faults(self):
        raise ConnectionError("refused")


@pytest.mark.usefixtures("no_app")
class TestExecutors:
    @pytest.fixture
    def no_app(self, settings, monkeypatch):
        """Have no Celery app, neither of this thread nor of all."""
        for name in ("", "READ_", "WRITE_"):
            monkeypatch.delenv(f"CELERY_BROKER_{name}URL", raising=False)
        monkeypatch.setattr(_state._tls, "current_app", None)
        monkeypatch.setattr(_state, "default_app", None)
        settings.CACHES = SHARED
        settings.SITEMAPS_PLUS = CELERY

    def test_celery_needs_an_app_of_the_project(self):
        """Else Celery makes one, which sends to a broker that nobody chose.

        An app of the thread that made it is not enough: others wake the workers.
        """
        assert ids(check_settings()) == ["W010"]
        assert "amqp://localhost" in words(check_settings())
        assert "__init__.py" in words(check_settings())
        make_app().set_current()
        assert ids(check_settings()) == ["W010"]

    @pytest.mark.parametrize("name", ["shop", "default"])
    def test_an_app_of_the_project_is_fine(self, name):
        make_app(name).set_default()
        assert check_settings() == []

    @pytest.mark.parametrize("name", ["CELERY_BROKER_URL", "CELERY_BROKER_WRITE_URL"])
    def test_a_broker_that_celery_finds_by_itself_is_fine(self, monkeypatch, name):
        monkeypatch.setenv(name, "memory://")
        assert check_settings() == []

    @pytest.mark.parametrize(
        ("conf", "seconds", "expected"),
        [
            ({"task_time_limit": 60}, 60, ["W010"]),
            ({"task_soft_time_limit": 60}, 60, ["W010"]),
            ({"task_soft_time_limit": 60}, 50, []),
            ({"task_time_limit": 60}, "300", ["E002", "W010"]),  # by default 60
            (
                {"task_annotations": {TASK.format("build_pages"): {"time_limit": 30}}},
                60,
                ["W010"],
            ),
            (
                {
                    "task_soft_time_limit": 60,
                    "task_annotations": {
                        TASK.format(name): {"soft_time_limit": 300}
                        for name in ("refresh", "build_pages", "audit", "audit_listed")
                    },
                },
                60,
                [],
            ),
        ],
    )
    def test_a_time_limit_that_ends_each_long_build_is_named(
        self, settings, conf, seconds, expected
    ):
        settings.SITEMAPS_PLUS = {**CELERY, "TASK_SECONDS": seconds}
        app = make_app()
        app.set_default()
        app.conf.update(conf)
        assert ids(check_settings()) == expected

    @pytest.mark.parametrize("name", ["Lacking", "Asking"])
    def test_what_an_executor_raises_is_a_warning(self, settings, name):
        settings.SITEMAPS_PLUS = {**BASE, "EXECUTOR": f"{__name__}.{name}"}
        assert ids(check_settings()) == ["W037"]

    def test_an_executor_says_what_is_wrong_with_it(self, settings):
        settings.SITEMAPS_PLUS = {**BASE, "EXECUTOR": f"{__name__}.Faulty"}
        assert words(check_settings()).startswith("It is broken. Mend it. See: ")


OPS = {"ops": "all", "timeout": 60}
OUR_TABLES = [
    it._meta.db_table for it in apps.get_app_config("sitemaps_plus").get_models()
]


class TestRowCaches:
    @pytest.mark.parametrize(
        "given",
        [
            {"CACHEOPS": {"*.*": OPS}},
            {"CACHEOPS": {"sitemaps_plus.*": OPS, "*.*": None}},
            {"CACHEOPS": {"*.*": OPS, "sitemaps_plus.Page": None}},
            {"CACHEOPS": {"sitemaps_plus.Section": {"ops": "get", "timeout": 1}}},
            {"CACHEOPS": {"*.*": {"timeout": 60}}, "CACHEOPS_DEFAULTS": {"ops": "all"}},
            {"CACHALOT_UNCACHABLE_APPS": ["shop"]},
            {"CACHALOT_UNCACHABLE_TABLES": {"django_migrations", *OUR_TABLES[1:]}},
            {"CACHALOT_ONLY_CACHABLE_TABLES": ["shop_product", *OUR_TABLES[:1]]},
            {"CACHALOT_ONLY_CACHABLE_APPS": ("shop", "sitemaps_plus")},
        ],
    )
    def test_what_keeps_rows_of_ours_is_named_with_what_to_write(self, settings, given):
        for name, value in given.items():
            setattr(settings, name, value)
        (message,) = check_row_caches()
        assert ids([message]) == ["W057"]
        assert next(iter(given)).partition("_")[0] in message.hint
        assert "sitemaps_plus" in message.hint

    @pytest.mark.parametrize(
        "given",
        [
            *({}, {"CACHEOPS": {}}, {"CACHEOPS": {"shop.*": OPS}}),
            {"CACHEOPS": {"*.*": OPS, "sitemaps_plus.*": None}},
            {"CACHEOPS": {"*.*": OPS, "Sitemaps_Plus.*": {"ops": (), "timeout": 9}}},
            {"CACHEOPS": {"*.*": {"timeout": 60}}},
            {"CACHEOPS": {"*.*": OPS}, "CACHEOPS_ENABLED": False},
            {"CACHALOT_UNCACHABLE_APPS": ["sitemaps_plus"]},
            {"CACHALOT_UNCACHABLE_TABLES": OUR_TABLES},
            {"CACHALOT_ONLY_CACHABLE_TABLES": ["shop_product"]},
            {"CACHALOT_ONLY_CACHABLE_APPS": ["shop"]},
            {"CACHALOT_UNCACHABLE_APPS": ["shop"], "CACHALOT_ENABLED": False},
            {"CACHALOT_UNCACHABLE_APPS": ["shop"], "CACHALOT_DATABASES": ["replica"]},
        ],
    )
    def test_what_keeps_none_is_not(self, settings, given):
        for name, value in given.items():
            setattr(settings, name, value)
        assert check_row_caches() == []

    def test_what_the_check_cannot_read_stops_nothing(self, settings):
        """A tuple, as an older release of that library took it."""
        settings.CACHEOPS = {"*.*": ("all", 60)}
        assert ids(check_row_caches()) == ["W037"]


def engine(name: str, **options: object) -> dict[str, object]:
    return {"BACKEND": f"{BACKENDS}.{name}", "OPTIONS": options}


BACKENDS = "django_sitemaps_plus.notifications"
RECORDING = {"BACKEND": "django_sitemaps_plus.testing.RecordingEngine"}
TEXT = json.dumps(make_service_account(State(url="https://x")))
CONSOLE = "SearchConsole"
KEY = "0123456789abcdef"
INDEXNOW = engine("IndexNow", key=KEY)


@pytest.fixture
def one_engine(settings, sections):
    settings.SITEMAPS_PLUS = {**BASE, "ENGINES": {"one": RECORDING}}


@pytest.mark.usefixtures("one_engine")
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
        ({"one": {"BACKEND": f"{BACKENDS}.Gopher"}}, ["E025"]),
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


class AskingEngine(Engine):
    """Takes a key by itself."""

    def __init__(self, key: str, fault: Exception | None = None) -> None:
        if fault is not None:
            raise fault

    def send(self, batch: Batch) -> None:
        pass


def asking(**options: object) -> dict[str, object]:
    return {"BACKEND": f"{__name__}.AskingEngine", "OPTIONS": options}


@pytest.mark.usefixtures("one_engine")
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


@pytest.mark.usefixtures("one_engine")
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
        ({"one": engine("IndexNow", KEY=KEY)}, "'KEY'. Did you mean 'key'? IndexNow"),
        ({"bing": engine("IndexNow")}, "'key' of IndexNow must be 8 to 128 of"),
        *[
            ({"one": {"BACKEND": it}}, f"Did you mean '{BACKENDS}.IndexNow'?")
            for it in (f"{BACKENDS}.Indexnow", "django_sitemaps_plus.engines.IndexNow")
        ],
        (
            {"one": {"BACKEND": f"{BACKENDS}.IndexNow", "key": KEY}},
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
    assert str(message).count("--explain") == 1
    assert caplog.records == []


@pytest.mark.usefixtures("one_engine")
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


@pytest.mark.usefixtures("one_engine")
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


#: Asks the package anew.


class TestExplained:
    """A hint ends with the command that prints the entry of its check."""

    def test_the_command_works_whatever_the_setting_is(self, settings, run):
        settings.SITEMAPS_PLUS = 5
        for message in check_settings():
            command = message.hint.partition(" See: manage.py ")[2]
            assert run(*command.split()).startswith(f"{message.id}\n\n")

    @pytest.mark.parametrize("given", ["W013", "w013", "sitemaps_plus.W013", " w013 "])
    def test_an_id_may_be_written_as_people_do(self, run, given):
        said = run("sitemap_doctor", "--explain", given, "--site", "nowhere")
        assert said.startswith("sitemaps_plus.W013\n\nRows may depend on other rows")
        assert "`watch`" in said
        assert ".md" not in said  # a wheel has no other page

    @pytest.mark.parametrize(
        ("given", "near"),
        [
            ("W014", "E014, W013, E013"),  # it was one
            ("W99", "E063, E062, W061"),
            ("models.W042", "E042, W043, E040"),
            ("", "E001, W001, E002"),
        ],
    )
    def test_an_unknown_id_is_an_error_with_the_nearest(self, run, given, near):
        with pytest.raises(CommandError) as caught:
            run("sitemap_doctor", "--explain", given)
        assert str(caught.value) == (
            f"There is no check {given!r}; the nearest ids are {near}."
        )
        assert caught.value.returncode == 1
