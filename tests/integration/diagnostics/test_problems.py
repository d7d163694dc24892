"""Problems of a site: grouped, bounded, each with what to do."""

from __future__ import annotations

import io
import json
from contextlib import suppress
from dataclasses import asdict
from datetime import timedelta
from string import ascii_letters
from typing import Any
from unittest import mock

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.db import OperationalError
from django.test import Client
from django.urls import NoReverseMatch, reverse
from django.utils import timezone

from django_sitemaps_plus import Entry, ModelSource, Source, site_urls
from django_sitemaps_plus.building import settle
from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.checks.settings import check_sites
from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.diagnostics import doctor, requests
from django_sitemaps_plus.diagnostics.answers import look
from django_sitemaps_plus.diagnostics.audit import keep_findings
from django_sitemaps_plus.diagnostics.explain import explain_object
from django_sitemaps_plus.diagnostics.problems import Item, Problem, problems_of
from django_sitemaps_plus.diagnostics.section_pages import read_pages
from django_sitemaps_plus.diagnostics.site_problems import read_problems
from django_sitemaps_plus.diagnostics.status import read_dashboard
from django_sitemaps_plus.models import (
    INDEX,
    MAX_ATTEMPTS,
    Change,
    Delivery,
    EngineHost,
    Hold,
    Page,
    Section,
    Worker,
)
from django_sitemaps_plus.models.claims import LEASES_TOLD
from django_sitemaps_plus.models.sections import SectionQuerySet
from django_sitemaps_plus.models.workers import GONE
from django_sitemaps_plus.notifications.outbox import want_urls
from django_sitemaps_plus.section import open_section
from django_sitemaps_plus.serving.live import DOUBT_AGE, FAULT_AGE, live_faults
from django_sitemaps_plus.sites import get_site, get_sites
from django_sitemaps_plus.sources.lines import LASTMOD_NOW, LeftOut
from django_sitemaps_plus.storage import delete_object
from django_sitemaps_plus.testing import RecordingEngine
from django_sitemaps_plus.tracking.deploys import fingerprint
from tests.support.builds import build_fully
from tests.support.shop import ProductSource, limited, make_products
from tests.support.testapp.models import Label, Product, Shop

from .rows import ENGINE, deliver, know


def names(wanted: Any) -> Any:
    """Give each object of a model that there is a page, and those of one a name."""
    found = {}
    for label, key in wanted:
        with suppress(LookupError, ValueError):
            model = apps.get_model(label)
            name = f"shop {key}" if model is Shop else ""
            found[label, key] = name, link(model, key), lambda: True
    return found


def link(model: Any, key: Any) -> str:
    return f"{model.__name__}:{key}"


def found(kind: str = "") -> list[Problem]:
    """Return the groups of one kind, or of all."""
    [status] = read_dashboard(get_sites())
    kinds = read_problems(status, names).kinds
    assert all(it.problems for it in kinds)
    return [group for it in kinds if kind in ("", it.name) for group in it.problems]


def have_page(number: int = 1, section: str = "products", **fields: Any) -> None:
    """Add a page that is fresh unless the fields say otherwise."""
    row, _ = Section.objects.get_or_create(site="default", name=section)
    usual = {"built": 1, "entries": 9}
    Page.objects.create(section=row, number=number, **usual | fields)
    Section.objects.recount(row.pk)


def row(name: str = "Product 1", reason: str = "E: a", **fields: str) -> Any:
    """Return a row that is left out, as a page stores it."""
    unknown = {"model": "", "key": "", "field": "location"}
    return asdict(LeftOut("row_skipped", name, reason=reason, **unknown)) | fields


def left_out(*problems: Any, number: int = 1, **counts: int) -> list[Problem]:
    """Return the groups of a page that leaves something out."""
    counts = counts or {"skipped": len(problems)}
    have_page(number, problems=problems, **counts)
    return found("rows")


@pytest.fixture
def products(sections: Any) -> None:
    """Have a section of products."""
    sections.register("products", ProductSource)


