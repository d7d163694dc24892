"""The doctor: what each probe says of a site that is well, and of one that is not."""

from __future__ import annotations

import io
import json
from datetime import timedelta
from typing import Any

import pytest
from django.core.cache.backends.dummy import DummyCache
from django.core.management import CommandError, call_command
from django.db import connection, connections
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import F, QuerySet
from django.http import HttpResponse
from django.urls import path, re_path

from django_sitemaps_plus import tasks
from django_sitemaps_plus.diagnostics import doctor
from django_sitemaps_plus.diagnostics.doctor import Finding
from django_sitemaps_plus.executors.base import get_executor
from django_sitemaps_plus.models import Change, EngineHost, Page, Section
from django_sitemaps_plus.storage import AtomicFileSystemStorage
from tests.support import urls
from tests.support.builds import build_fully
from tests.support.faults import fail_open, fail_queries, fail_save
from tests.support.servers.workers import Broker, messages_to, start_worker
from tests.support.shop import ProductSource, limited, make_products

pytestmark = [pytest.mark.django_db]

KEY = "0123456789abcdef"
INDEXNOW = "django_sitemaps_plus.notifications.engines.indexnow.IndexNow"
INCLUDE = 'Put path("", include("django_sitemaps_plus.urls")) first'


@pytest.fixture(autouse=True)
def site(settings: Any, configure: Any, sections: Any, tmp_path: Any) -> None:
    """Have a site in production, with a section, an engine and a shared cache."""
    configure(
        BASE_URL="https://shop.dev",
        ROBOTS={},
        NOTIFY=True,
        ENGINES={"indexnow": {"BACKEND": INDEXNOW, "OPTIONS": {"key": KEY}}},
    )
    backend = "django.core.cache.backends.filebased.FileBasedCache"
    settings.CACHES = {"default": {"BACKEND": backend, "LOCATION": str(tmp_path)}}
    settings.MEDIA_ROOT = str(tmp_path / "media")
    make_products(3)
    sections.register("products", limited(2))
    build_fully()


def examined(**options: Any) -> dict[str, Finding]:
    """Return all findings by their names."""
    return {finding.name: finding for finding in doctor.examine(**options)}


def urlconf(*patterns: Any) -> Any:
    """Return a URLconf that begins with some patterns."""
    return type("Urls", (), {"urlpatterns": [*patterns, *urls.urlpatterns]})


def test_a_site_that_is_well_has_ticks_only():
    """Without remedies; no worker is a choice."""
    found = examined()
    assert {name: it.ok for name, it in found.items()} == {
        "settings": True,
        "database": True,
        "migrations": True,
        "origin": True,
        "storage": True,
        "cache": True,
        "section products": True,
        "index": True,
        "robots.txt": True,
        "key file of indexnow": True,
        "workers": None,
        "builds": True,
        "engine indexnow": True,
    }
    assert [it.remedy for it in found.values()] == [""] * len(found)
    entries = found["section products"].text
    assert entries == "columns; 3 entries on 2 pages"
    assert found["index"].text == "https://shop.dev/sitemap.xml answers 200"
    assert KEY not in str(found)


def test_what_a_probe_raises_is_a_cross_and_the_others_go_on(monkeypatch):
    """With its own remedy, and without a traceback."""
    monkeypatch.setattr(doctor, "is_public", lambda origin: 1 / 0)
    found = examined()
    origin = found["origin"]
    assert (origin.ok, origin.text) == (False, "ZeroDivisionError: division by zero")
    assert origin.remedy == "Mend the database and its migrations first."
    assert [name for name, it in found.items() if it.ok is False] == ["origin"]


@pytest.mark.django_db(transaction=True)
def test_a_database_that_is_down_is_a_cross_wherever_it_is_needed():
    """Key files and the cache need none."""
    with fail_queries(lambda sql: True):
        found = examined()
    faults = {name for name, it in found.items() if it.ok is False}
    assert faults == {
        *("database", "migrations", "sections", "index", "builds", "engines")
    }
    assert "the server closed the connection" in found["database"].text
    assert found["key file of indexnow"].ok


