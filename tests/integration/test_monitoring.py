"""The views for monitors: who may see them, and what they say."""

from __future__ import annotations

import logging
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families as parse_plain

from django_sitemaps_plus import monitoring
from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.diagnostics.answers import look
from django_sitemaps_plus.diagnostics.metrics import METRICS
from django_sitemaps_plus.models import MAX_ATTEMPTS, Change, EngineHost, Page
from django_sitemaps_plus.sites import get_site
from django_sitemaps_plus.testing import RecordingEngine
from tests.support.builds import build_fully
from tests.support.faults import fail_queries
from tests.support.shop import limited, make_products
from tests.support.testapp.models import Product

TOKEN = "0123456789abcdefXYZ"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
LOGIN_REQUIRED = ["django.contrib.auth.middleware.LoginRequiredMiddleware"]
PATHS = ("/monitoring/health/", "/monitoring/metrics/")
HEALTH, METRICS_PATH = PATHS
OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"

#: What Prometheus sends.
SCRAPE = (
    "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,"
    "application/openmetrics-text;version=0.0.1;q=0.5,"
    "text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,"
    "text/plain;version=0.0.4;q=0.3,*/*;q=0.2"
)


@pytest.fixture(autouse=True)
def configured(configure: Any, sections: Any) -> None:
    """Have a token, an engine and three pages of products."""
    backend = f"{RecordingEngine.__module__}.RecordingEngine"
    configure(MONITORING_TOKEN=TOKEN, ENGINES={"one": {"BACKEND": backend}})
    make_products(25)
    sections.register("products", limited(10))
    build_fully()


def login(client: Client, *, is_staff: bool = True, may_see: bool = True) -> None:
    """Log somebody in."""
    user = User.objects.create_user("somebody", is_staff=is_staff)
    if may_see:
        user.user_permissions.add(Permission.objects.get(codename="view_dashboard"))
    client.force_login(user)


def health(client: Client, query: str = "") -> tuple[int, dict[str, Any]]:
    """Return the status and the content of the health view."""
    answer = client.get(f"{HEALTH}{query}", headers=BEARER)
    assert answer.headers["Content-Type"] == "application/json"
    return answer.status_code, answer.json()


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("LEASE_SECONDS", "60", "settings_wrong"),
        ("LEASE_SECOND", 60, "settings_wrong"),
        ("CLIENT_CACHE_SECONDS", None, "settings_wrong"),
        ("PRUNE_SECONDS", "x", "settings_wrong"),
        ("CACHE", ["default"], "settings_wrong"),
        ("CACHE", "nope", "settings_wrong"),
        ("EXECUTOR", "nope.Executor", "settings_wrong"),
        ("ENGINES", 5, "engine_broken"),
        ("ENGINES", {"one": {"BACKEND": "nope.Engine"}}, "engine_broken"),
    ],
)
def test_a_wrong_setting_is_told_and_ends_nothing(
    admin_client, configure, key, value, told
):
    """A server such as gunicorn runs no check that would name it."""
    configure(**{key: value})
    for path in (METRICS_PATH, "/admin/sitemaps_plus/dashboard/", "/sitemap.xml"):
        assert admin_client.get(path).status_code == 200
    status, found = health(admin_client)
    assert (status, found["ids"]) == (503, [told])
    with pytest.raises(CommandError, match=key):
        call_command("sitemap_status", stdout=StringIO())


def test_no_secret_of_a_wrong_setting_is_shown(admin_client, settings):
    given = settings.SITEMAPS_PLUS
    for value in (
        [("MONITORING_TOKEN", "s3cr3t")],
        {**given, "CACHE": "redis://:s3cr3t@host/0"},
        {**given, "MONITORING_TOKEN": 5, "ENGINES": {"a": {"OPTIONS": "s3cr3t"}}},
    ):
        settings.SITEMAPS_PLUS = value
        assert "s3cr3t" not in admin_client.get(HEALTH).text


