"""The doctor: what each probe says of a site that is well, and of one that is not."""

from __future__ import annotations

import io
import json
import logging
import sys
from contextlib import suppress
from datetime import date, datetime, timedelta
from typing import Any

import pytest
from celery.schedules import crontab
from django.conf.urls.i18n import i18n_patterns
from django.contrib.sitemaps import GenericSitemap, Sitemap
from django.core.cache.backends.dummy import DummyCache
from django.core.management import CommandError, call_command
from django.db import connection, connections
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import F, QuerySet
from django.http import HttpResponse
from django.urls import include, path, re_path
from django.utils import timezone

from django_sitemaps_plus import Source, ViewSource, tasks
from django_sitemaps_plus.diagnostics import doctor
from django_sitemaps_plus.diagnostics.doctor import Finding
from django_sitemaps_plus.executors.base import get_executor
from django_sitemaps_plus.models import Change, Page, Section, Worker
from django_sitemaps_plus.sites import get_site
from django_sitemaps_plus.storage import AtomicFileSystemStorage, delete_object
from tests.support import urls
from tests.support.builds import build_fully
from tests.support.faults import fail_open, fail_save
from tests.support.servers.programs import wait_until
from tests.support.servers.workers import Broker, messages_to, start_worker
from tests.support.shop import limited, make_products
from tests.support.testapp.models import Author, Product

from .rows import know