class TestRowsInCaches:
    """Changes are never taken, and what is seen of them is long past."""

    def test_a_cache_that_settings_name_is_a_fault(self, settings):
        settings.CACHEOPS = {"*.*": {"ops": "all", "timeout": 60}}
        assert examined()["settings: sitemaps_plus.W057"].ok is False
        settings.CACHEOPS["sitemaps_plus.*"] = None
        assert examined()["settings"].ok

    def test_so_is_one_that_is_not_known_by_name(self, monkeypatch):
        kept: dict[str, Any] = {}
        fetch_all = QuerySet._fetch_all

        def fetch(rows: Any) -> None:
            if rows.model is Section and rows._result_cache is None:
                fetch_all(rows)
                rows._result_cache = kept.setdefault(
                    str(rows.query), rows._result_cache
                )
            fetch_all(rows)

        monkeypatch.setattr(QuerySet, "_fetch_all", fetch)
        assert "row cache" not in examined()

        def fetch_kept(rows: Any) -> None:
            if rows.model is Section:
                rows._result_cache = kept.get(str(rows.query), rows._result_cache)
            fetch(rows)

        monkeypatch.setattr(QuerySet, "_fetch_all", fetch_kept)
        assert examined()["row cache"].ok is False


class TestSettings:
    def test_a_message_of_a_check_has_its_hint(self, configure):
        configure(BASEURL="https://shop.dev")
        [found] = [it for it in doctor._settings(None) if it.ok is False]
        assert found.name == "settings: sitemaps_plus.E001"
        assert "unknown key 'BASEURL'" in found.text
        assert "Did you mean 'BASE_URL'?" in found.remedy

    def test_a_warning_is_no_fault_and_may_be_silenced(self, settings, configure):
        configure(ROBOTS={"RULES": [{"DISALLOW": "/sitemap"}]})
        [found] = doctor._settings(None)
        assert (found.name, found.ok) == ("settings: sitemaps_plus.W020", None)
        settings.SILENCED_SYSTEM_CHECKS = ["sitemaps_plus.W020"]
        [found] = doctor._settings(None)
        assert found.ok


class TestDatabase:
    @pytest.mark.skipif(connection.vendor != "sqlite", reason="others have no modes")
    def test_sqlite_is_to_begin_with_a_write_lock(self, settings, monkeypatch):
        """In development it need not."""
        monkeypatch.setattr(connections["default"], "transaction_mode", None)
        found = examined()["database"]
        assert found.ok is False
        assert found.text.endswith("transaction_mode DEFERRED")
        assert "'transaction_mode': 'IMMEDIATE'" in found.remedy
        settings.DEBUG = True
        assert examined()["database"].ok is None

    @pytest.mark.database
    @pytest.mark.django_db(transaction=True)
    @pytest.mark.skipif(connection.vendor == "sqlite", reason="it has one isolation")
    def test_others_are_to_read_what_is_committed(self):
        kind = "CHARACTERISTICS AS " if connection.vendor == "postgresql" else ""
        with connection.cursor() as cursor:
            cursor.execute(
                f"SET SESSION {kind}TRANSACTION ISOLATION LEVEL SERIALIZABLE"
            )
        try:
            [found] = doctor._database(None)
        finally:
            connection.close()
        assert (found.ok, found.text) == (False, f"{connection.vendor}, serializable")
        assert "isolation_level" in found.remedy

    def test_a_migration_that_is_not_applied_is_named(self):
        MigrationRecorder(connection).record_unapplied("sitemaps_plus", "0001_initial")
        [found] = doctor._migrations(None)
        assert (found.ok, found.text) == (False, "not applied: 0001_initial")
        assert found.remedy == "Run manage.py migrate."


class TestOrigin:
    def test_one_that_is_private_is_a_fault_in_production(self, settings, configure):
        configure(BASE_URL="http://localhost:8000")
        found = examined()["origin"]
        assert found.ok is False
        assert found.text == "search engines cannot reach http://localhost:8000"
        settings.DEBUG = True
        assert examined()["origin"].ok is None

    def test_without_one_the_rest_is_examined(self, configure):
        configure(BASE_URL=None)
        found = examined()
        assert found["origin"].text == "Sitemap URLs have no origin"
        assert found["origin"].remedy.startswith("Set SITEMAPS_PLUS['BASE_URL']")
        assert found["index"].text == "http://localhost:8000/sitemap.xml answers 503"
        assert found["storage"].ok


