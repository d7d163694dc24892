"""Problems of a site: grouped, bounded, each with what to do."""

from __future__ import annotations

from dataclasses import asdict
from string import ascii_letters
from typing import Any

import pytest

from django_sitemaps_plus import ModelSource
from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.conf import get_site, get_sites
from django_sitemaps_plus.diagnostics.audit import keep_findings
from django_sitemaps_plus.diagnostics.problem import Item, Problem
from django_sitemaps_plus.diagnostics.problems import problems_of, read_problems
from django_sitemaps_plus.diagnostics.status import read_dashboard
from django_sitemaps_plus.models import (
    INDEX,
    MAX_ATTEMPTS,
    Delivery,
    EngineHost,
    Page,
    Section,
)
from django_sitemaps_plus.models.deliveries import hash_target
from django_sitemaps_plus.models.pages import RENDERED_NOW
from django_sitemaps_plus.sources.lines import LeftOut
from django_sitemaps_plus.testing import RecordingEngine
from tests.support.shop import ProductSource, limited, make_products
from tests.support.testapp.models import Label, Shop

pytestmark = pytest.mark.database

ENGINE = {"BACKEND": f"{RecordingEngine.__module__}.RecordingEngine"}


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
        """Though each says its own slug, on several pages; until they are mended."""
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
        for product in products[5:25:5]:
            product.slug = f"mended-{product.pk}"
            product.save()
        build()
        assert found() == []

    def test_rows_values_and_repetitions_are_told_apart(self):
        groups = left_out(
            row("Product 1"),
            row("Product 2", action="value_dropped", field="images"),
            row("Product 3", action="row_repeated", field=""),
            row("Product 4", action="row_repeated", field=""),
            row("Product 5", action="value_doubted", field=""),
            RENDERED_NOW,
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
        """Also of a page that was built before they were kept."""
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

    def test_a_row_is_named_once(self):
        """It may be left out once a language."""
        [group] = left_out(*[row()] * 3)
        assert (group.count, len(group.items)) == (3, 1)

    def test_words_do(self):
        words = "ValueError: it doesn't know 'a'", "ValueError: it doesn't have 'a'"
        assert len(left_out(*[row(reason=it) for it in words])) == 2

    @pytest.mark.parametrize(
        ("model", "key", "url"),
        [
            ("testapp.Product", "17", "Product:17"),
            ("testapp.Product", "a left out: b", "Product:a left out: b"),
            ("testapp.Shop", "17", ""),  # which the section does not list
            ("gone.Model", "17", ""),
            ("", "", ""),
        ],
    )
    def test_the_object_is_found_by_its_model_and_key(self, model, key, url):
        [group] = left_out(row("a", "ValueError: a: b", model=model, key=key))
        assert group.items == [Item(name="a", words="ValueError: a: b", url=url)]

    @pytest.mark.parametrize("old", ["Product 1 left out: E: a", {"row": "a"}, None, 5])
    def test_what_another_version_stored_is_only_counted(self, old):
        """The next rendering of the page names its rows."""
        [counted] = left_out(old, skipped=2)
        assert counted.message == "more rows: 0 of 2 are named."

    def test_every_kind_of_key_leads_to_its_object(self, publish):
        """As builds name the rows."""

        class Labels(ModelSource):
            model = Label
            location = "updated_at"

        class Shops(ModelSource):
            model = Shop
            location = "updated_at"

        label = Label.objects.create(code="a/b 'c'")
        shop = Shop.objects.create(name="a")
        publish(Labels, "labels")
        publish(Shops, "shops")
        urls = {it.url for group in found("rows") for it in group.items}
        assert urls == {f"Label:{label.pk}", f"Shop:{shop.pk}"}


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

    def test_sections_are_held_empty_or_unknown(self, sections):
        sections.register("a b", ProductSource)
        have_page()
        have_page(1, "a b", entries=0, skipped=3)
        have_page(1, "gone", skipped=3, wanted=2, error="odd")
        Section.objects.filter(name="products").update(hold_reason="it would fall")
        assert [(it.id, it.subject, it.action) for it in found("sections")] == [
            ("section_empty", "a b", "rebuild"),
            ("section_unregistered", "gone", ""),
            ("section_held", "products", "release"),
        ]
        assert [it.command for it in found("sections")] == [
            "manage.py build_sitemaps 'a b' --full",
            "manage.py prune_sitemaps",
            "manage.py build_sitemaps products --allow-shrink",
        ]
        assert "it would fall" in found("sections")[2].message
        assert [it.subject for it in found("rows")] == ["a b"]
        assert found("pages") == []

    def test_an_engine_is_parked_and_has_rejected(self, configure):
        configure(ENGINES={"one": ENGINE, "two": ENGINE})
        host = {"site": "default", "engine": "one", "host": "example.com"}
        EngineHost.objects.create(**host, parked_reason="no key")
        for number in range(60):
            target = f"https://example.com/{number}"
            Delivery.objects.create(
                site="default",
                engine="one",
                host="example.com",
                target=target,
                target_hash=hash_target(target),
                wanted=1,
                dead_since="2026-01-01T00:00Z",
                error="it is odd",
            )
        parked, rejected = found("engines")
        assert parked.message == "Not notified: example.com: no key"
        assert (parked.action, rejected.action) == ("resume", "retry")
        assert (rejected.count, len(rejected.items)) == (60, 50)
        assert rejected.items[0] == Item(
            name="https://example.com/0", words="it is odd"
        )
        command = "manage.py notify_search_engines --engine one --retry"
        assert {parked.command, rejected.command} == {command}

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

    def test_what_the_status_says_is_found(self, sections):
        """A problem that the command prints is not missing here."""
        sections.register("held", ProductSource)
        have_page(entries=0, skipped=3)
        have_page(2, entries=0, wanted=2, error="odd")
        have_page(1, "held")
        have_page(1, "gone")
        have_page(0, INDEX, wanted=2, error="odd")
        Section.objects.filter(name="held").update(hold_reason="odd")
        [status] = read_dashboard(get_sites())
        assert len(problems_of(status)) == 5
        assert sum([it.count for it in found("sections") + found("pages")]) == 5


def test_it_is_bounded_whatever_the_size(
    sections, configure, django_assert_num_queries
):
    """Neither queries nor what is shown grow with the pages."""
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