@pytest.mark.usefixtures("products")
class TestRows:
    def test_rows_with_the_same_fault_are_one_group(self, publish):
        """Though each says its own slug, on several pages."""
        products = make_products(25)
        publish(limited(10))
        for product in products[5:25:5]:
            product.slug = f'it\'s "{product.pk}" here'
            product.save()
        build()
        [group] = found("rows")
        assert (group.id, group.subject, group.count) == ("row_skipped", "products", 4)
        assert group.message == (
            "rows left out: no address of the site fits its values: "
            "No pattern named … takes {…: …} (NoReverseMatch)"
        )
        assert [(it.name, it.url) for it in group.items] == [
            (f"Product {it.pk}", f"Product:{it.pk}") for it in products[5:25:5]
        ]
        assert f'"{products[5].pk}" here' in group.items[0].words
        assert group.command == "manage.py build_sitemaps products --full"
        assert (group.action, group.subject) == ("rebuild", "products")

    def test_rows_values_and_repetitions_are_told_apart(self):
        groups = left_out(
            row("Product 1"),
            row("Product 2", action="value_dropped", field="images"),
            row("Product 3", action="row_repeated", field=""),
            row("Product 4", action="row_repeated", field=""),
            row("Product 5", action="value_doubted", field=""),
            asdict(LASTMOD_NOW),
            skipped=1,
            dropped=3,
        )
        assert [(it.id, it.count) for it in groups] == [
            ("row_repeated", 2),
            ("row_skipped", 1),
            ("value_dropped", 1),
        ]
        assert len({it.remedy for it in groups}) == 3

    def test_what_is_only_counted_is_a_number(self):
        *_, rows, values = left_out(row(), skipped=340, dropped=7)
        assert (rows.count, rows.message) == (339, "more rows: 1 of 340 are named.")
        assert (values.count, values.message) == (7, "more values: 0 of 7 are named.")

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("ValueError: 'x y' is not a URL", "ValueError: 'it\\'s' is not a URL"),
            ("ValueError: priority 7 is odd", "ValueError: priority -1.5 is odd"),
            ("ValueError: it doesn't do 'a' b", "ValueError: it doesn't do \"b's\" b"),
            ("ValueError: on 2026-01-01 10:30", "ValueError: on 2025-12-31 23:59"),
            (f"ValueError: a 'b {'c' * 300}", "ValueError: a 'd'"),  # it was cut
        ],
    )
    def test_texts_and_numbers_make_no_group(self, one, other):
        [group] = left_out(row("Product 1", one), row("A 2", other))
        assert group.count == 2

    def test_words_make_a_group_and_a_row_is_named_once(self):
        """It may be left out once a language."""
        words = "ValueError: it doesn't know 'a'", "ValueError: it doesn't have 'a'"
        groups = left_out(row(reason=words[0]), *[row(reason=words[1])] * 3)
        assert sorted([(it.count, len(it.items)) for it in groups]) == [(1, 1), (3, 1)]

    @pytest.mark.parametrize(
        ("model", "key", "name", "url"),
        [
            ("testapp.Product", "17", "a", "Product:17"),
            ("testapp.Product", "a left out: b", "a", "Product:a left out: b"),
            ("testapp.Shop", "17", "shop 17", "Shop:17"),  # of another source before
            ("", "", "a", ""),
        ],
    )
    def test_the_object_is_found_by_its_model_and_key(self, model, key, name, url):
        [group] = left_out(row("a", "ValueError: a: b", model=model, key=key))
        assert group.items == [Item(name=name, words="a: b (ValueError)", url=url)]

    @pytest.mark.parametrize("model", ["gone.Model", "nonsense"])
    def test_nobody_may_view_a_model_that_is_gone(self, model):
        """Nor is the reason told, which may have its values."""
        [group] = left_out(row("a", "ValueError: secret", model=model, key="17"))
        assert group.items == []
        assert group.message.endswith(": a value of it cannot be listed (ValueError)")

    @pytest.mark.database
    @pytest.mark.parametrize("old", ["Product 1 left out: E: a", {"row": "a"}, None, 5])
    def test_what_another_version_stored_is_only_counted(self, old):
        """The next rendering of the page names its rows."""
        [counted] = left_out(old, skipped=2)
        assert counted.message == "more rows: 0 of 2 are named."

    @pytest.mark.database
    def test_every_kind_of_key_leads_to_its_object(self, publish):
        rows = Label.objects.create(code="a/b 'c'"), Shop.objects.create(name="a")
        for made in rows:
            given = {"model": type(made), "location": "updated_at"}
            publish(type("Rows", (ModelSource,), given), type(made).__name__)
        urls = {it.url for group in found("rows") for it in group.items}
        assert urls == {link(type(made), made.pk) for made in rows}


