"""Django is asked for the index as crawlers ask, and its answer kept with its time."""

from __future__ import annotations

import gzip
import sys
import threading
from collections.abc import Iterator
from dataclasses import asdict
from datetime import timedelta
from time import monotonic
from types import ModuleType
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.core.signals import (
    got_request_exception,
    request_finished,
    request_started,
)
from django.db import connection, transaction
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.test import Client
from django.urls import clear_url_caches, include, path, reverse
from django.utils import timezone
from django.utils.decorators import async_only_middleware
from django.utils.deprecation import MiddlewareMixin
from django.utils.translation import get_language, override

from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.conf import in_force, site_in_force
from django_sitemaps_plus.diagnostics import answers
from django_sitemaps_plus.diagnostics.doctor import examine
from django_sitemaps_plus.diagnostics.problems import problems_of
from django_sitemaps_plus.diagnostics.status import SiteStatus, read_dashboard
from django_sitemaps_plus.models import INDEX, Section
from django_sitemaps_plus.sites import get_site, get_sites
from tests.support.faults import fail_queries, writes_to
from tests.support.shop import limited, make_products
from tests.support.testapp.models import Product

pytestmark = pytest.mark.django_db(transaction=True)

TOKEN = "0123456789abcdefXYZ"

#: The answer of the view in the URLconf of this module.
answer_of_project: Any = None


def view(request: Any) -> HttpResponse:
    """Answer as a test says."""
    return answer_of_project(request)


def fail(error: Exception) -> Any:
    """Raise an error of the project."""
    raise error


def raising(get_response: Any) -> Any:
    """Return a middleware that fails."""
    return lambda request: fail(RuntimeError("its service is away"))


def catching(get_response: Any) -> Any:
    """Return a middleware that answers for a page as a test says."""
    return lambda request: (
        (request.path == "/sitemap-products-2.xml" and answer_of_project)
        or get_response(request)
    )


def spoiling(get_response: Any) -> Any:
    """Return a middleware that compresses what is compressed."""

    def call(request: Any) -> Any:
        response = get_response(request)
        response.content = gzip.compress(response.content)
        return response

    return call


@async_only_middleware
def raising_async(get_response: Any) -> Any:
    """Return the same for servers of ASGI."""

    async def call(request: Any) -> Any:
        await get_response(request)
        fail(RuntimeError("its service is away"))

    return call


class Hooks(MiddlewareMixin):
    """A middleware that is called beside the chain, and answers nothing itself."""

    def process_view(self, request: Any, *view: Any) -> None:
        """Let the view answer."""

    def process_exception(self, request: Any, error: Exception) -> None:
        """Let Django answer."""


urlpatterns = [
    path("sitemap.xml", view),
    path("", include("django_sitemaps_plus.urls")),
    path("monitoring/", include("django_sitemaps_plus.monitoring_urls")),
]


@pytest.fixture(autouse=True)
def site(configure: Any, sections: Any) -> None:
    """Have a section that is not built, and no earlier look."""
    configure(MONITORING_TOKEN=TOKEN)
    later()
    make_products(25)
    sections.register("products", limited(10))


@pytest.fixture
def project(settings: Any, monkeypatch: Any) -> Any:
    """Return what has a view of the project answer for the index."""

    def project(answer: Any) -> None:
        monkeypatch.setattr(f"{__name__}.answer_of_project", answer)
        settings.ROOT_URLCONF = __name__

    return project


@pytest.fixture
def told() -> Iterator[list[Any]]:
    """Return the signals that are sent of requests."""
    seen: list[Any] = []

    def note(signal: Any, **kwargs: Any) -> None:
        seen.append(signal)

    signals = (got_request_exception, request_started, request_finished)
    for signal in signals:
        signal.connect(note)
    yield seen
    for signal in signals:
        signal.disconnect(note)


def status() -> SiteStatus:
    """Return how the site is."""
    [found] = read_dashboard([get_site()])
    return found


