"""Every system check says what is wrong, and nothing where nothing is."""

from __future__ import annotations

import pytest
from celery import Celery, _state
from django.apps import apps
from django.http import HttpResponse
from django.urls import include, path

from django_sitemaps_plus import ViewSource
from django_sitemaps_plus.checks import (
    check_public_origin,
    check_robots,
    check_row_caches,
    check_settings,
    check_token,
)
from django_sitemaps_plus.checks.examining import PAGE
from django_sitemaps_plus.conf import AppSettings
from django_sitemaps_plus.executors.base import Executor
from django_sitemaps_plus.testing import temporary_registry

BASE = {"BASE_URL": "https://example.com"}
SHARED = {"default": {"BACKEND": "django.core.cache.backends.db.DatabaseCache"}}


def ids(messages) -> list[str]:
    """Return the ids of messages, without the app's label."""
    return [message.id.removeprefix("sitemaps_plus.") for message in messages]


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
            ({**BASE, "NOTIFY": "yes"}, ["E002"]),
            ({**BASE, "NOTIFY_RETRY_SECONDS": 0}, ["E002"]),
            ({**BASE, "NOTIFY_RETRY_SECONDS": 0.5}, []),
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
            (["BASE_URL"], "SITEMAPS_PLUS is ['BASE_URL'], which is not a dict."),
            ({**BASE, "LIVE_MAX_ROW": 5}, "Did you mean 'LIVE_MAX_ROWS'?"),
            (
                {"BASE_URL": "shop.example"},
                "BASE_URL: 'shop.example' is not an absolute http or https URL. "
                "Did you mean 'https://shop.example'?",
            ),
            (
                {**BASE, "LEASE_SECONDS": True},
                "SITEMAPS_PLUS['LEASE_SECONDS'] is True: it must be a whole number, "
                "2 or more.",
            ),
            (
                {**BASE, "STORAGE": "nowhere"},
                "SITEMAPS_PLUS['STORAGE'] is 'nowhere', which STORAGES does not "
                "define.",
            ),
        ],
    )
    def test_a_message_has_value_reason_and_remedy(self, settings, given, said):
        settings.SITEMAPS_PLUS = given
        message = check_settings()[0]
        assert said in f"{message.msg} {message.hint}"
        code = message.id.partition(".")[2].lower()
        assert message.hint.endswith(f" See {PAGE}#{code}")

    def test_a_secret_is_not_quoted(self, settings):
        settings.SITEMAPS_PLUS = {**BASE, "MONITORING_TOKEN": "it-is-secret"}
        [message] = check_settings()
        assert "it-is-secret" not in f"{message.msg} {message.hint}"

    def test_files_need_a_place(self, settings):
        """Builds do; what is served live needs none."""
        settings.MEDIA_ROOT = ""
        assert ids(check_settings()) == ["W004"]

    def test_without_an_origin_debug_only_warns(self, settings):
        settings.SITEMAPS_PLUS = {}
        settings.DEBUG = True
        assert ids(check_settings()) == ["W001"]

    def test_the_current_site_needs_site_id(self, settings, monkeypatch):
        """Under DEBUG too, where the host of a request would do without the app."""
        settings.CACHES = SHARED
        settings.SITEMAPS_PLUS = {}
        monkeypatch.setattr(apps, "is_installed", lambda name: True)
        assert ids(check_settings()) == ["E003"]
        settings.DEBUG = True
        assert ids(check_settings()) == ["E003"]
        settings.SITE_ID = 1
        assert ids(check_settings()) == []

    @pytest.mark.parametrize(
        ("base_url", "debug", "found"),
        [
            ("http://localhost", False, ["W035"]),
            ("http://localhost", True, []),
            ("https://shop.com", False, []),
            (5, False, []),
            (None, False, []),
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


class Elsewhere:
    """A URLconf that includes ours below the root."""

    urlpatterns = [path("maps/", include("django_sitemaps_plus.urls"))]


class Behind:
    """A URLconf where another view answers /robots.txt first."""

    urlpatterns = [
        path("robots.txt", lambda request: HttpResponse("mine")),
        path("", include("django_sitemaps_plus.urls")),
    ]


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

    def test_rules_that_keep_crawlers_from_a_page_are_named(self, settings):
        settings.SITEMAPS_PLUS = {**BASE, "ROBOTS": {"RULES": {"DISALLOW": "/*-1."}}}
        with temporary_registry() as sections:
            assert ids(check_robots()) == []
            sections.register("pages", ViewSource)
            assert ids(check_robots()) == ["W020"]

    def test_the_closest_key_is_proposed(self, settings):
        settings.SITEMAPS_PLUS = {**BASE, "ROBOTS": {"RULES": {"disallow": "/"}}}
        (message,) = check_robots()
        assert "'DISALLOW'" in message.msg

    @pytest.mark.parametrize(
        ("urlconf", "base_url"),
        [
            (Elsewhere, "https://example.com"),
            (Behind, "https://example.com"),
            ("tests.support.urls", "https://example.com/app"),
        ],
    )
    def test_a_file_that_crawlers_do_not_find_is_named(
        self, settings, urlconf, base_url
    ):
        """They look at the root of the host only, and get one answer."""
        settings.SITEMAPS_PLUS = {"BASE_URL": base_url, "ROBOTS": {}}
        settings.ROOT_URLCONF = urlconf
        assert ids(check_robots()) == ["W021"]


CELERY = {**BASE, "EXECUTOR": "django_sitemaps_plus.tasks.CeleryExecutor"}
TASK = "django_sitemaps_plus.tasks.{}"


@pytest.fixture
def no_app(settings, monkeypatch):
    """Have no Celery app, neither of this thread nor of all."""
    for name in ("", "READ_", "WRITE_"):
        monkeypatch.delenv(f"CELERY_BROKER_{name}URL", raising=False)
    monkeypatch.setattr(_state._tls, "current_app", None)
    monkeypatch.setattr(_state, "default_app", None)
    settings.CACHES = SHARED
    settings.SITEMAPS_PLUS = CELERY


def make_app(name: str = "shop") -> Celery:
    """Return an app that is nobody's yet, as if no settings were named."""
    return Celery(name, broker="memory://", set_as_current=False, fixups=[])


@pytest.mark.usefixtures("no_app")
class TestCelery:
    def test_it_needs_one_of_the_project(self):
        """Else Celery makes one, which sends to a broker that nobody chose."""
        [message] = check_settings()
        assert ids([message]) == ["W010"]
        assert "amqp://localhost" in message.msg
        assert "__init__.py" in message.hint

    @pytest.mark.parametrize("name", ["shop", "default"])
    def test_one_of_the_project_is_fine(self, name):
        make_app(name).set_default()
        assert check_settings() == []

    def test_one_of_one_thread_is_not_enough(self):
        """It is current in the thread that made it; others wake the workers."""
        make_app().set_current()
        assert ids(check_settings()) == ["W010"]

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
        ({"task_time_limit": 60}, "300", ["E002"]),
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
                    for name in ("refresh", "build_pages", "audit")
                },
            },
            60,
            [],
        ),
    ],
)
def test_a_time_limit_that_ends_each_long_build_is_named(
    no_app, settings, conf, seconds, expected
):
    settings.SITEMAPS_PLUS = {**CELERY, "TASK_SECONDS": seconds}
    app = make_app()
    app.set_default()
    app.conf.update(conf)
    assert ids(check_settings()) == expected