@pytest.mark.usefixtures("products")
class TestOthers:
    def test_pages_that_fail_are_named_with_their_errors(self):
        """Parked ones first; those of the index and of others are not among them."""
        parked = {"wanted": 2, "attempts": MAX_ATTEMPTS}
        have_page(1, wanted=2, attempts=1, error="SourceError: odd")
        have_page(2, **parked)
        have_page(3, error="an old one")
        have_page(4, wanted=2)
        have_page(0, INDEX, **parked)
        [group] = found("pages")
        assert (group.id, group.count, group.action) == ("pages_parked", 2, "rebuild")
        assert group.message.startswith(
            "Pages given up for now: 1. Pages to be tried again soon: 1"
        )
        assert [it.name for it in group.items] == [
            "page 2, 5 attempts",
            "page 1, 1 attempt",
        ]
        assert "interrupted" in group.items[0].words
        assert group.items[1].words == "SourceError: odd"
        [index] = found("sections")
        assert (index.id, index.action) == ("index_failed", "")

    def test_a_page_that_its_builder_left_is_one_of_them(self):
        """Not while another may still take it over."""
        old = timezone.now() - LEASES_TOLD * get_settings().lease
        left = {"wanted": 2, "attempts": 1, "token": "gone"}
        have_page(1, claimed_at=old + timedelta(seconds=30), **left)
        assert found("pages") == []
        have_page(2, claimed_at=old - timedelta(seconds=30), **left)
        [group] = found("pages")
        assert (group.id, group.count) == ("pages_failed", 1)
        [page] = group.items
        assert (page.name, "interrupted" in page.words) == ("page 2, 1 attempt", True)

    def test_what_needs_a_person_comes_in_one_list(self, sections, configure):
        """The index, then sections and engines; what is tried again does not.

        All that show problems have the same ones.
        """
        configure(ENGINES={"one": ENGINE})
        sections.register("a b", ProductSource)
        ages = [timezone.now() - timedelta(hours=it) for it in range(4)]
        failed = {"attempts": MAX_ATTEMPTS, "error": "it broke"}
        have_page(0, INDEX, wanted=2, error="the disk is full", changed_at=ages[3])
        have_page(wanted=2, changed_at=ages[1], **failed)
        have_page(2, wanted=2, changed_at=ages[0], **failed)
        have_page(3, wanted=2, changed_at=ages[2], hold=Hold.HELD)
        have_page(1, "a b", entries=0, skipped=3)
        have_page(1, "gone", skipped=3, wanted=2, error="it broke once")
        Section.objects.filter(name="products").update(hold_reason="it would fall")
        Section.objects.filter(name="gone").update(missing_since=ages[0])
        Section.objects.filter(name="a b").update(published_at=ages[1])
        know(host="a.example", parked_reason="the key is wrong.", not_before=ages[2])
        know(host="b.example", failures=3, error="it is down")
        deliver("a", dead_since=ages[3], error="no such URL")
        [status] = read_dashboard(get_sites())
        problems = problems_of(status)
        assert {it.id: it.since for it in problems} == {
            "index_failed": ages[3],
            "section_empty": ages[1],
            "section_unregistered": ages[0],
            "section_held": ages[2],
            "pages_parked": ages[1],
            "engine_parked": ages[2],
            "engine_rejected": ages[3],
        }
        notify = "notify_search_engines --engine one --retry"
        assert [(it.id, it.subject, it.action, it.command[10:]) for it in problems] == [
            ("index_failed", "Sitemap index", "", "build_sitemaps"),
            ("section_unregistered", "gone", "", "prune_sitemaps"),
            ("section_empty", "a b", "rebuild", "build_sitemaps 'a b' --full"),
            (
                *("section_held", "products", "release"),
                "build_sitemaps products --allow-shrink",
            ),
            (
                *("pages_parked", "products", "rebuild"),
                "build_sitemaps products --full",
            ),
            ("engine_parked", "one", "resume", notify),
            ("engine_rejected", "one", "retry", notify),
        ]
        assert str(problems[5]) == (
            "one: Not notified: a.example: the key is wrong. Fix the cause, then "
            "resume it. Changes wait until then. Run manage.py "
            "notify_search_engines --engine one --retry."
        )
        shown = found("sections") + found("pages") + found("engines")
        assert [it.id for it in shown] == [it.id for it in problems]
        assert [it.subject for it in found("rows")] == ["a b"]

    def test_a_section_that_is_no_longer_registered_is_never_late(self):
        long_ago = timezone.now() - timedelta(days=9)
        have_page(1, "gone", wanted=2, changed_at=long_ago)
        Section.objects.update(schedule_checked_at=long_ago)
        [status] = read_dashboard(get_sites())
        ids = [it.id for it in problems_of(status, max_age=3_600)]
        assert ids == ["section_unregistered"]

    def test_a_section_that_a_worker_does_not_have_is_told_where_it_is(self, sections):
        """Such a section leaves the index, and stays away once its pages are pruned."""
        make_products(3)
        build_fully()
        sections.unregister("products")
        build()
        sections.register("products", ProductSource)
        [status] = read_dashboard(get_sites())
        assert problems_of(status) == []  # a deploy may not have ended
        for section in Section.objects.filter(name="products"):
            section.missing_since -= timedelta(minutes=11)
            section.save()
        for _ in range(2):
            [status] = read_dashboard(get_sites())
            [problem] = problems_of(status)
            assert (problem.id, problem.subject) == ("section_unregistered", "products")
            assert problem.command == "manage.py build_sitemaps"
            assert problem.since
            Page.objects.exclude(section__name=INDEX).delete()
        build_fully()
        [status] = read_dashboard(get_sites())
        assert problems_of(status) == []

    def test_a_section_that_no_build_has_made_is_missing_in_a_stored_index(
        self, sections
    ):
        """An older worker, which goes on without it, never builds it."""
        make_products(3)
        sections.register("new", ProductSource)
        [status] = read_dashboard(get_sites())
        assert problems_of(status) == []  # the index is rendered, and lists it
        sections.unregister("new")
        build_fully()
        sections.register("new", ProductSource)
        [status] = read_dashboard(get_sites())
        [problem] = problems_of(status)
        assert (problem.id, problem.level) == ("index_incomplete", "warning")
        assert problem.message.endswith("not list yet: new")
        assert verdicts()["Complete"][0] == "warning"
        assert "builds Sitemap index" in {it.name for it in doctor.examine()}
        build_fully()
        [status] = read_dashboard(get_sites())
        assert problems_of(status) == []

    def test_targets_that_an_engine_rejects_are_named(self, configure):
        configure(ENGINES={"one": ENGINE, "two": ENGINE})
        dead = {"dead_since": "2026-01-01T00:00Z", "error": "it is odd"}
        for number in range(60):
            deliver(f"https://example.com/{number}", **dead)
        [rejected] = found("engines")
        assert (rejected.count, len(rejected.items)) == (60, 50)
        expected = Item(name="https://example.com/0", words="it is odd")
        assert rejected.items[0] == expected

    def test_findings_are_told_by_rule(self):
        """Errors before warnings, in Search Console's words."""
        place = {"source": "https://example.com/a.xml", "line": 3}
        one = {**place, "rule": "loc-host", "message": "on another host"}
        other = {**place, "rule": "lastmod-future", "message": "in the future"}
        counts = {"lastmod-future": 9, "loc-host": 300}
        report = {"counts": counts, "problems": [other, *[one] * 30]}
        keep_findings(get_site(), report)
        host, date = found("findings")
        assert (host.subject, host.count) == ("URL not allowed", 300)
        assert (host.message, date.message) == (
            "Error (loc-host)",
            "Warning (lastmod-future)",
        )
        assert (len(host.items), host.level, date.level) == (20, "error", "warning")
        item = Item(name="https://example.com/a.xml:3", words="in the future")
        assert date.items == [item]
        assert date.command == "manage.py check_sitemaps --audit"