KEY = "0123456789abcdef"
INDEXNOW = "django_sitemaps_plus.notifications.engines.indexnow.IndexNow"
INCLUDE = 'Put path("", include("django_sitemaps_plus.urls")) first'
LINE = "Sitemap: https://shop.dev/sitemap.xml"


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
    found = examined()
    assert {name: it.ok for name, it in found.items()} == {
        "settings": True,
        "database": True,
        "migrations": True,
        "origin": True,
        "storage": True,
        "files": True,
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
    assert entries == "columns; entries: 3, pages: 2"
    assert found["index"].text == "https://shop.dev/sitemap.xml answers 200"
    assert KEY not in str(found)


def test_what_a_probe_raises_is_a_cross_and_the_others_go_on(monkeypatch):
    monkeypatch.setattr(doctor.sites, "is_public", lambda origin: 1 / 0)
    found = examined()
    origin = found["origin"]
    assert (origin.ok, origin.text) == (False, "ZeroDivisionError: division by zero")
    assert origin.remedy == "Mend the database and its migrations first."
    assert [name for name, it in found.items() if it.ok is False] == ["origin"]


class LosingCache(DummyCache):
    """Its server has no memory left."""


def cached(backend: str) -> dict[str, Any]:
    """Return the setting of a cache."""
    return {"CACHES": {"default": {"BACKEND": backend}}}


#: Those of the values below that are ours.
OURS = {"BASEURL", "BASE_URL", "NOTIFY", "ROBOTS"}
DUMMY = cached("django.core.cache.backends.dummy.DummyCache")
OPS = {"*.*": {"ops": "all", "timeout": 60}}
HIDDEN = {"RULES": [{"DISALLOW": "/sitemap"}]}
SILENCED = {"SILENCED_SYSTEM_CHECKS": ["sitemaps_plus.W020"]}
REDIRECTED = {
    "MIDDLEWARE": ["django.middleware.security.SecurityMiddleware"],
    "SECURE_SSL_REDIRECT": True,
}
INCLUDED = path("", include("django_sitemaps_plus.urls"))
CAUGHT = {"ROOT_URLCONF": urlconf(re_path("", lambda request: HttpResponse("ok")))}


@pytest.mark.parametrize(
    ("given", "name", "ok", "words"),
    [
        ({"BASEURL": "x"}, "settings: sitemaps_plus.E001", False, "'BASE_URL'?"),
        ({"ROBOTS": HIDDEN}, "settings: sitemaps_plus.W020", None, ""),
        ({"ROBOTS": HIDDEN, **SILENCED}, "settings", True, ""),
        ({"CACHEOPS": OPS}, "settings: sitemaps_plus.W057", False, ""),
        ({"CACHEOPS": {"sitemaps_plus.*": None}}, "settings", True, ""),
        ({"BASE_URL": "http://localhost:8000"}, "origin", False, "cannot reach"),
        ({"BASE_URL": None}, "origin", False, "Set SITEMAPS_PLUS['BASE_URL']"),
        ({"BASE_URL": None}, "index", False, "localhost:8000/sitemap.xml answers"),
        ({"BASE_URL": None}, "storage", True, ""),
        ({"BASE_URL": "https://other.dev"}, "sections", False, "--move-origin"),
        ({"MEDIA_ROOT": ""}, "storage", None, "served live"),
        (cached("tests.support.caches.FailingCache"), "cache", False, "no cache"),
        (cached(f"{__name__}.LosingCache"), "cache", False, "keeps nothing"),
        (DUMMY, "cache", None, "belongs to one process"),
        (CAUGHT, "index", False, "answers 200, from another view"),
        (CAUGHT, "robots.txt", False, "does not name"),
        (CAUGHT, "key file of indexnow", False, "answers 200, without key"),
        ({"ROBOTS": HIDDEN}, "index", None, "disallows it"),
        ({"ROBOTS": HIDDEN}, "index", None, "Allow: /sitemap"),
        ({"ALLOWED_HOSTS": []}, "index", False, "Add 'shop.dev' to ALLOWED_HOSTS."),
        ({"ALLOWED_HOSTS": [], "DEBUG": True}, "index", True, ""),
        (REDIRECTED, "index", True, ""),
        (REDIRECTED | {"BASE_URL": "http://shop.dev"}, "index", False, "it leads to"),
        # A web server may have one that this process does not see.
        ({"ROBOTS": None}, "robots.txt", None, LINE),
        ({"NOTIFY": False}, "engine indexnow", None, "['NOTIFY'] to True"),
    ],
)
def test_settings_are_judged_with_a_remedy(settings, configure, given, name, ok, words):
    """None is a choice, or works less well than it could."""
    configure(**{key: value for key, value in given.items() if key in OURS})
    for key in given.keys() - OURS:
        setattr(settings, key, given[key])
    found = examined()[name]
    assert found.ok is ok
    assert words in f"{found.text}\n{found.remedy}"


def test_its_remedy_stores_lost_files_again(settings):
    """No build knows which they are where the cache keeps nothing."""
    settings.CACHES = DUMMY["CACHES"]
    delete_object(Page.objects.get(section__name="products", number=1).object)
    found = examined()["files"]
    assert (found.ok, found.text) == (False, "1 of 3 cannot be read")
    assert found.remedy == "Run manage.py build_sitemaps --full."
    call_command("build_sitemaps", full=True, verbosity=0)
    assert examined()["files"].ok


def test_a_cache_of_rows_that_settings_do_not_name_is_found(monkeypatch):
    """Changes are never taken, and what is seen of them is long past."""
    kept: dict[str, Any] = {}
    fetch_all = QuerySet._fetch_all

    def fetch(rows: Any) -> None:
        if rows.model is Section and rows._result_cache is None:
            fetch_all(rows)
            rows._result_cache = kept.setdefault(str(rows.query), rows._result_cache)
        fetch_all(rows)

    monkeypatch.setattr(QuerySet, "_fetch_all", fetch)
    assert "row cache" not in examined()

    def fetch_kept(rows: Any) -> None:
        if rows.model is Section:
            rows._result_cache = kept.get(str(rows.query), rows._result_cache)
        fetch(rows)

    monkeypatch.setattr(QuerySet, "_fetch_all", fetch_kept)
    assert examined()["row cache"].ok is False


@pytest.mark.parametrize("name", ["database", "origin", "builds products"])
def test_faults_of_production_alone(settings, configure, monkeypatch, name):
    if connection.vendor == "sqlite":
        monkeypatch.setattr(connections["default"], "transaction_mode", None)
    configure(BASE_URL="http://localhost:8000")
    Change.objects.create(section="products", kind="key", low="1")
    Change.objects.update(at=F("at") - timedelta(days=3))
    assert examined()[name].ok is False
    settings.DEBUG = True
    assert examined()[name].ok is None


class TestDatabase:
    @pytest.mark.skipif(connection.vendor != "sqlite", reason="others have no modes")
    def test_sqlite_is_to_begin_with_a_write_lock(self, monkeypatch):
        monkeypatch.setattr(connections["default"], "transaction_mode", None)
        found = examined()["database"]
        assert found.text.endswith("transaction_mode DEFERRED")
        assert "'transaction_mode': 'IMMEDIATE'" in found.remedy

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
        found = examined()["migrations"]
        assert (found.ok, found.text) == (False, "not applied: 0001_initial")


class TestSections:
    def test_one_without_rows_or_pages_is_no_fault(self, sections):
        """A section that cannot be read is."""
        rows = Product.objects.none()
        sections.register("empty", limited(10, get_queryset=lambda it: rows))
        sections.register("new", limited(10))
        sections.register("broken", limited(10, get_queryset=lambda it: 1 / 0))
        found = examined()
        empty, broken = found["section empty"], found["section broken"]
        assert (empty.ok, empty.text, empty.remedy) == (None, "columns; no rows", "")
        assert found["section new"].text.endswith("not built, so it is served live")
        assert (broken.ok, "build_sitemaps broken" in broken.remedy) == (False, True)

    def test_one_that_is_always_live_needs_no_build(self, sections, configure):
        """Nor one that is absent, which any section is that is live and too large."""
        make_products(30, first=100)
        sections.register("news", limited(10, live=True))
        sections.register("new", limited(10))
        found = examined()["section news"]
        assert (found.ok, found.text) == (True, "columns; always served live")
        configure(LIVE_MAX_ROWS=10)
        found = examined()
        for name, is_to_build in {"news": False, "new": True}.items():
            large = found[f"section {name}"]
            assert (large.ok, "LIVE_MAX_ROWS" in large.text) == (False, True)
            assert ("build_sitemaps" in large.remedy) is is_to_build

    def test_a_problem_of_one_is_a_cross(self, sections):
        """As all who show problems have it."""
        sections.unregister("products")
        assert "Run manage.py prune_sitemaps." in examined()["section products"].remedy


def test_a_project_below_a_path_is_asked_there(configure):
    configure(BASE_URL="https://shop.dev/app", ROBOTS=None)
    build_fully()
    found = examined()
    assert found["index"].text == "https://shop.dev/app/sitemap.xml answers 200"
    assert found["key file of indexnow"].ok


def test_robots_of_the_project_may_name_the_index(settings, configure):
    configure(ROBOTS=None)
    own = path("robots.txt", lambda request: HttpResponse(f"{LINE}\n"))
    settings.ROOT_URLCONF = urlconf(own)
    assert examined()["robots.txt"].ok


def test_urls_inside_another_namespace_are_a_sentence(settings):
    """No name of an exception is shown."""
    patterns = [path("", include(([INCLUDED], "seo")))]
    settings.ROOT_URLCONF = type("Below", (), {"urlpatterns": patterns})
    found = examined()
    for name in ("index", "robots.txt"):
        assert not found[name].ok
        assert "does not lead to the sitemaps" in found[name].text
        assert "NoReverseMatch" not in f"{found[name].text} {found[name].remedy}"


def test_urls_inside_languages_are_a_sentence(settings):
    patterns = i18n_patterns(INCLUDED)
    settings.ROOT_URLCONF = type("Below", (), {"urlpatterns": patterns})
    found = examined()
    said = found["settings: sitemaps_plus.W031"].remedy
    assert "in urlpatterns, outside of i18n_patterns()" in said
    assert "Resolver404" not in str(found)


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


class TestWorkers:
    @pytest.mark.django_db(transaction=True)
    def test_one_that_takes_our_tasks_must_answer(self, celery, monkeypatch):
        def said() -> str:
            told = doctor.workers(None)
            *seen, found = [it for it in told if it.name == "workers"]
            assert all(it.ok for it in seen)
            assert found.ok or found.remedy
            return found.text

        assert said() == "No worker answers in 2 s."
        with start_worker(celery, pool="solo", queues=["other"]):
            assert said().startswith(f"No worker listens to the queue '{celery.queue}'")
            monkeypatch.setattr(tasks.refresh, "name", "renamed")
            assert said() == "Workers answer, and none knows renamed."
            monkeypatch.undo()
            with start_worker(celery, pool="solo"):
                assert said().startswith("Workers that answer: ")
                assert len(get_executor().workers()) == 2
                wait_until(Worker.objects.exists, "they are noted")
                seen, *_ = doctor.workers(None)
                assert seen.text.startswith("celery last seen ")

    @pytest.mark.parametrize(
        ("schedule", "said"),
        [
            ({}, ["does not ask for"]),
            ({"a": {"task": f"{tasks.__name__}.refresh"}}, []),
            ({"a": {"task": f"{tasks.__name__}.refrehs"}}, ["no task", "not ask for"]),
            ({"a": {"task": "shop.tasks.refresh"}}, ["does not ask for"]),
            (
                {
                    "a": {"task": f"{tasks.__name__}.refresh", "schedule": 30},
                    "b": {"task": "django_sitemap_plus.tasks.notify"},
                },
                ["no task"],
            ),
            (
                {
                    "a": {"task": f"{tasks.__name__}.refresh", "schedule": 86_400},
                    "b": {"task": f"{tasks.__name__}.notify", "schedule": crontab("0")},
                    "c": {"task": f"{tasks.__name__}.prune", "schedule": 86_400},
                },
                ["every 86,400 s", "every 3,600 s"],
            ),
            (
                {
                    "a": {"task": f"{tasks.__name__}.refresh", "schedule": crontab()},
                    "b": {
                        "task": f"{tasks.__name__}.notify",
                        "schedule": timedelta(minutes=1),
                    },
                },
                [],
            ),
        ],
    )
    def test_beat_must_ask_for_a_refresh(self, configure, monkeypatch, schedule, said):
        configure(EXECUTOR="django_sitemaps_plus.tasks.CeleryExecutor")
        monkeypatch.setattr(tasks.CeleryExecutor, "worker_faults", lambda self: [])
        with messages_to(Broker("memory://")) as app:
            monkeypatch.setitem(app.conf, "beat_schedule", schedule)
            found = [it for it in doctor.workers(None) if it.name == "schedule"]
        assert [it.ok for it in found] == [None] * len(said)
        for words, it in zip(said, found, strict=True):
            assert words in it.text
            assert it.remedy

    def test_a_beat_that_does_not_run_is_named(self, configure, monkeypatch):
        """Only where workers are there and idle, and no section was looked at."""
        configure(EXECUTOR="django_sitemaps_plus.tasks.CeleryExecutor")
        entry = {"task": tasks.refresh.name, "schedule": 30}

        def found() -> list[Finding]:
            told = doctor._builds(get_site())
            return [it for it in told if it.name == "schedule"]

        with messages_to(Broker("memory://")) as app:
            monkeypatch.setitem(app.conf, "beat_schedule", {"a": entry})
            Worker.objects.note("celery")
            assert found() == []
            ago = F("schedule_checked_at") - timedelta(minutes=3)
            Section.objects.update(schedule_checked_at=ago)
            [one] = found()
            assert (one.ok, one.remedy) == (None, "Start celery -A PROJECT beat.")
            assert "products was last looked at 3 minutes ago" in one.text
            entry["schedule"] = crontab("*", "8-18")  # nobody asks at night
            assert found() == []
            entry["schedule"] = 30
            Worker.objects.note("celery", has_ended=True)
            assert found() == []


class TestBuilds:
    def test_a_last_build_of_days_ago_is_a_cross(self):
        sections = Section.objects.filter(name="products")
        sections.update(schedule_checked_at=F("schedule_checked_at") - timedelta(3))
        found = examined()["builds products"]
        assert found.ok is False
        assert found.text.startswith("The last build was made 3 days ago")
        assert found.remedy.startswith("Check that workers or a cron job run.")
        call_command("build_sitemaps", "products", live=True)  # none is a choice
        assert examined()["builds"].ok is None


class TestEngines:
    def test_one_that_is_parked_is_a_cross(self):
        know(engine="indexnow", host="shop.dev", parked_reason="It answered 403: no.")
        found = examined()["engine indexnow"]
        assert found.ok is False
        command = "notify_search_engines --engine indexnow --retry"
        assert found.remedy.endswith(f"Run manage.py {command}.")

    def test_one_whose_last_request_failed_is_no_tick(self):
        known = {"engine": "indexnow", "host": "shop.dev"}
        know(**known, failures=1, error="It answered 503: busy.")
        found = examined()["engine indexnow"]
        assert (found.ok, found.text) == (
            None,
            "its last request failed: It answered 503: busy; 0 targets wait",
        )
        assert "notify_search_engines --retry" in found.remedy

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
    def test_it_shows_ticks_and_fails_for_crosses(self, settings, run, capsys):
        assert "✓ migrations: all are applied\n" in run("sitemap_doctor")
        settings.CACHES = cached(f"{__name__}.LosingCache")["CACHES"]
        with pytest.raises(CommandError, match=r"^1 fault: cache\.$"):
            call_command("sitemap_doctor")
        lines = "✗ cache: 'default' keeps nothing\n    With several processes"
        assert lines in capsys.readouterr().out

    def test_a_terminal_without_ticks_gets_words(self):
        out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
        call_command("sitemap_doctor", stdout=out)
        out.seek(0)
        assert "ok migrations: all are applied\n" in out.read()

    def test_a_row_left_out_is_a_finding_and_no_line_of_a_log(self, sections, capsys):
        sections.register("others", limited(10, location=lambda *_: 1 / 0))
        root, console = logging.getLogger(), logging.StreamHandler(sys.stderr)
        root.addHandler(console)
        with suppress(CommandError):
            call_command("sitemap_doctor")
        root.removeHandler(console)
        printed = capsys.readouterr()
        assert "ZeroDivisionError" in printed.out
        assert "ZeroDivisionError" not in printed.err

    def test_json_has_all_of_it(self, run):
        first, *_ = json.loads(run("sitemap_doctor", "--json"))
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
    url = f"https://cdn.example/a.jpg?{query}"
    sections.register("signed", limited(2, images=lambda self, row: url))
    found = examined()
    assert ("section signed (media)" in found) == is_named
    assert "section products (media)" not in found
    if is_named:
        assert found["section signed (media)"].ok is None
        assert found["section signed (media)"].remedy


class Listed(Sitemap):
    """Its rows have a URL of their own."""

    def items(self) -> Any:
        return Product.objects.all()

    def priority(self, item: Any) -> None:  # type: ignore[override]
        """Lack a return."""


class Views(ViewSource):
    views = ("home",)

    def lastmod(self, view: Any) -> None:
        """Lack a return."""


class Dated(Listed):
    """Each row would have changed just now."""

    def priority(self, item: Any) -> float:  # type: ignore[override]
        return 0.5

    def lastmod(self, item: Any) -> datetime:
        return datetime.now()  # noqa: DTZ005 - as projects do


@pytest.mark.parametrize(
    ("source", "named"),
    [
        (limited(2, lastmod=lambda it, row: None), ["lastmod()"]),
        (limited(2, location=lambda it, row: None), ["location()"]),
        (limited(2, images=lambda it, row: None), ["images()"]),
        (limited(2, images=lambda it, row: []), []),
        (limited(2, priority=lambda it, row: row.popularity), []),
        (Listed, ["priority()"]),
        (GenericSitemap({"queryset": Product.objects.all()}), []),
        (Views, ["lastmod()"]),
        (limited(2, title=lambda it, row: None), ["title()"]),
        (limited(2, title=lambda it, row: row.slug), []),
        (
            limited(2, lastmod=lambda it, row: None, title=lambda it, row: None),
            ["lastmod()", "title()"],
        ),
        (limited(2, lastmod=lambda it, row: timezone.now()), ["lastmod()"]),
        (limited(2, lastmod=lambda it, row: row.updated_at), []),
        (Dated, ["lastmod()"]),
        (limited(2, watch={Author: lambda author: None}), ["watch"]),
        (limited(2, watch={Author: lambda author: Product.objects.all()}), []),
        (limited(2, starts="updated_at", ends="created_on"), ["starts"]),
        (limited(2, starts="created_on", ends="updated_at"), []),
    ],
)
def test_what_is_odd_for_all_rows_is_named(sections, source, named):
    """Code that may lack a return, and is not Django's, the present time, swaps."""
    Product.objects.update(created_on=date(2020, 1, 1))
    Product.objects.filter(slug__endswith="1").update(popularity=0.5)
    Author.objects.create(name="x")
    sections.register("new", source)
    found = examined()
    doubted = [name for name in found if name.startswith("section new (")]
    assert doubted == [f"section new ({name})" for name in named]
    assert all(found[it].ok is None and found[it].remedy for it in doubted)


@pytest.mark.parametrize(
    ("name", "value", "named"),
    [
        ("priority", lambda it, row: "high", "'high'"),
        ("changefreq", lambda it, row: "sometimes", "'sometimes'"),
        ("lastmod", lambda it, row: "yesterday", "'yesterday'"),
        ("lastmod", "slug", "'product-00000'"),
        ("priority", "popularity", "5.0"),
    ],
)
@pytest.mark.parametrize("is_live", [True, False])
def test_values_that_are_left_out_are_a_doubt(sections, is_live, name, value, named):
    """The first of them is named, before and after a build."""
    Product.objects.update(popularity=5)
    sections.register("new", limited(2, **{name: value}))
    if not is_live:
        build_fully()
    found = examined()["section new"]
    assert (found.ok, named in found.text) == (None, True)


@pytest.mark.parametrize(
    "source",
    [
        limited(2, get_queryset=lambda it: None),
        type("Lacking", (Listed,), {"items": lambda it: None}),
        type("Entries", (Source,), {"entries": lambda it, origin: None}),
    ],
)
def test_what_lists_nothing_for_want_of_a_return_is_named(sections, source):
    sections.register("new", source)
    found = examined()["section new"]
    assert (found.ok, "lack a return?" in found.text) == (False, True)