class Faulty(Executor):
    """An executor of the project."""

    def faults(self):
        yield "It is broken.", "Mend it."


class Lacking(Executor):
    """An executor that needs what the environment lacks."""

    def __init__(self):
        raise KeyError("BROKER")


class Asking(Executor):
    """An executor that asks its broker."""

    def faults(self):
        raise ConnectionError("refused")


@pytest.mark.parametrize("name", ["Lacking", "Asking"])
def test_what_an_executor_raises_is_a_warning(no_app, settings, name):
    settings.SITEMAPS_PLUS = {**BASE, "EXECUTOR": f"{__name__}.{name}"}
    assert ids(check_settings()) == ["W037"]


def test_a_token_that_the_environment_lacks_is_for_deploys(settings):
    settings.CACHES = SHARED
    settings.SITEMAPS_PLUS = {**BASE, "MONITORING_TOKEN": ""}
    assert check_settings() == []
    assert ids(check_token()) == ["E063"]
    settings.SITEMAPS_PLUS = {**BASE, "MONITORING_TOKEN": None}
    assert check_token() == []


def test_an_executor_says_what_is_wrong_with_it(no_app, settings):
    settings.SITEMAPS_PLUS = {**BASE, "EXECUTOR": f"{__name__}.Faulty"}
    [message] = check_settings()
    assert message.msg == "It is broken."
    assert message.hint.startswith(f"Mend it. See {PAGE}")


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
        name = next(iter(given)).partition("_")[0]
        assert name in message.hint
        assert "sitemaps_plus" in message.hint

    @pytest.mark.parametrize(
        "given",
        [
            {},
            {"CACHEOPS": {}},
            {"CACHEOPS": {"shop.*": OPS}},
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