@pytest.mark.usefixtures("products")
def test_it_is_bounded(sections, configure, django_assert_num_queries):
    configure(ENGINES={"one": ENGINE})
    sections.register("others", ProductSource)
    section = Section.objects.create(site="default", name="products")
    reasons = [f"E: {letter * 9}" for letter in ascii_letters + "äöüéèß"]
    Page.objects.bulk_create(
        [
            Page(
                section=section,
                number=number,
                built=1,
                wanted=2,
                entries=1,
                skipped=1_000,
                problems=[
                    row(f"Product {number}", reason)
                    for reason in reasons[number % 40 :][:20]
                ],
                error="odd",
            )
            for number in range(1, 800)
        ]
    )
    Section.objects.recount(section.pk)
    have_page(1, "others", skipped=1, problems=["Product 1 left out: F: odd"])
    [status] = read_dashboard(get_sites())
    with django_assert_num_queries(3):
        kinds = {it.name: it for it in read_problems(status, names).kinds}
    counts = [
        sum([it.count for it in kinds[name].problems]) for name in ("rows", "pages")
    ]
    assert counts == [799_001, 799]
    assert len(kinds["pages"].problems[0].items) == 100
    groups = kinds["rows"].problems
    assert len(groups) == 50 + 2
    assert max(len(it.items) for it in groups) == 20


TOKEN = "0123456789abcdefXYZ"
WARNINGS = {"engine_unread", "audit_findings"}
TAKES_FEEDS = f"{RecordingEngine.__module__}.RecordingEngine"


@pytest.fixture
def site(configure: Any, sections: Any) -> None:
    """Have a built section, and an engine that takes feeds."""
    engines = {"one": {"BACKEND": TAKES_FEEDS, "OPTIONS": {}}}
    configure(MONITORING_TOKEN=TOKEN, ENGINES=engines)
    make_products(25)
    sections.register("products", limited(10))
    build_fully()


