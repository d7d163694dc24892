"""What Django answers for the index: asked as crawlers ask, and kept with its time."""

from __future__ import annotations

import threading
from datetime import timedelta
from time import monotonic
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.core.signals import request_finished, request_started
from django.db import transaction
from django.http import HttpResponse, HttpResponseRedirect
from django.test import Client
from django.urls import include, path, reverse
from django.utils import timezone

from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.conf import get_site
from django_sitemaps_plus.diagnostics import answers
from django_sitemaps_plus.diagnostics.problems import problems_of
from django_sitemaps_plus.diagnostics.status import SiteStatus, read_dashboard
from django_sitemaps_plus.models import INDEX, Section
from tests.support.faults import fail_queries, writes_to
from tests.support.shop import limited, make_products

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]

TOKEN = "0123456789abcdefXYZ"

#: The answer of the view in the URLconf of this module.
answer_of_project: Any = None


def view(request: Any) -> HttpResponse:
    """Answer as a test says."""
    return answer_of_project(request)


urlpatterns = [
    path("sitemap.xml", view),
    path("", include("django_sitemaps_plus.urls")),
]


@pytest.fixture(autouse=True)
def site(configure: Any, sections: Any) -> None:
    """Have a section that is not built, and no earlier look."""
    cache.clear()
    configure(MONITORING_TOKEN=TOKEN)
    make_products(25)
    sections.register("products", limited(10))


@pytest.fixture
def project(settings: Any, monkeypatch: Any) -> Any:
    """Return what has a view of the project answer for the index."""

    def project(answer: Any) -> None:
        monkeypatch.setattr(f"{__name__}.answer_of_project", answer)
        settings.ROOT_URLCONF = __name__

    return project


def status() -> SiteStatus:
    """Return how the site is."""
    [found] = read_dashboard([get_site()])
    return found


def health() -> tuple[int, str]:
    """Return what the health view says."""
    headers = {"Authorization": f"Bearer {TOKEN}"}
    answer = Client().get("/monitoring/health/", headers=headers)
    return answer.status_code, answer.json()["status"]


def age_answer(**ago: int) -> None:
    """Let the last look be longer ago, and the next one be due."""
    row = Section.objects.get(name=INDEX)
    row.answer["at"] = (timezone.now() - timedelta(**ago)).isoformat()
    row.save()
    cache.clear()