class TestSections:
    def test_one_that_cannot_be_read_is_a_cross(self, sections):
        class Broken(ProductSource):
            def get_queryset(self):
                raise ValueError("odd")

        sections.register("broken", Broken)
        found = examined()
        assert "could not be read: ValueError: odd" in found["section broken"].text
        assert "build_sitemaps broken" in found["section broken"].remedy
        assert found["section products"].ok

    def test_one_without_rows_is_no_fault(self, sections):
        rows = ProductSource.model.objects
        sections.register("empty", limited(10, get_queryset=lambda it: rows.none()))
        found = examined()["section empty"]
        assert (found.ok, found.text, found.remedy) == (None, "columns; no rows", "")

    def test_one_without_pages_is_well(self, sections):
        sections.register("new", limited(10))
        found = examined()
        assert found["section new"].text.endswith("not built, so it is served live")

    def test_those_of_another_origin_are_a_cross(self, configure):
        configure(BASE_URL="https://other.dev")
        found = examined()["sections"]
        assert found.text.endswith(
            "https://shop.dev; this process has https://other.dev"
        )
        assert "--move-origin" in found.remedy

    def test_one_that_is_held_or_has_gone_is_a_cross(self, sections):
        Section.objects.filter(name="products").update(hold_reason="too few")
        found = examined()["section products"]
        assert (found.ok, found.text) == (False, "The guard holds it: too few")
        Section.objects.update(hold_reason="")
        sections.unregister("products")
        assert "Run manage.py prune_sitemaps." in examined()["section products"].remedy


class TestIndex:
    def test_a_catch_all_in_front_is_found(self, settings, rf):
        catch_all = re_path("", lambda request: HttpResponse("ok"))
        settings.ROOT_URLCONF = urlconf(catch_all)
        found = examined()
        assert found["index"].ok is False
        assert found["index"].text.endswith("answers 200, from another view")
        assert found["index"].remedy.startswith(INCLUDE)
        assert found["robots.txt"].ok is False
        assert found["key file of indexnow"].text == "it answers 200, without key"

    def test_a_urlconf_without_ours_is_found(self, settings):
        settings.ROOT_URLCONF = type(
            "Urls", (), {"urlpatterns": [path("a", urls.view)]}
        )
        found = examined()["index"]
        assert (found.ok, found.remedy.startswith(INCLUDE)) == (False, True)

    def test_a_host_that_django_refuses_is_named(self, settings):
        """In development requests come by another."""
        settings.ALLOWED_HOSTS = []
        found = examined()["index"]
        assert found.text == "https://shop.dev/sitemap.xml answers 400"
        assert found.remedy == "Add 'shop.dev' to ALLOWED_HOSTS."
        settings.DEBUG = True
        assert examined()["index"].ok

    def test_a_redirect_is_named(self, settings, configure):
        settings.MIDDLEWARE = ["django.middleware.security.SecurityMiddleware"]
        settings.SECURE_SSL_REDIRECT = True
        assert examined()["index"].ok
        configure(BASE_URL="http://shop.dev")
        found = examined()["index"]
        assert found.text == "http://shop.dev/sitemap.xml answers 301"
        assert found.remedy.endswith("it leads: https://shop.dev/sitemap.xml")

    def test_a_project_below_a_path_is_asked_there(self, configure):
        configure(BASE_URL="https://shop.dev/app", ROBOTS=None)
        build_fully()
        found = examined()
        assert found["index"].text == "https://shop.dev/app/sitemap.xml answers 200"
        assert found["key file of indexnow"].ok

    def test_robots_of_the_project_may_name_it(self, settings, configure):
        """A web server may have one that this process does not see."""
        configure(ROBOTS=None)
        found = examined()["robots.txt"]
        assert found.ok is None
        line = "Sitemap: https://shop.dev/sitemap.xml"
        assert found.remedy.endswith(line)
        own = path("robots.txt", lambda request: HttpResponse(f"{line}\n"))
        settings.ROOT_URLCONF = urlconf(own)
        assert examined()["robots.txt"].ok