@pytest.mark.usefixtures("products")
class TestSettings:
    def test_what_a_worker_may_have_is_a_warning(self, configure):
        backend = "django_sitemaps_plus.notifications.IndexNow"
        configure(ENGINES={"one": {"BACKEND": backend, "OPTIONS": {"key": ""}}})
        [status] = read_dashboard(get_sites())
        [problem] = problems_of(status)
        assert (problem.id, problem.level) == ("engine_broken", "warning")
        assert (problem.subject, "'key'" in problem.message) == ("one", True)


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
    assert f'sitemaps_plus_site_ok{{site="default"}} {int(is_well)}' in metrics()
    return ids


def metrics() -> str:
    """Return what the view of metrics says."""
    headers = {"Authorization": f"Bearer {TOKEN}"}
    return Client().get("/monitoring/metrics/", headers=headers).text


def visited() -> list[Any]:
    """Return the answers for the overview and the page of problems."""
    client = Client()
    admin, _ = User.objects.get_or_create(
        username="admin", is_staff=True, is_superuser=True
    )
    client.force_login(admin)
    names = ("changelist", "problems")
    pages = [reverse(f"admin:sitemaps_plus_dashboard_{name}") for name in names]
    return [client.get(page) for page in pages]


def shown() -> list[str]:
    """Return the overview and the page of problems, as HTML."""
    return [page.text for page in visited()]


def verdicts() -> dict[str, tuple[str, str]]:
    """Return the colour and words of each verdict, first step and section."""
    [(_, found, steps, rows, *_)] = visited()[0].context["sites"]
    states = {it.name: (it.state, it.words) for it in [*found, *steps]}
    return states | {it.status.section: it.state for it in rows}


def crosses() -> dict[str, str]:
    """Return what the doctor says is wrong, and what to do, by name."""
    found = [it for it in doctor.examine() if it.ok is False]
    return {it.name: f"{it.text} {it.remedy}" for it in found}


def fail(self: Any) -> Any:
    """Be a queryset that cannot be made."""
    raise RuntimeError("its service is away")


def fail_late(self: Any) -> Any:
    """Be a queryset that PostgreSQL ends."""
    raise OperationalError("canceling statement due to statement timeout")


def wait_for_days() -> None:
    """Have a change that has waited for longer than cron may take."""
    days_ago = timezone.now() - timedelta(days=2)
    Change.objects.create(section="products", kind="key", low="1", at=days_ago)


@pytest.mark.usefixtures("site")
def test_a_change_of_a_section_that_waits_for_approval_is_not_late():
    """A person is missing, not a worker."""
    wait_for_days()
    Section.objects.filter(name="products").update(hold_reason="it shrinks")
    assert status_ids() == health_ids() == {"section_held"}


@pytest.mark.usefixtures("site")
def test_a_change_that_waits_for_days_is_late_everywhere():
    wait_for_days()
    assert status_ids() == health_ids() == {"section_overdue"}
    words = "The oldest change has waited for 2 days"
    assert words in crosses()["builds products"]
    assert all(words in page for page in shown())


@pytest.mark.usefixtures("site")
def test_an_index_that_cannot_be_built_is_a_problem_everywhere():
    index = Page.objects.filter(section__name=INDEX)
    index.update(wanted=9, attempts=1, error="the disk is full")
    assert status_ids() == health_ids() == {"index_failed"}
    assert "the disk is full" in crosses()["builds Sitemap index"]
    assert all("the disk is full" in page for page in shown())


@pytest.mark.usefixtures("site")
class TestSources:
    @pytest.fixture
    def broken(self, sections: Any) -> None:
        """Break a built section, and add one that never was well; build both."""
        sections.unregister("products")
        sections.register("products", limited(10, get_queryset=fail))
        sections.register("news", limited(10, get_queryset=fail))
        assert len(build().problems) == 2

    def test_one_that_raises_is_a_problem_everywhere(self, broken, client):
        assert client.get("/sitemap-products-1.xml").status_code == 200  # the old one
        assert status_ids() == health_ids() == {"section_failed"}
        for name in ("products", "news"):
            assert "its service is away" in crosses()[f"section {name}"]
        for page in shown():
            assert page.count("its service is away") >= 2

    @pytest.mark.parametrize("is_built", [True, False])
    def test_one_that_cannot_say_its_sites_is_one(self, sections, client, is_built):
        """Whichever site asks; it costs no other section anything."""
        [product, *_] = Product.objects.all()
        sections.register("odd", limited(10, sites=property(fail)))
        if is_built:
            [report] = [it for it in build().sections if it.errors]
            assert report.section == "odd"
            assert status_ids() == health_ids() == {"section_failed"}
        assert "its service is away" in crosses()["section odd"]
        pages = visited()
        assert [it.status_code for it in pages] == [200] * len(pages)
        assert all("its service is away" in it.text for it in pages if is_built)
        assert explain_object(product, get_site()).is_listed
        [message] = check_sites()
        assert "its service is away" in message.msg

    def test_neither_workers_nor_cron_are_blamed_for_it(self, broken):
        """Whatever waits meanwhile."""
        wait_for_days()
        assert status_ids() == health_ids() == {"section_failed"}
        found = crosses()
        assert "its service is away" in found["section products"]
        assert "cron" not in f"{found}"
        assert not any("cron job" in page for page in shown())

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