class TestLooks:
    def test_a_crawler_would_get_the_index(self, client):
        answer = answers.look(get_site())
        served = client.get("/sitemap.xml", headers={"accept-encoding": "gzip"})
        assert answer.url == "https://example.com/sitemap.xml"
        assert (answer.status, answer.size) == (200, len(served.content))
        assert answer.is_ours
        assert answer.is_known
        assert status().answer == answer
        assert problems_of(status()) == []

    @pytest.mark.parametrize(
        ("answer", "said", "remedy"),
        [
            (lambda _: HttpResponse("<html>"), "with no sitemap", "Put path("),
            (lambda _: HttpResponse(status=404), "answers 404", "Put path("),
            (
                lambda _: HttpResponseRedirect("https://www.example.com/sitemap.xml"),
                "answers 302",
                "Set BASE_URL to where it leads: https://www.example.com/",
            ),
            (lambda _: 1 / 0, "answers 500", "Put path("),
        ],
    )
    def test_all_else_is_a_problem(self, project, answer, said, remedy):
        project(answer)
        answers.look(get_site())
        [problem] = problems_of(status())
        assert (problem.id, problem.level) == ("index_unavailable", "error")
        assert said in problem.message
        assert remedy in problem.remedy

    def test_a_sitemap_of_another_view_will_do(self, project):
        project(lambda _: HttpResponse(b'<?xml version="1.0"?><urlset></urlset>'))
        answer = answers.look(get_site())
        assert (answer.is_ours, answer.is_well) == (False, True)
        assert problems_of(status()) == []

    def test_a_host_that_is_not_allowed(self, settings):
        settings.ALLOWED_HOSTS = ["other.example"]
        assert answers.look(get_site()).status == 400
        [problem] = problems_of(status())
        assert problem.remedy == "Add 'example.com' to ALLOWED_HOSTS."
        settings.DEBUG = True  # where BASE_URL may be that of production
        assert answers.look(get_site()).status == 200

    def test_a_project_that_does_not_answer(self, project, monkeypatch):
        """Whoever asked goes on, and a later answer is not taken for this one."""
        is_over = threading.Event()
        project(lambda _: is_over.wait(60) and HttpResponse())
        monkeypatch.setattr(answers, "PATIENCE", 0.1)
        began = monotonic()
        try:
            assert answers.look(get_site()).status == 0
        finally:
            is_over.set()
        assert monotonic() - began < 30
        [problem] = problems_of(status())
        assert "no answer within" in problem.message

    def test_a_project_without_our_urls(self, settings):
        """It may have views of its own: nothing is known."""
        settings.ROOT_URLCONF = "django.contrib.auth.urls"
        answer = answers.look(get_site())
        assert (answer.status, answer.is_known) == (0, False)
        assert "sitemaps_plus" in answer.said
        assert problems_of(status()) == []
        settings.ROOT_URLCONF = "tests.no_module"
        answers.look(get_site())
        [problem] = problems_of(status())
        assert "no_module" in problem.message

    def test_nobody_is_told_of_a_request(self, client):
        """The signals of requests would close the connections of the caller."""
        seen: list[Any] = []
        for signal in (request_started, request_finished):
            signal.connect(seen.append, weak=False, dispatch_uid="seen")
        try:
            answers.look(get_site())
        finally:
            for signal in (request_started, request_finished):
                signal.disconnect(dispatch_uid="seen")
        assert seen == []

    def test_another_language_or_site_of_the_caller_does_not_count(self, project):
        """Nor what the view leaves behind: it has a thread of its own."""
        asked: list[Any] = []
        project(lambda request: asked.append(threading.current_thread()) or 1 / 0)
        answers.look(get_site())
        assert asked != [threading.current_thread()]
        with transaction.atomic():  # whose rows another thread would not see
            answers.look(get_site())
        assert asked[1:] == [threading.current_thread()]

    def test_a_database_that_is_away_leaves_the_answer(self):
        with fail_queries(writes_to("sitemaps_plus_section")):
            assert answers.look(get_site()).status == 200

    def test_what_another_version_has_kept_is_not_known(self):
        answers.look(get_site())
        for kept in ({"state": "well"}, {"at": "yesterday"}, {"at": None}):
            Section.objects.filter(name=INDEX).update(answer=kept)
            assert status().answer is None


class TestWhoAsks:
    def test_a_build_does(self):
        assert build().problems == []
        found = status()
        assert found.answer
        assert found.answer.status == 200
        assert (found.stored_origin, found.index_problems) == ("", [])

    def test_the_health_view_does_once_a_minute(self, monkeypatch):
        assert status().answer is None
        assert health() == (200, "ok")
        first = status().answer
        assert health() == (200, "ok")
        assert status().answer == first
        age_answer(seconds=answers.INTERVAL + 1)
        health()
        assert status().answer.looked_at > first.looked_at

    def test_where_it_cannot_the_state_is_unknown(self, sections):
        """What was seen long ago says nothing, whether it was good or bad."""
        with transaction.atomic():
            assert health() == (200, "unknown")
        assert health() == (200, "ok")
        for is_sitemap in (True, False):
            row = Section.objects.get(name=INDEX)
            row.answer["is_sitemap"] = is_sitemap
            row.save()
            age_answer(minutes=6)
            with transaction.atomic():
                assert health() == (200, "unknown")
            assert not status().is_known

    def test_a_view_that_fails_is_a_503(self, sections):
        def fail(self: Any) -> Any:
            raise RuntimeError("its service is away")

        sections.register("news", limited(10, get_queryset=fail))
        assert health() == (503, "problem")
        [problem] = problems_of(status())
        assert "Django answers 503" in problem.message
        assert "its service is away" in problem.message

    def test_a_button_of_the_dashboard_does(self, client):
        admin = User.objects.create_superuser("admin")
        client.force_login(admin)
        ask = reverse("admin:sitemaps_plus_dashboard_ask")
        overview = reverse("admin:sitemaps_plus_dashboard_changelist")
        assert "was never asked" in client.get(overview).text
        assert client.get(ask).status_code == 405
        assert client.post(ask).headers["Location"] == overview
        assert "200, " in client.get(overview).text
        age_answer(minutes=6)
        page = client.get(overview).text
        assert "Not known" in page
        assert "asked 6 minutes ago" in page.replace("\xa0", " ")
        problems = client.get(reverse("admin:sitemaps_plus_dashboard_problems")).text
        assert "Nothing needs you" not in problems
        client.logout()
        assert client.post(ask).status_code == 302
