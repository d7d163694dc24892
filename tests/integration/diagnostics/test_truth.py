"""Whoever is asked says of a site what crawlers meet: five surfaces, one list."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.db import OperationalError
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.conf import get_site
from django_sitemaps_plus.diagnostics import doctor
from django_sitemaps_plus.models import Delivery, EngineHost, Page, Section, Worker
from django_sitemaps_plus.models.sections import SectionQuerySet
from django_sitemaps_plus.models.workers import GONE
from django_sitemaps_plus.notifications.outbox import want_urls
from django_sitemaps_plus.section import open_section
from django_sitemaps_plus.serving.live import FAULT_AGE, live_faults
from django_sitemaps_plus.storage import delete_object
from django_sitemaps_plus.testing import RecordingEngine
from django_sitemaps_plus.tracking.deploys import fingerprint
from tests.support.builds import build_fully
from tests.support.shop import limited, make_products

from .rows import deliver

TOKEN = "0123456789abcdefXYZ"
WARNINGS = {"engine_unread", "engine_indexed"}
ENGINE = f"{RecordingEngine.__module__}.RecordingEngine"


@pytest.fixture(autouse=True)
def site(configure: Any, sections: Any) -> None:
    """Have a built section, and an engine that takes feeds."""
    engines = {"one": {"BACKEND": ENGINE, "OPTIONS": {}}}
    configure(MONITORING_TOKEN=TOKEN, ENGINES=engines)
    make_products(25)
    sections.register("products", limited(10))
    build_fully()


def status_ids() -> set[str]:
    """Return the ids that sitemap_status prints."""
    printed = io.StringIO()
    try:
        call_command("sitemap_status", json=True, stdout=printed)
    except CommandError:
        assert json.loads(printed.getvalue())["problems"]
    return {it["id"] for it in json.loads(printed.getvalue())["problems"]}


def health_ids() -> set[str]:
    """Return the ids of the health view, whose status follows them."""
    headers = {"Authorization": f"Bearer {TOKEN}"}
    answer = Client().get("/monitoring/health/", headers=headers)
    ids = set(answer.json()["ids"])
    is_well = ids <= WARNINGS
    assert answer.status_code == (200 if is_well else 503)
    metrics = Client().get("/monitoring/metrics/", headers=headers).text
    assert (f'sitemaps_plus_site_ok{{site="default"}} {int(is_well)}') in metrics
    return ids


def shown() -> list[str]:
    """Return the overview and the page of problems, as HTML."""
    client = Client()
    admin, _ = User.objects.get_or_create(
        username="admin", is_staff=True, is_superuser=True
    )
    client.force_login(admin)
    names = ("changelist", "problems")
    pages = [reverse(f"admin:sitemaps_plus_dashboard_{name}") for name in names]
    return [client.get(page).text for page in pages]


def crosses() -> dict[str, str]:
    """Return what the doctor says is wrong, by name."""
    found = doctor.examine()
    return {it.name: it.text for it in found if it.ok is False}


def fail(self: Any) -> Any:
    """Be a queryset that cannot be made."""
    raise RuntimeError("its service is away")


class TestSources:
    @pytest.fixture
    def broken(self, sections: Any) -> None:
        """Break a built section, and add one that never was well; build both."""
        sections.unregister("products")
        sections.register("products", limited(10, get_queryset=fail))
        sections.register("news", limited(10, get_queryset=fail))
        assert len(build().problems) == 2

    @pytest.mark.database
    def test_one_that_raises_is_a_problem_everywhere(self, broken, client):
        assert client.get("/sitemap-products-1.xml").status_code == 200  # the old one
        assert status_ids() == health_ids() == {"section_failed"}
        for name in ("products", "news"):
            assert "its service is away" in crosses()[f"section {name}"]
        for page in shown():
            assert page.count("its service is away") >= 2

    @pytest.mark.database
    def test_since_it_began(self, broken):
        """The time of the first failure stays, and the words are the latest."""
        first = Section.objects.get(name="products")
        assert first.fault_since is not None
        Section.objects.update(fault="another")
        build()
        section = Section.objects.get(name="products")
        assert section.fault_since == first.fault_since
        assert "its service is away" in section.fault

    def test_it_is_over_once_the_source_can_be_read(self, broken, sections):
        """Also of the section that had no page."""
        for name in ("products", "news"):
            sections.unregister(name)
            sections.register(name, limited(10))
        build_fully()
        assert status_ids() == health_ids() == set()
        assert not Section.objects.exclude(fault="", fault_since=None).exists()

    @pytest.mark.database
    def test_a_build_that_has_not_read_it_proves_nothing(self, broken, sections):
        """One that looks for no changes, or leaves the section to other code."""
        build(notices=False, waits=False)
        assert status_ids() == {"section_failed"}
        sections.unregister("products")
        sections.register("products", limited(10))
        own = fingerprint(open_section("products"))
        Section.objects.filter(name="products").update(
            fingerprint="other", replaced=[own], built_at=timezone.now()
        )
        assert build(["products"]).sections[0].is_left
        assert status_ids() == {"section_failed"}

    def test_a_lost_lock_keeps_back_no_other(self, sections, monkeypatch):
        """As that of SQLite, while the fault is kept."""

        def locked(self: Any, *given: Any) -> Any:
            raise OperationalError("database is locked")

        sections.register("a", limited(10, get_queryset=fail))
        sections.register("z", limited(10))
        monkeypatch.setattr(SectionQuerySet, "note_fault", locked)
        found = {it.section: it for it in build().sections}
        assert (len(found["a"].errors), found["z"].entries) == (1, 25)

    def test_what_never_had_a_page_is_live(self, broken):
        """Its row is there for the fault alone."""
        assert Page.objects.filter(section__name="news").count() == 0
        printed = io.StringIO()
        with pytest.raises(CommandError):
            call_command("sitemap_status", json=True, stdout=printed)
        news, _ = json.loads(printed.getvalue())["sections"]
        assert (news["section"], news["live"], news["pages"]) == ("news", True, 0)

    def test_a_fault_of_a_page_is_none_of_its_section(self, sections):
        """It has a problem of its own."""
        sections.register("news", limited(10, on_error="raise", priority=fail_row))
        build()
        assert status_ids() == {"pages_failed"}


def fail_row(self: Any, row: Any) -> Any:
    """Be a method that fails for each row."""
    raise RuntimeError("no")


class TestLiveSections:
    def test_one_that_raises_costs_the_index(self, sections, client):
        """Crawlers get 503 for it, since it would list too little."""
        call_command("build_sitemaps", "products", live=True, verbosity=0)
        sections.register("news", limited(10, get_queryset=fail))
        assert client.get("/sitemap.xml").status_code == 503
        assert "its service is away" in crosses()["index"]
        expected = {"index_unavailable", "section_unavailable"}
        assert status_ids() == health_ids() == expected
        for page in shown():
            assert "Django answers 503" in page
            assert "its service is away" in page

    def test_what_it_leaves_out_is_not_known(self, sections):
        assert "Every row that can be listed is listed" in shown()[0]
        sections.register("news", limited(10))
        assert "Not known of what is served live: news" in shown()[0]


class TestLivePages:
    """The index lists a page that cannot be rendered."""

    @pytest.fixture
    def get(self, sections: Any, client: Client, settings: Any) -> Any:
        """Return a function that requests page 2, which a source may break or not."""
        call_command("build_sitemaps", "products", live=True, verbosity=0)

        def get(**attributes: Any) -> int:
            sections.unregister("products")
            sections.register("products", limited(10, **attributes))
            return client.get("/sitemap-products-2.xml").status_code

        return get

    def test_what_a_request_met_is_a_problem_everywhere(self, get, client):
        assert health_ids() == status_ids() == set()
        assert get(on_error="raise", priority=fail_row) == 503
        assert client.get("/sitemap.xml").status_code == 200
        assert status_ids() == health_ids() == {"section_unavailable"}
        assert "sitemap-products-2.xml" in crosses()["section products"]
        for page in shown():
            assert "error for https://example.com/sitemap-products-2.xml" in page

    def test_it_is_over_with_the_next_success_on_that_page(self, get, client):
        get(on_error="raise", priority=fail_row)
        first = live_faults(get_site())["products"]
        get(on_error="raise", priority=fail_row)
        again = live_faults(get_site())["products"]
        assert (again.since, again.at > first.at) == (first.since, True)
        assert get(priority=0.5) == 200
        assert status_ids() == health_ids() == set()

    def test_a_success_on_another_page_proves_nothing(self, get, client):
        get(on_error="raise", priority=fail_row)
        get(priority=0.3)
        get(on_error="raise", priority=fail_row)
        assert client.get("/sitemap-products-1.xml").status_code == 503
        assert live_faults(get_site())["products"].number == 1
        assert get(priority=0.4) == 200
        assert status_ids() == {"section_unavailable"}

    def test_it_is_forgotten_where_nobody_asks_again(self, get, monkeypatch):
        get(on_error="raise", priority=fail_row)
        later = timezone.now() + FAULT_AGE
        monkeypatch.setattr(timezone, "now", lambda: later)
        assert live_faults(get_site()) == {}


class TestFiles:
    """Somebody has deleted all that was built: crawlers get it live."""

    @pytest.fixture(autouse=True)
    def deleted(self) -> None:
        for page in Page.objects.exclude(object=""):
            delete_object(page.object)

    @pytest.mark.parametrize("look", ["requests", "doctor"])
    def test_it_is_known_after_a_look(self, client, look):
        if look == "doctor":
            assert "4 of 4 cannot be read" in crosses()["files"]
        for path in ("sitemap", "sitemap-products-1", "sitemap-products-3"):
            if look == "requests":
                assert client.get(f"/{path}.xml").status_code == 200
        assert status_ids() == health_ids() == {"index_failed", "section_damaged"}
        assert "missing or damaged" in crosses()["section products"]
        for page in shown():
            assert "Files that are missing or damaged: " in page

    def test_it_is_over_with_the_next_build(self, client):
        assert crosses()["files"]
        build()
        assert status_ids() == health_ids() == set()
        assert "files" not in crosses()

    def test_a_build_of_another_process_stores_them_again(self, client):
        """Also where processes share no cache, once the doctor has looked."""
        assert crosses()["files"]
        cache.clear()
        build()
        assert "files" not in crosses()


class TestOrigins:
    def test_of_another_site_is_a_problem(self, configure, client):
        """Crawlers get 503; the command that prints the status says why."""
        configure(BASE_URL="https://other.example")
        assert client.get("/sitemap.xml").status_code == 503
        assert health_ids() == {"origin_differs"}
        assert all("belongs to https://example.com" in page for page in shown())
        with pytest.raises(CommandError, match="belong to https:"):
            call_command("sitemap_status")

    @pytest.mark.database
    def test_it_is_over_once_the_site_has_moved(self, configure, client):
        configure(NOTIFY=True)
        want_urls(["https://example.com/a/"])
        assert Delivery.objects.filter(host="example.com").exists()
        EngineHost.objects.claim("default", "one", "example.com")
        EngineHost.objects.update(parked_reason="403")
        assert health_ids() == {"engine_parked"}
        configure(BASE_URL="https://other.example")
        build_fully(move_origin=True)
        assert client.get("/sitemap.xml").status_code == 200
        assert health_ids() == set()
        assert not Delivery.objects.filter(host="example.com").exists()

    def test_what_waits_for_a_host_that_stays_is_kept(self, configure):
        """As when a site moves to another scheme."""
        configure(NOTIFY=True)
        want_urls(["https://example.com/a/"])
        assert Delivery.objects.filter(host="example.com").exists()
        configure(BASE_URL="http://example.com")
        build_fully(move_origin=True)
        assert Delivery.objects.filter(host="example.com").exists()


class TestFeedback:
    @pytest.mark.parametrize(
        ("feedback", "expected"),
        [
            ({"errors": 37, "warnings": 2}, {"engine_feedback"}),
            ({"errors": 0, "warnings": 2}, set()),
            ({"error": "it could not be asked"}, set()),
            ({"errors": "many"}, set()),
            (["no"], set()),
            ({"lastDownloaded": "2026-01-01T00:00:00.000Z"}, {"engine_unread"}),
            ({"lastDownloaded": "2026-01-01"}, {"engine_unread"}),
            ({"lastDownloaded": f"{timezone.now():%Y-%m-%d}"}, set()),
            ({"lastDownloaded": "soon"}, set()),
            ({"lastDownloaded": 7}, set()),
            (
                {"indexed": 12, "submitted": {"web": 45_801}, "highest_share": 0.9},
                {"engine_indexed"},
            ),
            ({"indexed": 85, "submitted": 100, "highest_share": 0.9}, set()),
            ({"indexed": 12, "submitted": 100, "highest_share": None}, set()),
        ],
    )
    def test_what_an_engine_reports_counts(self, configure, feedback, expected):
        class_ = "tests.integration.notifications.engines.ConsoleEngine"
        configure(ENGINES={"one": {"BACKEND": class_}}, NOTIFY=True)
        feed = "https://example.com/sitemap.xml"
        sent = {"state": Delivery.State.SENT, "changed_at": timezone.now()}
        deliver(feed, is_feed=True, feedback=feedback, **sent)
        assert status_ids() == health_ids() == expected
        assert [f"{feed}: " in page for page in shown()] == [bool(expected)] * 2
        words = [it.text for it in doctor.examine() if it.name == "engine one"]
        assert [f"{feed}: " in it for it in words] == [bool(expected)]
        configure(NOTIFY=False)  # nobody asks it any more
        assert health_ids() == set()


class TestWorkers:
    @pytest.fixture(autouse=True)
    def seen(self) -> None:
        """Have seen a worker, a minute ago."""
        Worker.objects.note("celery")
        assert status_ids() == set()
        Worker.objects.update(seen_at=timezone.now() - GONE)

    def test_one_that_is_gone_is_a_problem_everywhere(self):
        assert status_ids() == health_ids() == {"worker_gone"}
        assert "No worker has been seen for 1 minute" in crosses()["workers"]
        for page in shown():
            assert "No worker has been seen for 1 minute" in page
            assert "celery -A PROJECT worker" in page

    def test_it_is_over_once_one_is_seen(self):
        Worker.objects.note("celery")
        assert status_ids() == health_ids() == set()
        assert [it.ok for it in doctor.examine() if it.name == "workers"] == [True]

    def test_one_that_ended_by_itself_is_not_missed(self):
        Worker.objects.note("celery", has_ended=True)
        Worker.objects.update(seen_at=timezone.now() - GONE)
        assert status_ids() == health_ids() == set()
        assert [it.ok for it in doctor.examine() if it.name == "workers"] == [None]