@pytest.mark.usefixtures("site")
class TestLiveSections:
    @pytest.mark.parametrize(
        ("fault", "words"),
        [(fail, "its service is away"), (fail_late, "statement timeout")],
    )
    def test_one_that_raises_costs_the_index(self, sections, client, fault, words):
        """Crawlers get 503 for it, since it would list too little."""
        call_command("build_sitemaps", "products", live=True, verbosity=0)
        sections.register("news", limited(10, get_queryset=fault))
        assert client.get("/sitemap.xml").status_code == 503
        for name in ("index", "section news"):
            assert words in crosses()[name]
        expected = {"index_unavailable", "section_unavailable"}
        assert status_ids() == health_ids() == expected
        for page in shown():
            assert "Django answers 503" in page
            assert words in page
        assert verdicts()["Up to date"][0] == "error"

    def test_a_urlconf_that_lacks_it_is_named(self):
        """The project may call our views by its own, so it is not known."""
        with mock.patch.object(site_urls, "reverse", side_effect=NoReverseMatch):
            look(get_site())
        state, words = verdicts()["Django answers"]
        assert (state, "URLconf" in words) == ("unknown", True)

    def test_what_it_leaves_out_is_not_known(self, sections):
        assert "Every row that can be listed is listed" in shown()[0]
        sections.register("news", limited(10, live=True))
        assert verdicts()["Complete"][0] == "warning"  # a stored index lacks it
        build()
        words = "Never counted, since these sections are served live: news"
        assert verdicts()["Complete"] == ("unknown", words)

    def test_what_nobody_has_asked_for_is_grey(self, configure, settings, tmp_path):
        """ROBOTS does not say that the URLconf has its view, but a look does."""
        configure(ROBOTS={})
        shared = "django.core.cache.backends.filebased.FileBasedCache"
        settings.CACHES = {"default": {"BACKEND": shared, "LOCATION": tmp_path}}
        call_command("build_sitemaps", "products", live=True, verbosity=0)
        Section.objects.update(answer=None)
        found = verdicts()
        names = ("Django answers", "Up to date", "robots.txt")
        assert [found[name][0] for name in names] == ["unknown"] * 3
        look(get_site())
        found = verdicts()
        assert [found[name][0] for name in names] == ["ok"] * 3
        own = "django.core.cache.backends.locmem.LocMemCache"
        settings.CACHES = {"default": {"BACKEND": own}}
        assert verdicts()["Up to date"][0] == "unknown"


@pytest.mark.usefixtures("site")
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
        [problem] = problems_of(*read_dashboard(get_sites()))
        assert "sitemap-products-2.xml" in problem.message
        assert "sitemap-products-" in crosses()["section products"]
        for page in shown():
            assert "error for https://example.com/sitemap-products-" in page

    def test_a_project_with_views_of_its_own_is_told_too(self, get):
        """Its URLconf has no URL of the page, so the section is named."""
        get(on_error="raise", priority=fail_row)
        with mock.patch.object(site_urls, "reverse", side_effect=NoReverseMatch):
            [problem] = problems_of(*read_dashboard(get_sites()))
        assert "error for products: " in problem.message

    def test_a_look_finds_it_for_all_processes(self, get, client):
        """Nobody has requested the page, and the others have caches of their own."""
        get(priority=fail_row, on_error="raise")
        cache.clear()
        look(get_site())
        assert live_faults(get_site())
        cache.clear()
        assert status_ids() == health_ids() == {"section_unavailable"}
        get(priority=0.5)
        look(get_site())
        assert status_ids() == health_ids() == set()

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

    def test_where_nobody_asks_again_it_is_not_known(self, get, client, configure):
        """For a day; then what the page was is forgotten."""
        configure(LIVE_CACHE_SECONDS=60)
        get(on_error="raise", priority=fail_row)
        for age, is_known, state in (
            (FAULT_AGE, True, "error"),
            (FAULT_AGE + timedelta(seconds=61), True, "unknown"),
            (DOUBT_AGE, False, None),
        ):
            later = timezone.now() + age
            with mock.patch.object(timezone, "now", return_value=later):
                assert bool(live_faults(get_site())) is is_known
                if state:
                    assert verdicts()["Up to date"][0] == state
                    assert bool(status_ids()) is (state == "error")

    @pytest.mark.parametrize("which", ["too large", "each row is left out"])
    def test_a_page_that_no_crawler_gets_is_a_problem(
        self, sections, client, configure, which
    ):
        about = [Entry(loc="https://example.com/about/")]
        others = type("Others", (Source,), {"entries": lambda *_: about})
        sections.register("others", others)
        call_command("build_sitemaps", "products", live=True, verbosity=0)
        if which == "too large":
            configure(LIVE_MAX_ROWS=6)
        else:
            sections.unregister("products")
            sections.register("products", limited(10, location=lambda *_: None))
        assert client.get("/sitemap.xml").status_code == 200
        assert client.get("/sitemap-products-1.xml").status_code == 404
        assert status_ids() == health_ids() == {"section_unavailable"}
        [problem] = problems_of(*read_dashboard(get_sites()))
        is_large = "manage.py build_sitemaps products" in problem.message
        assert is_large is (which == "too large")
        since = live_faults(get_site())["products"].since
        client.get("/sitemap-products-1.xml")
        assert "section products" in crosses()
        assert live_faults(get_site())["products"].since == since
        assert {verdicts()[it][0] for it in ("Complete", "Up to date")} == {"error"}


