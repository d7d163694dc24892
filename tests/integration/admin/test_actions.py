"""Actions of the dashboard, what builds and workers then do, and odd requests."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any, ClassVar
from urllib.parse import quote

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils import timezone

from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.building.guard import WELL, judge
from django_sitemaps_plus.diagnostics.problems import problems_of
from django_sitemaps_plus.diagnostics.status import read_dashboard
from django_sitemaps_plus.exceptions import RetryLater
from django_sitemaps_plus.executors.base import Executor
from django_sitemaps_plus.models import Delivery, EngineHost, Page, Section, Worker
from django_sitemaps_plus.models.workers import GONE
from django_sitemaps_plus.notifications.dispatch import notify_engines
from django_sitemaps_plus.sites import get_site
from django_sitemaps_plus.testing import RecordingEngine
from tests.integration.diagnostics.rows import ENGINE, deliver
from tests.support.shop import limited, make_products, product_urls
from tests.support.testapp.models import Product

DASHBOARD = "/admin/sitemaps_plus/dashboard/"
DESK = "/desk/sitemaps_plus/"

VALUES = [
    *("", "-1", "1e3", str(10**30), "9" * 5_000, "x" * 5_000),
    *("\u0661\u0662", "\u00b2", "1\x00", "%", "..", "\U0001f4a9"),
]
ENCODED = [*map(quote, VALUES), "%ed%a0%80", "%ff"]

URLS = [
    f"{DESK}dashboard/?site={{}}",
    f"{DESK}dashboard/section/?section={{}}",
    f"{DESK}dashboard/section/?section=products&from={{}}",
    f"{DESK}dashboard/section/entries/?section=products&number={{}}",
    f"{DESK}dashboard/section/entries/?section=products&number=1&page={{}}",
    f"{DESK}dashboard/section/entries/?section=products&number=1&q={{}}",
    f"{DESK}dashboard/section/entries/?section={{}}&number=1",
    f"{DESK}dashboard/actions/{{}}/",
    f"{DESK}dashboard/actions/refresh/?section={{}}",
    f"{DESK}dashboard/actions/pause/?engine={{}}",
    *[f"{DESK}exclusion/?{name}={{}}" for name in ("q", "p", "o", "e", "model")],
    f"{DESK}exclusion/{{}}/delete/",
    "/desk/testapp/product/{}/sitemap/",
    "/monitoring/health/?max_age={}",
    "/monitoring/health/?site={}",
]

#: What forms send, by their actions.
FORMS = [("submit", "urls"), ("submit", "site"), ("rebuild", "section")]
FORMS += [("resume", "engine")]


class Listening(Executor):
    """An executor whose workers are only counted."""

    is_listening = True
    woken: ClassVar[list[str]] = []

    def wake(self, section: str) -> None:
        """Note what is to be built."""
        self.woken.append(section)

    def audit(self, site: str) -> bool:
        """Note that a site is to be audited."""
        self.woken.append(f"audit {site}")
        return True

    def notify(self, due: datetime) -> None:
        """Note that engines are to be notified."""
        self.woken.append("engines")


@pytest.fixture
def woken(configure: Any) -> Any:
    """Have workers and an engine; return what the workers were woken for."""
    path = f"{__name__}.Listening"
    configure(EXECUTOR=path, ENGINES={"one": ENGINE}, NOTIFY=True)
    RecordingEngine.clear()
    Listening.woken.clear()
    return Listening.woken


@pytest.fixture
def ask(client: Any, django_capture_on_commit_callbacks: Any) -> Any:
    """Return what takes an action as a superuser, and gives what the page then says."""
    client.force_login(User.objects.create_superuser("ada"))

    def ask(name: str, **values: str) -> list[str]:
        with django_capture_on_commit_callbacks(execute=True):
            answer = client.post(f"{DASHBOARD}actions/{name}/", values)
        assert answer.url == DASHBOARD
        return [str(it) for it in client.get(DASHBOARD).context["messages"]]

    return ask


@pytest.fixture
def pages(shop: Any) -> Any:
    """Publish 200 products on pages of ten."""
    return shop(200).pages


def dirty(pages: Any) -> int:
    """Return how many pages are to be built."""
    return pages.filter(is_dirty=1).count()


def keep(number: int) -> None:
    """Delete all products but the first."""
    first = Product.objects.order_by("pk").values_list("pk", flat=True)[:number]
    Product.objects.exclude(pk__in=list(first)).delete()


@pytest.mark.parametrize(
    ("left_out", "words"),
    [
        ({"skipped": 2}, "Rows left out: 2"),
        ({"dropped": 3}, "Values left out: 3"),
        ({"skipped": 2, "dropped": 3}, "Rows left out: 2, Values left out: 3"),
        ({}, ""),
    ],
)
def test_what_is_left_out_is_not_complete(shop, admin_client, left_out, words):
    """Neither the site is, nor the row of its section or of its page is green."""
    row = shop()
    Section.objects.filter(pk=row.pk).update(**left_out)
    row.pages.update(**left_out)
    shown = admin_client.get(reverse("admin:sitemaps_plus_dashboard_changelist"))
    [(_, verdicts, _, [section], *_)] = shown.context["sites"]
    assert verdicts[1][1] == section.state[0] == ("warning" if words else "ok")
    if words:
        assert verdicts[1][2] == section.state[1] == words
    url = reverse("admin:sitemaps_plus_dashboard_section")
    page = admin_client.get(f"{url}?section=products").text
    assert ('class="sitemaps-ok"' in page) == (not words)


class TestWorkers:
    """What the page of workers says, which asks them."""

    @pytest.mark.parametrize(
        ("faults", "is_seen", "state", "words"),
        [
            ([], False, "ok", "Workers that answer: a, b"),
            ([("It is deaf.", "Shout.")], False, "error", "It is deaf. Shout."),
            (None, False, "unknown", "cannot be asked"),
            (None, True, "ok", "run_sitemaps last seen"),
        ],
    )
    def test_of_an_executor(
        self, admin_client, woken, monkeypatch, faults, is_seen, state, words
    ):
        asked = None if faults is None else iter(faults)
        monkeypatch.setattr(Listening, "worker_faults", lambda self: asked)
        monkeypatch.setattr(Listening, "workers", lambda self: ["a", "b"])
        self.look(admin_client, is_seen, state, words)

    @pytest.mark.parametrize(
        ("is_seen", "state", "words"),
        [(False, "warning", "No workers"), (True, "ok", "run_sitemaps last seen")],
    )
    def test_without_one(self, admin_client, is_seen, state, words):
        self.look(admin_client, is_seen, state, words)

    def test_one_that_is_gone(self, admin_client):
        Worker.objects.note("run_sitemaps")
        Worker.objects.update(seen_at=timezone.now() - GONE)
        self.look(admin_client, False, "error", "run_sitemaps: None was seen since")

    def test_tasks_and_cron_are_seen_and_not_missed(
        self, admin_client, woken, monkeypatch
    ):
        """They end by themselves, each time."""
        monkeypatch.setattr(Listening, "worker_faults", lambda self: None)
        Worker.objects.note("tasks", has_ended=True)
        Worker.objects.update(seen_at=timezone.now() - GONE)
        self.look(admin_client, False, "unknown", "tasks last seen 1 minute ago")
        shown = admin_client.get(reverse("admin:sitemaps_plus_dashboard_changelist"))
        assert "<bdi>tasks</bdi> last seen 1" in shown.text

    def look(self, client: Any, is_seen: bool, state: str, words: str) -> None:
        """Look at the page, and see what it says."""
        if is_seen:
            Worker.objects.note("run_sitemaps")
        shown = client.get(reverse("admin:sitemaps_plus_dashboard_workers"))
        [verdict] = shown.context["verdicts"]
        assert verdict.state == state
        assert words in verdict.words.replace("\xa0", " ")

    def test_one_that_was_seen_does_what_is_noted(self, ask, pages):
        Worker.objects.note("run_sitemaps")
        words = "Rebuild: products: queued for the workers."
        assert ask("rebuild", section="products") == [words]


class TestSections:
    def test_a_refresh_wakes_the_workers(self, ask, pages, woken):
        assert ask("refresh", section="products") == [
            "Update: products: queued for the workers."
        ]
        assert (woken, dirty(pages)) == (["products"], 0)

    def test_a_rebuild_marks_every_page(self, ask, pages, woken):
        """Also those that were parked; nothing is built by the request."""
        pages.filter(number=1).update(wanted=9, attempts=5, error="it broke")
        before = dict(pages.values_list("number", "checked_at"))
        ask("rebuild", section="products")
        assert (woken, dirty(pages)) == (["products"], 20)
        assert dict(pages.values_list("number", "checked_at")) == before
        build(waits=False)
        assert dirty(pages) == 0

    def test_where_nothing_is_to_be_done_it_says_so(self, ask, sections):
        """A section that is served live has no pages, and is not held."""
        sections.register("products", limited(10))
        words = "products: there is nothing to do."
        assert ask("rebuild", section="products") == [f"Rebuild: {words}"]
        assert ask("release", section="products") == [f"Let it pass: {words}"]

    def test_no_build_is_asked_for_where_there_is_none(self, ask, sections, client):
        """A section that is always live has no actions."""
        sections.register("products", limited(10, live=True))
        sections.register("news", limited(10))
        said = "Update: products: there is nothing to do."
        assert ask("refresh", section="products") == [said]
        assert ask("refresh", section="news") != []
        shown = client.get(DASHBOARD).text
        labels = re.findall('aria-label="([^"]+): (?:news|products)"', shown)
        assert sorted(labels) == ["Actions", "Update"]

    @pytest.mark.parametrize("waits", [True, False])
    def test_a_held_section_is_let_pass_once(self, ask, pages, woken, waits):
        """By the next build, of a worker or of a command; the one after is guarded."""
        keep(41)
        build(waits=False, full=True)
        held = Section.objects.get(name="products")
        assert held.hold_reason
        ask("release", section="products")
        assert woken[-1:] == ["products"]
        build(waits=waits)
        (section,) = Section.objects.filter(name="products")
        assert (section.hold_reason, section.may_shrink) == ("", False)
        assert sum(pages.values_list("entries", flat=True)) == Product.objects.count()
        make_products(200, first=200)
        build(full=True)
        keep(41)
        build(full=True)
        assert Section.objects.get(name="products").hold_reason

    def test_what_would_go_is_listed_before(self, ask, pages, client):
        """The URLs that its rows no longer give, on the pages that are held."""
        keep(41)
        build(waits=False, full=True)
        answer = client.get(f"{DASHBOARD}actions/release/?section=products")
        found = answer.context["search"]
        urls = product_urls(range(41, 200))
        assert [url for _page, url, _date in found.found] == urls[:100]
        assert (found.is_cut, found.unread) == (True, 0)
        assert urls[0] in answer.text
        assert product_urls([40])[0] not in answer.text
        Page.objects.update(object="products/1/lost.xml.gz")
        answer = client.get(f"{DASHBOARD}actions/release/?section=products")
        assert answer.context["search"].unread > 0
        assert "Pages that could not be read" in answer.text

    @pytest.mark.parametrize("is_late", [True, False])
    def test_one_that_got_well_is_guarded_again(self, ask, pages, woken, is_late):
        """What a person says of one fall, before or as it ends, is not of the next."""
        gone = list(Product.objects.order_by("pk")[41:])
        keep(41)
        build(waits=False, full=True)
        held = Section.objects.get(name="products")
        ask("release", section="products")
        Product.objects.bulk_create(gone)
        if is_late:
            pages.update(hold="")
            judge(held, allow_shrink=False, of_plan=WELL)
        build()
        section = Section.objects.get(name="products")
        assert (section.hold_reason, section.may_shrink) == ("", False)
        keep(41)
        build(full=True)
        assert Section.objects.get(name="products").hold_reason


class TestEngines:
    def test_one_that_is_paused_gets_nothing(self, ask, sections, woken):
        assert ask("pause", engine="one") == ["Pause: one: done."]
        (host,) = EngineHost.objects.all()
        assert host.parked_reason == "paused by ada"
        [problem] = problems_of(read_dashboard([get_site()])[0])
        assert (problem.id, problem.since) == ("engine_parked", host.not_before)
        ask("submit", urls="/about/")
        assert (notify_engines().sent, RecordingEngine.told()) == (0, [])
        assert ask("resume", engine="one") == ["Resume: one: queued for the workers."]
        assert woken[-1] == "engines"
        notify_engines()
        assert RecordingEngine.told() == ["https://example.com/about/"]

    def test_one_that_is_paused_at_work_ends(self, ask, sections, woken, monkeypatch):
        real = RecordingEngine.send

        def send(engine, batch):
            real(engine, batch)
            ask("pause", engine="one")

        monkeypatch.setattr(RecordingEngine, "max_batch", 1)
        monkeypatch.setattr(RecordingEngine, "send", send)
        ask("submit", urls="/a/ /b/")
        assert notify_engines().sent == 1
        assert Delivery.objects.waiting().count() == 1

    def test_one_that_is_paused_while_it_fails_stays_paused_since_then(
        self, ask, sections, woken, monkeypatch
    ):
        def send(engine, batch):
            ask("pause", engine="one")
            raise RetryLater("It is down", after=3_600)

        monkeypatch.setattr(RecordingEngine, "send", send)
        ask("submit", urls="/a/")
        notify_engines()
        [problem] = problems_of(read_dashboard([get_site()])[0])
        assert (problem.id, problem.since <= timezone.now()) == ("engine_parked", True)

    def test_what_was_rejected_is_submitted_again(self, ask, sections, woken):
        deliver("https://example.com/about/", dead_since=timezone.now())
        assert ask("retry", engine="one") == ["Retry: one: queued for the workers."]
        notify_engines()
        assert RecordingEngine.told() == ["https://example.com/about/"]

    def test_urls_are_submitted_as_they_are_listed(self, ask, sections, woken):
        """At once, each one time, whether with the origin or without."""
        words = "/caf\u00e9/ https://example.com/a/\n/caf%C3%A9/"
        (said,) = ask("submit", urls=words)
        assert said.endswith("queued for the workers.")
        assert woken == ["engines"]
        notify_engines()
        assert RecordingEngine.told() == [
            "https://example.com/a/",
            "https://example.com/caf%C3%A9/",
        ]

    @pytest.mark.parametrize(
        ("urls", "words"),
        [
            ("https://evil.example/", "cannot be submitted"),
            ("javascript:alert(1)", "cannot be submitted"),
            ("", "required"),
            (" ".join([f"/{n}/" for n in range(1_001)]), "1,001 URLs are too many"),
        ],
        ids=["other host", "no URL", "none", "many"],
    )
    def test_what_cannot_be_submitted_is_said(
        self, client, ask, sections, configure, woken, urls, words
    ):
        """So is why a site notifies nobody."""
        answer = client.post(f"{DASHBOARD}actions/submit/", {"urls": urls})
        assert answer.status_code == 200
        assert words in answer.text
        assert not Delivery.objects.exists()
        configure(NOTIFY=False)
        answer = client.get(f"{DASHBOARD}actions/submit/")
        assert "NOTIFY&#x27;] is False" in answer.text


def test_several_sites_are_kept_apart(ask, configure, sections, woken):
    """A request names its site; one of another name is not found."""
    addresses = {"a": "https://a.example", "b": "https://b.example"}
    sites = {name: {"BASE_URL": it} for name, it in addresses.items()}
    configure(SITES=sites)
    ask("pause", engine="one", site="b")
    assert list(EngineHost.objects.values_list("site", "host")) == [("b", "b.example")]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("refresh", {"section": "others"}),
        ("pause", {"engine": "others"}),
        ("refresh", {"section": "products", "site": "others"}),
        ("explode", {"section": "products"}),
    ],
)
def test_what_does_not_exist_is_not_found(client, ask, pages, name, values):
    url = f"{DASHBOARD}actions/{name}/"
    assert client.post(url, values).status_code == 404
    assert client.get(url, values).status_code == 404


@pytest.mark.parametrize("name", ["refresh", "rebuild", "release"])
def test_an_unregistered_section_is_left_alone(client, ask, pages, sections, name):
    """No build would take what it asks for."""
    Section.objects.update(hold_reason="too few entries")
    sections.unregister("products")
    url = f"{DASHBOARD}actions/{name}/"
    assert client.post(url, {"section": "products"}).status_code == 404
    assert dirty(pages) == 0
    assert ': products"' not in client.get(DASHBOARD).text  # the label of a button


def test_the_overview_says_what_waits(client, ask, pages, woken):
    now = timezone.now()
    pages.filter(number=1).update(wanted=9, changed_at=now)
    text = client.get(DASHBOARD).text
    assert "Waiting for a build: pages: 1, changes: 0" in text
    pages.filter(number=1).update(token="a" * 32, claimed_at=now)
    moving = client.get(f"{DASHBOARD}running/").text
    assert moving.count("Updating 19 of 20") == 2
    assert '<progress max="20" value="19"' in moving


def test_the_overview_counts_nothing_of_a_site_that_is_not_built(
    client, ask, sections, configure
):
    """It has entries, though no build has counted them."""
    make_products(1)
    sections.register("products", limited(5))
    cell = '<td class="sitemaps-number" data-label="Entries">'
    shown = client.get(DASHBOARD).text
    assert f"{cell}\N{EN DASH}" in shown
    assert "First steps" in shown
    assert shown.count("SITEMAPS_PLUS[&#x27;ENGINES&#x27;]") == 3
    configure(SITES={"shop": {"BASE_URL": "https://example.com"}})
    own = "SITEMAPS_PLUS[&#x27;SITES&#x27;][&#x27;shop&#x27;][&#x27;ENGINES&#x27;]"
    assert client.get(DASHBOARD).text.count(own) == 3
    configure(SITES=None)
    assert '<details id="steps-default"' in shown  # by which a refresh knows it
    assert "Cron or workers" in shown
    assert "start a worker" not in shown
    configure(EXECUTOR=f"{__name__}.Listening")
    assert "start a worker" in client.get(DASHBOARD).text
    Worker.objects.note("celery")
    assert "Workers that were seen: celery" in client.get(DASHBOARD).text
    build()
    shown = client.get(DASHBOARD).text
    assert f"{cell}1" in shown
    assert "First steps" not in shown
    seen = "<span><bdi>celery</bdi> last seen just now</span>"
    assert seen in shown
    Worker.objects.update(seen_at=timezone.now() - GONE)
    assert seen not in client.get(DASHBOARD).text


def test_an_executor_that_cannot_be_used_reaches_nobody(ask, configure, client, pages):
    """Everything is noted all the same, for a command."""
    configure(EXECUTOR="no.such.Executor")
    [said] = ask("refresh", section="products")
    assert said.endswith("run: manage.py build_sitemaps products")
    assert "nothing to do" in ask("audit")[0]
    assert client.get(f"{DASHBOARD}problems/").status_code == 200


class TestOddRequests:
    """Requests that no page makes: each is answered, and none is an error."""

    @pytest.fixture
    def asked(self, urls: Any, products: Any, admin_client: Any) -> Any:
        """Have pages, and an admin that has all of ours; return who asks it."""
        admin_client.raise_request_exception = False
        return admin_client

    def test_odd_values_are_answered(self, asked):
        given = [(url, value) for url in URLS for value in ENCODED]
        found = [(asked.get(it.format(v)).status_code, it, v[:9]) for it, v in given]
        assert [it for it in found if it[0] not in (200, 302, 400, 404)] == []

    def test_odd_forms_are_answered(self, asked):
        """So are they where they are not sent as forms."""
        found = []
        for name, key in FORMS:
            address = f"{DESK}dashboard/actions/{name}/"
            for value in VALUES:
                answer = asked.post(address, {"urls": "/", key: value})
                found.append((answer.status_code, name, key, value[:9]))
            for kind in ("application/json", "multipart/form-data", "text/plain"):
                answer = asked.post(address, b"\xff{", content_type=kind)
                found.append((answer.status_code, name, kind))
        assert [it for it in found if it[0] not in (200, 302, 400, 404)] == []

    @pytest.mark.parametrize("page", ["", "problems/", "submissions/"])
    def test_a_developer_needs_no_base_url(
        self, asked, sections, settings, configure, page
    ):
        """With DEBUG the site is that of the request, as it is for the sitemaps."""
        configure(BASE_URL=None)
        url, words = f"{DESK}dashboard/{page}", "Sitemap URLs have no origin"
        assert words in asked.get(url).text
        settings.DEBUG = True
        shown = asked.get(url).text
        assert words not in shown
        assert "products" in shown or page