class TestStorage:
    def test_each_thing_that_it_cannot_do_is_named(self, monkeypatch):
        def refuse(*args: Any) -> Any:
            raise PermissionError("no right")

        for verb, name in [("deleted", "delete"), ("listed", "listdir")]:
            with monkeypatch.context() as patch:
                patch.setattr(AtomicFileSystemStorage, name, refuse)
                found = examined()["storage"]
            assert found.ok is False
            assert f"could not be {verb}: PermissionError: no right" in found.text
        fail_open(monkeypatch, "sitemap.xml/0/")
        assert "could not be read" in examined()["storage"].text
        fail_save(monkeypatch, 1)
        found = examined()["storage"]
        assert "could not be stored: OSError" in found.text
        assert found.remedy == "Let this user write there, or set MEDIA_ROOT."

    def test_it_leaves_no_file(self, tmp_path):
        before = sorted(tmp_path.rglob("*.gz"))
        [found] = doctor._storage(None)
        assert found.ok
        assert sorted(tmp_path.rglob("*.gz")) == before

    def test_none_is_a_choice(self, settings):
        settings.MEDIA_ROOT = ""
        [found] = doctor._storage(None)
        assert (found.ok, "served live" in found.text) == (None, True)


@pytest.mark.parametrize(
    ("backend", "ok", "words"),
    [
        ("tests.support.caches.FailingCache", False, "ConnectionError: no cache"),
        ("tests.integration.diagnostics.test_doctor.LosingCache", False, "keeps noth"),
        ("django.core.cache.backends.dummy.DummyCache", None, "one process"),
    ],
)
def test_a_cache_that_keeps_nothing_is_found(settings, backend, ok, words):
    settings.CACHES = {"default": {"BACKEND": backend}}
    found = examined()["cache"]
    assert found.ok is ok
    assert words in found.text
    assert found.remedy


class LosingCache(DummyCache):
    """Its server has no memory left."""


class TestWorkers:
    @pytest.mark.django_db(transaction=True)
    def test_one_that_takes_our_tasks_must_answer(self, celery, monkeypatch):
        def said() -> str:
            [found] = doctor._workers(None)
            assert found.ok or found.remedy
            return found.text

        assert said() == "No worker answers in 2 s."
        with start_worker(celery, pool="solo", queues=["other"]):
            assert said().startswith(f"No worker listens to the queue {celery.queue!r}")
            monkeypatch.setattr(tasks.refresh, "name", "renamed")
            assert said() == "1 workers answer, and none knows renamed."
            monkeypatch.undo()
            with start_worker(celery, pool="solo"):
                assert said() == "the broker and a worker answer"
                assert len(get_executor().workers()) == 2

    def test_a_broker_that_is_down_is_a_cross(self, configure):
        configure(EXECUTOR="django_sitemaps_plus.tasks.CeleryExecutor")
        with messages_to(Broker("redis://127.0.0.1:1/0")):
            found = examined()["workers"]
        assert found.ok is False
        assert "refused" in found.text
        assert found.remedy == "Start the broker, and compare CELERY_BROKER_URL."


class TestBuilds:
    def test_a_change_that_waits_for_long_is_a_cross(self, settings):
        change = Change.objects.create(section="products", kind="key", low="1")
        assert examined()["builds"].ok
        Change.objects.update(at=change.at - timedelta(days=3))
        found = examined()["builds"]
        assert found.ok is False
        words = "products: The oldest change has waited for 3 days"
        assert found.text.startswith(words)
        assert "build_sitemaps from cron" in found.remedy
        settings.DEBUG = True
        assert examined()["builds"].ok is None

    def test_so_is_a_last_build_of_days_ago(self):
        """Other sections may have been built since."""
        sections = Section.objects.filter(name="products")
        sections.update(schedule_checked_at=F("schedule_checked_at") - timedelta(3))
        found = examined()["builds"]
        assert found.ok is False
        assert found.text.startswith("products: The last build was made 3 days ago")

    def test_none_is_a_choice(self):
        Page.objects.all().delete()
        assert examined()["builds"].ok is None