@pytest.mark.usefixtures("site")
class TestFiles:
    """Somebody has deleted all that was built: crawlers get it live."""

    @pytest.fixture(autouse=True)
    def deleted(self, site: None) -> None:
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
        for problem in problems_of(*read_dashboard(get_sites())):
            assert timezone.now() - problem.since < timedelta(minutes=1)
        assert "missing or damaged" in crosses()["section products"]
        for page in shown():
            assert "Files that are missing or damaged: " in page

    def test_a_look_finds_those_that_an_intact_index_lists(self, client):
        build(full=True)
        for page in Page.objects.exclude(number=0).exclude(object=""):
            delete_object(page.object)
        assert verdicts()["Up to date"][0] == "ok"
        look(get_site())
        assert status_ids() == health_ids() == {"section_damaged"}
        assert verdicts()["Up to date"][0] == "error"
        cache.clear()  # that of another process knows none of them
        found = verdicts()
        assert (found["Complete"][0], found["Up to date"][0]) == ("unknown", "warning")
        build()
        assert verdicts()["Up to date"][0] == "ok"

    def test_it_is_over_with_the_next_build(self, client):
        assert crosses()["files"]
        build()
        assert status_ids() == health_ids() == set()
        assert "files" not in crosses()

    def test_it_is_over_with_a_build_that_knows_no_note(self, client, monkeypatch):
        """As that of another process, which has a cache of its own."""
        assert client.get("/sitemap-products-1.xml").status_code == 200
        assert status_ids() == {"section_damaged"}
        with monkeypatch.context() as patch:
            patch.setattr(settle, "damaged_pages", dict)
            build(full=True)
        assert status_ids() == health_ids() == set()

    @pytest.mark.parametrize("look", ["doctor", "refresh"])
    def test_a_build_of_another_process_stores_them_again(self, client, look):
        """Also where processes share no cache: once the doctor, or a button, has."""
        if look == "doctor":
            assert crosses()["files"]
        else:
            for number in (1, 2, 3):
                client.get(f"/sitemap-products-{number}.xml")
            states = [it.state for it in read_pages("products", get_site()).pages]
            assert states == ["lost"] * 3
            [problem] = problems_of(read_dashboard(get_sites())[0])
            assert problem.command.endswith("build_sitemaps products --full")
            requests.refresh(get_site(), "products")
        cache.clear()
        build()
        assert "section products" not in crosses()


@pytest.mark.usefixtures("site")
class TestOrigins:
    def test_of_another_site_is_a_problem(self, configure, client):
        """Crawlers get 503; the command that prints the status says why."""
        configure(BASE_URL="https://other.example")
        assert client.get("/sitemap.xml").status_code == 503
        assert health_ids() == {"origin_differs"}
        look(get_site())
        [problem] = problems_of(*read_dashboard(get_sites()))
        assert timezone.now() - problem.since < timedelta(minutes=1)
        assert all("were made for https://example.com" in page for page in shown())
        found = verdicts()
        for name in ("Django answers", "Complete", "Up to date", "products"):
            assert found[name][0] == "error"
        assert "belong to https://example.com" in crosses()["sections"]
        with pytest.raises(CommandError, match="belong to https:"):
            call_command("sitemap_status")
        client.force_login(User.objects.get(username="admin"))
        asked = {"url": "https://other.example/products/product-00000/"}
        for name, query in (("url", asked), ("section", {"section": "products"})):
            page = client.get(reverse(f"admin:sitemaps_plus_dashboard_{name}"), query)
            assert "belong to https://example.com" in page.text

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