class TestAccess:
    @pytest.mark.parametrize("path", PATHS)
    @pytest.mark.parametrize(
        ("header", "expected"),
        [
            (f"Bearer {TOKEN}", 200),
            (f"bearer  {TOKEN} ", 200),
            (None, 401),
            ("", 401),
            (f"Bearer {TOKEN}x", 403),
            (f"Bearer {TOKEN[:-1]}", 403),
            (f"Bearer {TOKEN.lower()}", 403),
            ("Bearer", 403),
            (f"Token {TOKEN}", 403),
            (TOKEN, 403),
            ("Bearer \u00fc\u2713", 403),
            (f"Basic {TOKEN}", 403),
        ],
    )
    def test_the_token_opens_both_views(self, client, path, header, expected):
        """Nothing else does, and a refusal says nothing."""
        headers = {} if header is None else {"Authorization": header}
        answer = client.get(path, headers=headers)
        assert answer.status_code == expected
        assert answer.headers["Cache-Control"] == "no-store"
        assert (answer.content == b"") is (expected != 200)
        says_how = answer.headers.get("WWW-Authenticate") == "Bearer"
        assert says_how is (expected == 401)

    @pytest.mark.parametrize("path", PATHS)
    @pytest.mark.parametrize(
        "token", [None, "", "short", "x" * 15, 5, b"x" * 20, " " * 16]
    )
    def test_a_token_that_is_soon_guessed_opens_nothing(
        self, client, configure, path, token
    ):
        """A check names it; nor does the text of what is no token."""
        configure(MONITORING_TOKEN=token)
        for said in (token, str(token), ""):
            headers = {"Authorization": f"Bearer {said}"}
            assert client.get(path, headers=headers).status_code == 403

    @pytest.mark.parametrize("path", PATHS)
    @pytest.mark.parametrize(
        ("is_staff", "may_see", "expected"),
        [(True, True, 200), (True, False, 403), (False, True, 403)],
    )
    def test_staff_may_see_what_the_dashboard_shows(
        self, client, configure, path, is_staff, may_see, expected
    ):
        """Whether or not there is a token, and whatever a proxy asks for."""
        login(client, is_staff=is_staff, may_see=may_see)
        assert client.get(path).status_code == expected
        basic = client.get(path, headers={"Authorization": "Basic eDp5"})
        assert basic.status_code == expected
        configure(MONITORING_TOKEN=None)
        assert client.get(path).status_code == expected

    @pytest.mark.parametrize("path", PATHS)
    @pytest.mark.parametrize("middleware", [[], LOGIN_REQUIRED])
    def test_monitors_need_not_log_in(self, client, settings, path, middleware):
        """Where all other views of a project need it, or it has no users."""
        settings.MIDDLEWARE = [*settings.MIDDLEWARE, *middleware] if middleware else []
        assert client.get(path, headers=BEARER).status_code == 200
        assert client.get(path).status_code == 401

    @pytest.mark.parametrize("path", PATHS)
    def test_they_are_only_read(self, client, path):
        assert client.head(path, headers=BEARER).status_code == 200
        for method in (client.post, client.put, client.delete):
            assert method(path, headers=BEARER).status_code == 405

    @pytest.mark.database
    @pytest.mark.parametrize("path", PATHS)
    def test_they_ask_little_and_write_nothing(self, client, path):
        login(client)
        with CaptureQueriesContext(connection) as by_token:
            assert Client().get(path, headers=BEARER).status_code == 200
        with CaptureQueriesContext(connection) as by_session:
            assert client.get(path).status_code == 200
        assert len(by_token) <= 12
        assert len(by_session) - len(by_token) <= 4  # session, user and permissions
        statements = {it["sql"].split()[0] for it in [*by_token, *by_session]}
        assert statements == {"SELECT"}