class TestEngines:
    def test_one_that_is_parked_is_a_cross(self):
        EngineHost.objects.create(
            site="default",
            engine="indexnow",
            host="shop.dev",
            parked_reason="It answered 403: no key file.",
        )
        found = examined()["engine indexnow"]
        assert found.ok is False
        assert found.text == ("Not notified: shop.dev: It answered 403: no key file.")
        command = "notify_search_engines --engine indexnow --retry"
        assert found.remedy.endswith(f"Run manage.py {command}.")

    def test_one_whose_last_request_failed_is_no_tick(self):
        EngineHost.objects.create(
            site="default",
            engine="indexnow",
            host="shop.dev",
            failures=1,
            error="It answered 503: busy.",
        )
        found = examined()["engine indexnow"]
        assert (found.ok, found.text) == (
            None,
            "its last request failed: It answered 503: busy; 0 targets wait",
        )
        assert "notify_search_engines --retry" in found.remedy

    def test_one_that_is_not_notified_here_is_no_fault(self, configure):
        configure(NOTIFY=False)
        found = examined()["engine indexnow"]
        assert found.ok is None
        assert found.text.endswith("not notified: SITEMAPS_PLUS['NOTIFY'] is False")
        assert "['NOTIFY'] to True" in found.remedy

    def test_only_online_are_requests_sent(self, engine, configure):
        """Any answer of an engine will do; the index must be there."""
        options = {"key": KEY, "endpoint": f"{engine.url}/indexnow"}
        configure(
            BASE_URL=engine.url,
            ENGINES={"indexnow": {"BACKEND": INDEXNOW, "OPTIONS": options}},
        )
        assert not any("online" in name for name in examined())
        found = examined(is_online=True)
        assert found["online: engine indexnow"].ok
        assert found["online: index"].ok is False
        assert found["online: engine indexnow"].text == "127.0.0.1 answers 501"
        engine.close()
        found = examined(is_online=True)
        assert "refused" in found["online: index"].text
        assert "refused" in found["online: engine indexnow"].text


class TestCommand:
    def test_it_shows_ticks_and_fails_for_crosses(self, settings):
        out = io.StringIO()
        call_command("sitemap_doctor", stdout=out)
        assert "✓ migrations: all are applied\n" in out.getvalue()
        backend = f"{__name__}.LosingCache"
        settings.CACHES = {"default": {"BACKEND": backend}}
        with pytest.raises(CommandError, match=r"^1 fault: cache\.$"):
            call_command("sitemap_doctor", stdout=out)
        lines = "✗ cache: 'default' keeps nothing\n    With several processes"
        assert lines in out.getvalue()

    def test_a_terminal_without_ticks_gets_words(self):
        out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
        call_command("sitemap_doctor", stdout=out)
        out.seek(0)
        assert "ok migrations: all are applied\n" in out.read()

    def test_json_has_all_of_it(self, capsys):
        call_command("sitemap_doctor", "--json")
        first, *_ = json.loads(capsys.readouterr().out)
        text = "the system checks find nothing"
        assert first == {"name": "settings", "ok": True, "text": text, "remedy": ""}


@pytest.mark.parametrize(
    ("query", "is_named"),
    [
        ("X-Amz-Expires=3600&X-Amz-Signature=0f", True),
        ("Expires=1767225600&Signature=a~b&Key-Pair-Id=K", True),
        ("se=2026-01-01&sig=a%3D", True),
        ("v=3&signature=a", False),
    ],
)
def test_urls_of_images_that_expire_are_named(sections, query, is_named):
    """Of the first rows, whatever storage has signed them."""
    url = f"https://cdn.example/a.jpg?{query}"
    sections.register("signed", limited(2, images=lambda self, row: url))
    found = examined()
    assert ("media of signed" in found) == is_named
    assert "media of products" not in found
    if is_named:
        assert found["media of signed"].ok is None
        assert found["media of signed"].remedy