@pytest.mark.usefixtures("site")
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

    @pytest.mark.parametrize(
        ("indexed", "level"), [(79, "warning"), (44, "error"), (12, "error")]
    )
    def test_a_small_fall_is_a_warning(self, configure, indexed, level):
        class_ = "tests.integration.notifications.engines.ConsoleEngine"
        configure(ENGINES={"one": {"BACKEND": class_}}, NOTIFY=True)
        said = {"indexed": indexed, "submitted": 100, "highest_share": 0.9}
        sent = {"state": Delivery.State.SENT, "changed_at": timezone.now()}
        deliver("https://example.com/a.xml", is_feed=True, feedback=said, **sent)
        [problem] = problems_of(*read_dashboard(get_sites()))
        assert (problem.id, problem.level) == ("engine_indexed", level)

    @pytest.mark.parametrize("kind", ["feedback", "indexed", "unread"])
    def test_since_it_began(self, configure, kind):
        class_ = "tests.integration.notifications.engines.ConsoleEngine"
        configure(ENGINES={"one": {"BACKEND": class_}}, NOTIFY=True)
        moment = timezone.now() - timedelta(hours=2)
        Section.objects.filter(name="products").update(published_at=moment)
        feedback = {
            "feedback": {"errors": 37},
            "indexed": {"indexed": 1, "submitted": 9, "highest_share": 0.9},
            "unread": {"lastDownloaded": "2026-01-01"},
        }[kind]
        if kind != "unread":
            feedback["unwell_since"] = moment.isoformat()
        sent = {"state": Delivery.State.SENT, "changed_at": timezone.now()}
        deliver("https://a.example/", is_feed=True, feedback=feedback, **sent)
        [problem] = problems_of(*read_dashboard(get_sites()))
        assert (problem.id, problem.since) == (f"engine_{kind}", moment)


@pytest.mark.usefixtures("site")
@pytest.mark.parametrize(
    ("rule", "level"), [("page-noindex", "warning"), ("lastmod-future", "info")]
)
def test_what_an_audit_finds_is_a_problem_everywhere(rule, level):
    """Since the first audit that found something; one that finds nothing ends it."""
    audited = 'sitemaps_plus_audit_findings{site="default"}'
    assert audited not in metrics()
    assert status_ids() == set()
    site = get_site()
    keep_findings(site, {"counts": {rule: 7}, "problems": []})
    [problem] = problems_of(*read_dashboard([site]))
    keep_findings(site, {"counts": {rule: 9}, "problems": []})
    assert status_ids() == health_ids() == {"audit_findings"}
    [found] = problems_of(*read_dashboard([site]))
    assert (found.level, found.count, len(found.items)) == (level, 9, 1)
    assert found.since == problem.since
    assert [it.ok for it in doctor.examine() if it.name == "audit"] == [None]
    assert "By the last audit: " in shown()[0]
    assert f"{audited} 9" in metrics()
    keep_findings(site, {"counts": {}, "problems": []})
    assert status_ids() == health_ids() == set()
    assert f"{audited} 0" in metrics()


@pytest.mark.usefixtures("site")
class TestWorkers:
    @pytest.fixture(autouse=True)
    def seen(self, site: None) -> None:
        """Have seen a worker, a minute ago."""
        Worker.objects.note("celery")
        assert status_ids() == set()
        Worker.objects.update(seen_at=timezone.now() - GONE)

    def test_one_that_is_gone_is_a_problem_everywhere(self):
        assert status_ids() == health_ids() == {"worker_gone"}
        assert "1 minute ago, and none was stopped" in crosses()["workers"]
        for page in shown():
            assert "1 minute ago, and none was stopped" in page
            assert "celery -A PROJECT worker" in page

    def test_it_is_missed_until_one_is_started(self):
        moment = timezone.now() - timedelta(days=40)
        Worker.objects.update(seen_at=moment)
        [problem] = problems_of(*read_dashboard(get_sites()))
        assert (problem.id, problem.since) == ("worker_gone", moment)
        assert f"{timezone.localtime(moment):%Y-%m-%d %H:%M}" in problem.message

    def test_it_is_over_once_one_is_seen(self):
        Worker.objects.note("celery")
        assert status_ids() == health_ids() == set()
        assert [it.ok for it in doctor.examine() if it.name == "workers"] == [True]

    def test_one_that_ended_by_itself_is_not_missed(self):
        Worker.objects.note("celery", has_ended=True)
        Worker.objects.update(seen_at=timezone.now() - GONE)
        assert status_ids() == health_ids() == set()
        [found] = [it for it in doctor.examine() if it.name == "workers"]
        assert (found.ok, "celery last seen 1 minute ago" in found.text) == (None, True)