class TestSecrecy:
    def test_the_token_is_nowhere_to_be_read(
        self, client, settings, caplog, monkeypatch
    ):
        """Neither in logs, nor in the page that shows an error under DEBUG."""
        settings.DEBUG = True
        caplog.set_level(logging.DEBUG)
        client.raise_request_exception = False

        def fail(*args: object) -> None:
            raise RuntimeError("it broke")

        monkeypatch.setattr(monitoring, "read_dashboard", fail)
        answer = client.get(HEALTH, headers=BEARER)
        assert answer.status_code == 500
        assert "MONITORING_TOKEN" in answer.text
        assert "it broke" in answer.text
        wrong = client.get(HEALTH, headers={"Authorization": f"Bearer {TOKEN}0"})
        said = [repr(get_settings()), caplog.text, answer.text, wrong.text]
        said += [repr(vars(record)) for record in caplog.records]
        assert [text for text in said if TOKEN in text] == []

    def test_values_of_rows_are_told_who_may_view_them(self, client, sections):
        """Others see the kind of the error alone; the token is the operator's."""

        def fail(self: Any, row: Product) -> Any:
            raise ValueError("secret")

        sections.unregister("products")
        sections.register("products", limited(10, on_error="raise", priority=fail))
        build(full=True)
        login(client)
        for rights, headers in (([], {}), ([], BEARER), (["view_product"], {})):
            granted = Permission.objects.filter(codename__in=rights)
            User.objects.get().user_permissions.add(*granted)
            [words] = client.get(HEALTH, headers=headers).json()["problems"]
            assert "ValueError" in words
            assert ("secret" in words) == bool(rights or headers)

    def test_a_database_that_is_away_is_a_sentence(self, client, caplog):
        """Whoever asks; what the database said is for the log."""
        login(client)
        for path in PATHS:
            for headers in (BEARER, {}):
                with fail_queries(lambda sql: True):
                    answer = client.get(path, headers=headers)
                assert answer.status_code == 503
                assert answer.headers["Cache-Control"] == "no-store"
                [problem] = answer.json()["problems"]
                assert problem == ("The state is unknown: the database cannot be read.")
        actions = [getattr(it, "action", it.name) for it in caplog.records]
        assert actions.count("state_unknown") == 4
        assert "the server closed the connection" in caplog.text


class TestHealth:
    def test_all_is_well(self, client):
        look(get_site())
        assert health(client) == (200, {"status": "ok", "problems": [], "ids": []})

    def test_what_needs_a_person_is_a_503(self, client, caplog):
        """Which Django does not mail to ADMINS each time that a monitor asks."""
        caplog.clear()
        page = Page.objects.filter(section__name="products", number=1)
        page.update(wanted=9, attempts=MAX_ATTEMPTS, error="it broke: \u2713")
        status, found = health(client)
        [words] = found.pop("problems")
        assert words.startswith("products: Pages given up for now: 1.")
        assert "it broke: \u2713" in words
        assert (status, found) == (503, {"status": "problem", "ids": ["pages_parked"]})
        assert caplog.records == []

    def test_what_waits_for_too_long_may_be_a_problem(self, client):
        hour_ago = timezone.now() - timedelta(hours=1)
        Change.objects.create(section="products", kind="key", low="1", at=hour_ago)
        assert health(client)[0] == health(client, "?max_age=7200")[0] == 200
        status, found = health(client, "?max_age=600")
        assert status == 503
        assert found["ids"] == ["section_overdue"]

    @pytest.mark.parametrize("max_age", ["soon", "-1", "", "9" * 5_000])
    def test_what_cannot_be_asked_is_refused(self, client, max_age):
        """But first who asks."""
        query = f"?max_age={max_age}"
        assert client.get(f"{HEALTH}{query}", headers=BEARER).status_code == 400
        assert client.get(f"{HEALTH}{query}").status_code == 401

    def test_of_several_sites_each_problem_says_where_it_is(self, client, configure):
        sites = {it: {"BASE_URL": f"https://{it}.example"} for it in ("shop", "blog")}
        configure(BASE_URL=None, SITES=sites)
        EngineHost.objects.create(
            site="blog", engine="one", host="blog.example", parked_reason="the key"
        )
        status, found = health(client)
        assert status == 503
        [problem] = found["problems"]
        assert problem.startswith("blog: one: Not notified: blog.example: the key")

    def test_a_project_without_an_origin_is_told_so(self, client, settings):
        settings.SITEMAPS_PLUS = {"MONITORING_TOKEN": TOKEN}
        status, found = health(client)
        assert status == 503
        assert "BASE_URL" in found["problems"][0]


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        (None, OPENMETRICS),
        ("*/*", OPENMETRICS),
        (SCRAPE, OPENMETRICS),
        ("application/json", OPENMETRICS),
        ("text/plain;version=0.0.4", "text/plain; version=0.0.4; charset=utf-8"),
    ],
)
def test_both_formats_of_prometheus_are_served(client, accept, expected):
    headers = BEARER if accept is None else {**BEARER, "Accept": accept}
    answer = client.get(METRICS_PATH, headers=headers)
    assert answer.headers["Content-Type"] == expected
    assert answer.text.endswith("\n# EOF\n")
    families = {it.name: it for it in parse_plain(answer.text)}
    assert list(families) == [it.name for it in METRICS]
