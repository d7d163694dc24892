"""Problems of a site: grouped, bounded, each with what to do."""

from __future__ import annotations

from dataclasses import asdict
from datetime import timedelta
from string import ascii_letters
from typing import Any

import pytest
from django.utils import timezone

from django_sitemaps_plus import ModelSource
from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.conf import get_site, get_sites
from django_sitemaps_plus.diagnostics.audit import keep_findings
from django_sitemaps_plus.diagnostics.problems import Item, Problem, problems_of
from django_sitemaps_plus.diagnostics.site_problems import read_problems
from django_sitemaps_plus.diagnostics.status import read_dashboard
from django_sitemaps_plus.models import INDEX, MAX_ATTEMPTS, Page, Section
from django_sitemaps_plus.sources.lines import LASTMOD_NOW, LeftOut
from tests.support.shop import ProductSource, limited, make_products
from tests.support.testapp.models import Label, Shop

from .rows import ENGINE, deliver, know


def link(model: Any, key: str) -> str:
    return f"{model.__name__}:{key}"


def found(kind: str = "") -> list[Problem]:
    """Return the groups of one kind, or of all."""
    [status] = read_dashboard(get_sites())
    kinds = read_problems(status, link).kinds
    assert all(it.problems for it in kinds)
    return [group for it in kinds if kind in ("", it.name) for group in it.problems]


def have_page(number: int = 1, section: str = "products", **fields: Any) -> None:
    """Add a page that is fresh unless the fields say otherwise."""
    row, _ = Section.objects.get_or_create(site="default", name=section)
    usual = {"built": 1, "entries": 9}
    Page.objects.create(section=row, number=number, **usual | fields)


def row(name: str = "Product 1", reason: str = "E: a", **fields: str) -> Any:
    """Return a row that is left out, as a page stores it."""
    unknown = {"model": "", "key": "", "field": "location"}
    return asdict(LeftOut("row_skipped", name, reason=reason, **unknown)) | fields


def left_out(*problems: Any, number: int = 1, **counts: int) -> list[Problem]:
    """Return the groups of a page that leaves something out."""
    counts = counts or {"skipped": len(problems)}
    have_page(number, problems=problems, **counts)
    return found("rows")


@pytest.fixture(autouse=True)
def products(sections: Any) -> None:
    """Have a section of products."""
    sections.register("products", ProductSource)


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
        reason = "rows left out: NoReverseMatch: No pattern named … takes {…: …}"
        assert group.message == reason
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
        ("model", "key", "url"),
        [
            ("testapp.Product", "17", "Product:17"),
            ("testapp.Product", "a left out: b", "Product:a left out: b"),
            ("testapp.Shop", "17", "Shop:17"),  # of a source that was another before
            ("", "", ""),
        ],
    )
    def test_the_object_is_found_by_its_model_and_key(self, model, key, url):
        [group] = left_out(row("a", "ValueError: a: b", model=model, key=key))
        assert group.items == [Item(name="a", words="ValueError: a: b", url=url)]

    @pytest.mark.parametrize("model", ["gone.Model", "nonsense"])
    def test_nobody_may_view_a_model_that_is_gone(self, model):
        """Nor is the reason told, which may have its values."""
        [group] = left_out(row("a", "ValueError: secret", model=model, key="17"))
        assert group.items == []
        assert group.message.endswith(": ValueError")

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
            "Given up for now: 1. To be tried again soon: 1"
        )
        assert [it.name for it in group.items] == [
            "page 2, 5 attempts",
            "page 1, 1 attempt",
        ]
        assert "interrupted" in group.items[0].words
        assert group.items[1].words == "SourceError: odd"
        [index] = found("sections")
        assert (index.id, index.action) == ("index_failed", "")

    @pytest.mark.database
    def test_what_needs_a_person_comes_in_one_list(self, sections, configure):
        """The index, then sections and engines; what is tried again does not.

        All that show problems have the same ones.
        """
        configure(ENGINES={"one": ENGINE})
        sections.register("a b", ProductSource)
        have_page(0, INDEX, wanted=2, error="the disk is full")
        have_page(wanted=2, attempts=MAX_ATTEMPTS, error="it broke")
        have_page(1, "a b", entries=0, skipped=3)
        have_page(1, "gone", skipped=3, wanted=2, error="it broke once")
        Section.objects.filter(name="products").update(hold_reason="it would fall")
        know(host="a.example", parked_reason="the key is wrong.")
        know(host="b.example", failures=3, error="it is down")
        deliver("a", dead_since=timezone.now(), error="no such URL")
        [status] = read_dashboard(get_sites())
        problems = problems_of(status)
        notify = "notify_search_engines --engine one --retry"
        assert [(it.id, it.subject, it.action, it.command[10:]) for it in problems] == [
            ("index_failed", "Index", "", "build_sitemaps"),
            ("section_empty", "a b", "rebuild", "build_sitemaps 'a b' --full"),
            ("section_unregistered", "gone", "", "prune_sitemaps"),
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
            "one: Not notified: a.example: the key is wrong. Correct the cause, then "
            "resume it. What changes meanwhile waits. Run manage.py "
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
            "Error loc-host",
            "Warning lastmod-future",
        )
        assert (len(host.items), host.level, date.level) == (20, "error", "warning")
        item = Item(name="https://example.com/a.xml:3", words="in the future")
        assert date.items == [item]
        assert date.command == "manage.py check_sitemaps --audit"


@pytest.mark.database
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
    have_page(1, "others", skipped=1, problems=["Product 1 left out: F: odd"])
    [status] = read_dashboard(get_sites())
    with django_assert_num_queries(3):
        kinds = {it.name: it for it in read_problems(status, link).kinds}
    assert (kinds["rows"].count, kinds["pages"].count) == (799_001, 799)
    assert len(kinds["pages"].problems[0].items) == 100
    groups = kinds["rows"].problems
    assert len(groups) == 50 + 2
    assert max(len(it.items) for it in groups) == 20