def health() -> tuple[int, str]:
    """Return what the health view says."""
    headers = {"Authorization": f"Bearer {TOKEN}"}
    answer = Client().get("/monitoring/health/", headers=headers)
    return answer.status_code, answer.json()["status"]


def look() -> answers.Answer:
    """Have Django asked, and return what is known then."""
    assert answers.look(get_site()).keys() == {"default"}
    found = status().answer
    assert found
    return found


def later() -> None:
    """Let the next look be due."""
    Section.objects.update(asked_at=None)


def age_answer(**ago: int) -> None:
    """Let the last look be longer ago, and the next one be due."""
    row = Section.objects.get(name=INDEX)
    row.answer["at"] = (timezone.now() - timedelta(**ago)).isoformat()
    row.save()
    later()


def loggers(caplog: pytest.LogCaptureFixture) -> set[str]:
    """Return who has logged; Python's development mode names a slow machine itself."""
    return {it.name for it in caplog.records} - {"asyncio"}


class TestLooks:
    def test_a_crawler_would_get_the_index(self, client):
        answer = look()
        served = client.get("/sitemap.xml", headers={"accept-encoding": "gzip"})
        assert answer.url == "https://example.com/sitemap.xml"
        assert (answer.status, answer.size) == (200, len(served.content))
        assert answer.is_ours
        assert answer.is_known
        assert status().answer == answer
        assert problems_of(status()) == []

    @pytest.mark.parametrize(
        ("robots", "text", "is_named", "state"),
        [
            ({}, "", True, "ok"),
            (
                {},
                "User-agent: *\nSITEMAP:  https://example.com/sitemap.xml",
                True,
                "ok",
            ),
            ({}, "Sitemap: https://example.com/sitemap.xml.gz", False, "error"),
            (None, "", None, "unknown"),  # a web server may have one
        ],
    )
    def test_it_says_whether_robots_txt_names_it(
        self, settings, configure, client, monkeypatch, robots, text, is_named, state
    ):
        usual = settings.ROOT_URLCONF
        if text:
            own = path("robots.txt", lambda request: HttpResponse(text))
            monkeypatch.setattr(f"{__name__}.urlpatterns", [own, urlpatterns[1]])
            settings.ROOT_URLCONF = __name__
        configure(ROBOTS=robots, MONITORING_TOKEN=TOKEN)
        assert look().is_named is is_named
        settings.ROOT_URLCONF = usual
        client.force_login(User.objects.create_superuser("admin"))
        overview = reverse("admin:sitemaps_plus_dashboard_changelist")
        [(_, _, steps, *_)] = client.get(overview).context["sites"]
        assert {it.name: it.state for it in steps}["robots.txt"] == state

    @pytest.mark.parametrize(
        ("rule", "is_disallowed"),
        [
            ("\ufeffUser-agent: *\nDisallow: /", True),
            ("User-agent: *\nDisallow: /sitemap.xml", True),
            ("User-agent: *\nAllow: /sitemap\nDisallow: /", False),
            ("User-agent: other\nDisallow: /", False),
        ],
    )
    def test_a_robots_txt_that_disallows_it_is_a_warning(
        self, settings, monkeypatch, rule, is_disallowed
    ):
        """A view or a template of the project, which no check reads."""
        own = path("robots.txt", lambda request: HttpResponse(rule))
        usual = path("", include(settings.ROOT_URLCONF))
        monkeypatch.setattr(f"{__name__}.urlpatterns", [own, usual])
        settings.ROOT_URLCONF = __name__
        assert look().is_well
        found = problems_of(status())
        told = [("index_disallowed", "warning")] * is_disallowed
        assert [(it.id, it.level) for it in found] == told
        for problem in found:
            assert "disallows https://example.com/sitemap.xml," in problem.message
            assert problem.remedy == "Add 'Allow: /sitemap' to its rules."
        assert health() == (200, "ok")

    @pytest.mark.parametrize(
        ("answer", "said", "remedy"),
        [
            (lambda _: HttpResponse("<html>"), "with no sitemap", "Put path("),
            (lambda _: HttpResponse(status=404), "answers 404", "Put path("),
            (
                lambda _: HttpResponseRedirect("https://www.example.com/sitemap.xml"),
                "answers 302",
                "Correct SITEMAPS_PLUS['BASE_URL']: it leads to https://www.example.com/",
            ),
            (
                lambda _: HttpResponseRedirect("/login/?next=/sitemap.xml"),
                "answers 302",
                "without a login or prefix: it leads to /login/",
            ),
            (lambda _: HttpResponse(status=503), "answers 503", "Fix the error"),
            (
                lambda _: 1 / 0,
                "answers 500 for https://example.com/sitemap.xml. "
                "ZeroDivisionError: division by zero",
                "Fix the error",
            ),
        ],
    )
    def test_all_else_is_a_problem(self, project, answer, said, remedy):
        project(answer)
        look()
        [problem] = problems_of(status())
        assert (problem.id, problem.level) == ("index_unavailable", "error")
        assert said in problem.message
        assert remedy in problem.remedy

    def test_a_middleware_that_spoils_it_is_named(self, settings):
        """No other place in ROOT_URLCONF would help."""
        settings.MIDDLEWARE = [f"{__name__}.spoiling", *settings.MIDDLEWARE]
        assert look().is_ours
        [problem] = problems_of(status())
        assert problem.id == "index_unavailable"
        assert problem.remedy.startswith("Something in MIDDLEWARE changes it")

    def test_a_sitemap_of_another_view_will_do(self, project):
        project(lambda _: HttpResponse(b'<?xml version="1.0"?><urlset></urlset>'))
        answer = look()
        assert (answer.is_ours, answer.is_well) == (False, True)
        assert problems_of(status()) == []

    def test_a_host_that_is_not_allowed(self, settings):
        settings.ALLOWED_HOSTS = ["other.example"]
        assert look().status == 400
        [problem] = problems_of(status())
        assert problem.remedy == "Add 'example.com' to ALLOWED_HOSTS."
        settings.DEBUG = True  # where BASE_URL may be that of production
        assert look().status == 200

    def test_a_project_that_does_not_answer(self, project, monkeypatch):
        """Whoever asked goes on, and a thread that hangs stays the only one."""
        is_over, asked = threading.Event(), list[Any]()
        project(lambda _: asked.append(1) or (is_over.wait(60) and HttpResponse()))
        monkeypatch.setattr(answers, "PATIENCE", 0.1)
        began = monotonic()
        try:
            assert [look().status, look().status, len(asked)] == [0, 0, 1]
        finally:
            is_over.set()
            answers._looks["default"].join(60)
        assert monotonic() - began < 30
        [problem] = problems_of(status())
        assert "no answer within" in problem.message
        project(lambda _: HttpResponse(b"<urlset></urlset>"))
        assert look().is_well

    def test_slow_sites_are_not_taken_for_dead(self, project, configure, monkeypatch):
        """Time is over for all together: of what had none nothing is known."""
        sites = {name: {"BASE_URL": f"https://{name}.example"} for name in "abcd"}
        configure(BASE_URL=None, SITES=sites)
        is_over = threading.Event()

        def answer(request: Any) -> HttpResponse:
            is_over.wait(0.6 if request.get_host() == "a.example" else 60)
            return HttpResponse(b"<urlset></urlset>")

        project(answer)
        monkeypatch.setattr(answers, "PATIENCE", 3.0)
        try:
            found = answers.look(*get_sites())
        finally:
            is_over.set()
            for look in answers._looks.values():
                look.join(60)
        assert {name: it.status for name, it in found.items()} == {"a": 200}
        assert "c" not in answers._looks  # nor is it asked any more
        found = answers.look(*get_sites())
        assert {it.status for it in found.values()} == {200}
        assert len(found) == 4

    def test_an_answer_from_the_cache_is_ours(self, settings):
        cached = "django.middleware.cache"
        settings.MIDDLEWARE = [
            f"{cached}.UpdateCacheMiddleware",
            *settings.MIDDLEWARE,
            f"{cached}.FetchFromCacheMiddleware",
        ]
        assert [look().is_ours, look().is_ours] == [True, True]

    @pytest.mark.database
    def test_a_query_that_fails_leaves_the_transaction(self, project):
        """As PostgreSQL would not: whoever asks goes on in it."""

        def answer(request: Any) -> HttpResponse:
            with connection.cursor() as cursor:
                cursor.execute("SELECT 1 FROM no_such_table")
            return HttpResponse()

        project(answer)
        with transaction.atomic():
            assert look().status == 500
            assert "no_such_table" in look().said

    def test_it_is_unwell_since_the_first_look(self, project):
        project(lambda _: HttpResponse(status=503))
        first, second = look(), look()
        assert first.at < second.at
        [problem] = problems_of(status())
        assert problem.since == first.looked_at
        project(lambda _: HttpResponse(b"<urlset></urlset>"))
        assert look().since == ""

    def test_a_site_without_entries_is_a_warning(self, sections):
        sections.unregister("products")
        assert look().is_empty
        [problem] = problems_of(status())
        assert (problem.id, problem.level) == ("index_empty", "warning")
        assert health() == (200, "ok")

    def test_a_project_without_our_urls(self, settings):
        """Nothing is known of a project that may have views of its own."""
        settings.ROOT_URLCONF = "django.contrib.auth.urls"
        answer = look()
        assert (answer.status, answer.is_known) == (0, False)
        assert "sitemaps_plus" in answer.said
        assert problems_of(status()) == []
        settings.ROOT_URLCONF = "tests.no_module"
        look()
        [problem] = problems_of(status())
        assert "no_module" in problem.message

    @pytest.mark.parametrize(
        ("answer", "status"),
        [
            (None, 200),
            (lambda _: 1 / 0, 500),
            (lambda _: HttpResponse(status=503), 503),
            (lambda _: get_object_or_404(User, pk=0), 404),
            (lambda _: fail(PermissionDenied("no")), 403),
            (lambda _: fail(SuspiciousOperation("odd")), 400),
            (lambda _: TemplateResponse(None, "no_such.html"), 500),
        ],
    )
    @pytest.mark.parametrize("middleware", ["", "raising", "raising_async", "Hooks"])
    def test_nobody_is_told_of_a_look(
        self, project, settings, caplog, told, answer, status, middleware
    ):
        """Whoever mails errors, or counts requests, would do so each minute.

        The signals of requests would close the connections of the caller.
        """
        if answer:
            project(answer)
        if middleware:
            settings.MIDDLEWARE = [f"{__name__}.{middleware}", *settings.MIDDLEWARE]
            status = 500 if middleware.startswith("raising") else status
        assert look().status == status
        assert told == []
        assert loggers(caplog) == set()

    def test_nobody_is_told_of_rows_that_live_pages_leave_out(self, sections, caplog):
        bad = limited(10, location=lambda self, row: None if row.pk % 2 else "/a/")
        sections.unregister("products")
        sections.register("products", bad)
        look()
        assert loggers(caplog) == set()
        Client().get("/sitemap-products-2.xml")
        assert loggers(caplog) == {"django_sitemaps_plus.sources.lines"}

    def test_the_errors_of_others_are_told(self, project, settings, caplog, told):
        settings.ALLOWED_HOSTS = ["other.example"]
        assert look().status == 400
        assert loggers(caplog) == set()
        project(lambda _: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            Client(headers={"host": "other.example"}).get("/sitemap.xml")
        assert got_request_exception in told
        assert "django.request" in loggers(caplog)

    @pytest.mark.parametrize(
        ("page", "status"), [("handler404", 500), ("handler500", 0)]
    )
    def test_an_error_page_may_fail_as_well(
        self, project, monkeypatch, told, page, status
    ):
        project(lambda _: get_object_or_404(User, pk=0) if status else 1 / 0)
        broken = lambda request, exception=None: 1 / 0  # noqa: E731
        monkeypatch.setattr(sys.modules[__name__], page, broken, raising=False)
        clear_url_caches()
        assert look().status == status
        assert told == []

    def test_the_caller_does_not_count(self, project, settings, configure):
        """Its language, site and transaction: the thread is another."""
        asked: list[Any] = []

        def answer(request: Any) -> HttpResponse:
            asked.append((threading.current_thread(), get_language(), site_in_force()))
            return HttpResponse(b"<urlset></urlset>")

        project(answer)
        own = threading.current_thread()
        with override("de"), in_force(get_site()):
            look()
            [(thread, language, chosen)] = asked
            assert (thread == own, language, chosen) == (False, "en", None)
            with transaction.atomic():  # whose rows another thread would not see
                look()
            assert asked[1] == (own, "en", None)
            assert get_language() == "de"

    def test_paths_are_decoded_as_a_server_does(self, settings, configure, project):
        answer = "django_sitemaps_plus.urls"
        project(None)
        module = ModuleType("tests.words")
        module.urlpatterns = [path("größe/", include(answer))]
        settings.ROOT_URLCONF = module
        assert look().status == 200
        settings.ROOT_URLCONF = "tests.support.urls"
        configure(BASE_URL="https://example.com/größe", MONITORING_TOKEN=TOKEN)
        assert look().status == 200

    def test_no_host_of_development_is_needed(self, settings, configure, sections):
        """Sites are told apart though the host of none is allowed."""
        sections.register("more", limited(5, sites=["b"]))
        settings.DEBUG, settings.ALLOWED_HOSTS = True, []
        sites = {name: {"BASE_URL": f"https://{name}.example"} for name in ("a", "b")}
        configure(BASE_URL=None, SITES=sites)
        found = answers.look(*get_sites())
        assert {name: it.status for name, it in found.items()} == {"a": 200, "b": 200}
        assert found["a"].size < found["b"].size

    @pytest.mark.database
    def test_an_error_is_kept_as_far_as_a_row_takes_it(self, project):
        def answer(request: Any) -> HttpResponse:
            raise RuntimeError("\x00" + "x" * 1_000_000)

        project(answer)
        said = look().said
        assert len(said) == answers.MAX_WORDS
        assert said.startswith(r"RuntimeError: \x00x")

    def test_a_database_that_is_away_leaves_the_answer(self):
        with fail_queries(writes_to("sitemaps_plus_section")):
            found = answers.look(get_site())
        assert found["default"].status == 200

    def test_what_another_has_kept_is_not_known(self, configure):
        """Another version, or one for another origin."""
        good = look()
        for kept in ({"state": "well"}, {"at": "yesterday"}, {"at": None}):
            Section.objects.filter(name=INDEX).update(answer=asdict(good) | kept)
            assert status().answer is None
        later_at = (timezone.now() + timedelta(days=1)).isoformat()
        Section.objects.filter(name=INDEX).update(
            answer=asdict(good) | {"at": later_at}
        )
        assert not status().is_known
        look()
        configure(BASE_URL="https://other.example")
        assert status().answer is None

    def test_a_process_that_can_have_no_thread(self, monkeypatch):
        def start(self: Any) -> None:
            raise RuntimeError("can't start new thread")

        monkeypatch.setattr(threading.Thread, "start", start)
        assert health() == (200, "unknown")


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
        later()
        health()
        assert status().answer.looked_at > first.looked_at

    @pytest.mark.database
    def test_one_of_all_processes_does(self, project):
        """Also while the first look takes long, and after one that fails."""
        asked: list[Any] = []

        def answer(request: Any) -> HttpResponse:
            asked.append(health())  # another process, meanwhile
            raise RuntimeError("its service is away")

        project(answer)
        assert health() == (503, "problem")
        answers.look_now_and_then(get_site())
        assert health() == (503, "problem")
        assert asked == [(200, "unknown")]
        Section.objects.update(asked_at=timezone.now() - timedelta(seconds=61))
        health()
        assert len(asked) == 2

    def test_a_database_that_takes_no_write_leaves_it_unknown(self):
        with fail_queries(writes_to("sitemaps_plus_section")):
            assert health() == (200, "unknown")

    def test_where_it_cannot_the_state_is_unknown(self, sections):
        """An old answer says nothing, whether it was good or bad."""
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
        problem, _section = problems_of(status())
        assert "Django answers 503" in problem.message
        assert "its service is away" in problem.message

    @pytest.mark.parametrize(
        ("answer", "words"),
        [
            (HttpResponse("ok"), "Django answers 200 with no sitemap"),
            (HttpResponse(status=403), "Django answers 403 with no sitemap"),
            (HttpResponseRedirect("/login/"), "Django answers 302 /login/"),
        ],
    )
    def test_a_page_that_others_answer_is_a_503(
        self, settings, monkeypatch, answer, words
    ):
        """A catch-all route or a middleware has it; the index is well meanwhile."""
        monkeypatch.setattr(f"{__name__}.answer_of_project", answer)
        settings.MIDDLEWARE = [f"{__name__}.catching", *settings.MIDDLEWARE]
        assert health() == (503, "problem")
        [first] = problems_of(status())
        build()
        later()
        assert health() == (503, "problem")  # also of a page that was built
        [problem] = problems_of(status())
        assert (problem.id, problem.subject) == ("section_unavailable", "products")
        assert f"/sitemap-products-2.xml: {words}" in problem.message
        assert problem.since == first.since
        found = [it.text for it in examine() if it.ok is False]
        assert problem.message in found
        monkeypatch.setattr(f"{__name__}.answer_of_project", None)
        later()
        assert health() == (200, "ok")

    def test_a_limit_of_requests_is_met_by_looks_alone(self, settings, monkeypatch):
        """They ask for fifty pages in half a second."""
        answer = HttpResponse(status=429)
        monkeypatch.setattr(f"{__name__}.answer_of_project", answer)
        settings.MIDDLEWARE = [f"{__name__}.catching", *settings.MIDDLEWARE]
        assert health() == (200, "ok")

    def test_a_page_without_rows_is_none_that_others_answer(self, configure, client):
        """The index is kept for a while, and lists it until then."""
        configure(LIVE_CACHE_SECONDS=60)
        assert client.get("/sitemap.xml").status_code == 200
        kept = Product.objects.order_by("pk")[:20].values_list("pk", flat=True)
        Product.objects.exclude(pk__in=list(kept)).delete()
        assert client.get("/sitemap-products-3.xml").status_code == 404
        assert health() == (200, "ok")

    def test_a_button_of_the_dashboard_does(self, client):
        client.force_login(User.objects.create_superuser("admin"))
        ask = reverse("admin:sitemaps_plus_dashboard_act", args=["ask"])
        overview = reverse("admin:sitemaps_plus_dashboard_changelist")
        assert "was not asked" in client.get(overview).text
        assert client.post(ask).headers["Location"] == overview
        page = client.get(overview).text
        assert "Ask Django for the sitemap: https://example.com: done." in page
        assert "200, " in page
        age_answer(minutes=6)
        page = client.get(overview).text.replace("\xa0", " ")
        assert "Not known" in page
        assert "asked 6 minutes ago" in page
        problems = client.get(reverse("admin:sitemaps_plus_dashboard_problems")).text
        assert "Nothing needs you" not in problems
