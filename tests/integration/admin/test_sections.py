"""The page of a section: its trend, its pages in order, and what each lists."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from io import StringIO
from itertools import count
from typing import Any
from urllib.parse import urlencode

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError, connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from lxml import html

from django_sitemaps_plus import Entry, ModelSource, Route, Source
from django_sitemaps_plus.admin import sections as views
from django_sitemaps_plus.building.guard import FALLEN
from django_sitemaps_plus.conf import in_force, site_in_force
from django_sitemaps_plus.diagnostics import section_pages, site_problems
from django_sitemaps_plus.diagnostics.section_pages import (
    PageState,
    SectionPages,
    last_days,
    read_history,
    read_pages,
    search,
)
from django_sitemaps_plus.models import (
    MAX_ATTEMPTS,
    Delivery,
    Figure,
    Hold,
    Page,
    Section,
    State,
    UrlChanges,
)
from django_sitemaps_plus.models.deliveries import hash_target
from django_sitemaps_plus.sites import get_site, get_sites
from tests.support.builds import build_fully
from tests.support.faults import fail_open
from tests.support.published import path_of
from tests.support.shop import limited, make_products, product_urls
from tests.support.testapp.models import Label, Product

DASH = "\N{EN DASH}"
TABLE = "table[@class='sitemaps-entries']"
CHANGES = "table[contains(@class, 'sitemaps-entries')]"
PAGES = "table[contains(@class, 'sitemaps-pages')]"
#: How databases say that they read or sort all pages.
READS_ALL = re.compile(
    "SCAN sitemaps_plus_page|TEMP B-TREE|Seq Scan on sitemaps_plus_page|"
    "Sort Key: sitemaps_plus_page.low"
)

#: When the history is read: 16:20 in the zone of the settings, Berlin.
NOW = datetime(2026, 11, 25, 15, 20, tzinfo=UTC)


def path(name: str, **values: Any) -> str:
    """Return the path of a page of the dashboard."""
    query = urlencode(values)
    return f"{reverse(f'admin:sitemaps_plus_dashboard_{name}')}?{query}"


def tree(response: Any) -> Any:
    """Return a page as a tree."""
    return html.fromstring(response.content.decode())


def pages_of(section: str) -> Any:
    """Return the rows of a section."""
    return Page.objects.filter(section__name=section)


def pages_from(number: int | None = None, section: str = "products") -> SectionPages:
    """Return the pages of a section from one of them on."""
    with in_force(get_site()):
        return read_pages(section, get_site(), number)


def numbers(found: SectionPages) -> list[int]:
    """Return the numbers of pages."""
    return [it.number for it in found.pages]


def figure(hours: float, kind: str, value: float, **others: Any) -> None:
    """Add a figure of some hours before NOW."""
    hour = NOW.replace(minute=0) - timedelta(hours=hours)
    key = {"site": "default", "name": "products", "kind": kind, "hour": hour}
    Figure.objects.create(**key | others, value=value)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the time be NOW."""
    monkeypatch.setattr(timezone, "now", lambda: NOW)


def cells(page: Any) -> list[list[str]]:
    """Return the texts of a table of pages."""
    rows = page.xpath(f"//{PAGES}/tbody/tr")
    return [[" ".join(it.text_content().split()) for it in row] for row in rows]


class TestStates:
    @pytest.mark.parametrize(
        ("fields", "expected"),
        [
            ({}, PageState.FRESH),
            ({"wanted": F("wanted") + 1}, PageState.DIRTY),
            ({"wanted": 9, "token": "a", "age": 10}, PageState.BUILDING),
            ({"token": "a", "age": 10}, PageState.BUILDING),
            ({"wanted": 9, "token": "a", "age": 90}, PageState.DIRTY),
            ({"wanted": 9, "age": 10}, PageState.DIRTY),
            ({"wanted": 9, "error": "it broke"}, PageState.FAILED),
            ({"wanted": 9, "attempts": MAX_ATTEMPTS}, PageState.PARKED),
            ({"wanted": 9, "error": "x", "deaths": 3}, PageState.PARKED),
            ({"wanted": 9, "error": "x", "token": "a", "age": 10}, PageState.FAILED),
            ({"wanted": 9, "error": "x", "hold": Hold.HELD}, PageState.HELD),
            ({"wanted": 9, "hold": Hold.RELEASED}, PageState.DIRTY),
        ],
    )
    def test_of_several_the_worst_counts(self, products, fields, expected):
        fields = dict(fields)
        if age := fields.pop("age", None):
            fields["claimed_at"] = timezone.now() - timedelta(seconds=age)
        pages_of("products").filter(number=2).update(**fields)
        found = {it.number: it.state for it in pages_from().pages}
        assert found == {1: "fresh", 2: expected, 3: "fresh"}

    def test_other_plans_are_not_shown(self, products, admin_client):
        pages_of("products").filter(number=1).update(state=State.RETIRED, low="x")
        pages_of("products").filter(number=2).update(state=State.NEXT, low=None)
        pages_of("products").filter(number=3).update(low=None, low_number=None)
        page = admin_client.get(path("section", section="products"))
        assert [row[0] for row in cells(tree(page))] == ["page 3"]
        assert "All of its pages are being built anew." in page.text


class TestOrder:
    @pytest.mark.database
    def test_pages_are_in_the_order_of_integers(self, products):
        """Not of numbers, nor of text: a split makes new numbers."""
        bounds = pages_of("products").order_by("number").values_list("low", flat=True)
        first, second, third = bounds
        pages_of("products").filter(number=2).update(number=9)
        pages_of("products").filter(number=3).update(number=2)
        found = pages_from()
        assert numbers(found) == [1, 9, 2]
        assert [it.low for it in found.pages] == [first, second, third]
        assert first is None

    @pytest.mark.database
    def test_pages_are_in_the_order_of_numbers(self, sections):
        """Where keys are text, in whose order no index of ours has them."""
        Label.objects.bulk_create([Label(pk=f"label-{n:02}") for n in range(20)])
        route = Route("label-detail", code="pk")
        source = {"model": Label, "location": route, "limit": 5}
        sections.register("labels", type("Labels", (ModelSource,), source))
        build_fully()
        pages_of("labels").filter(low=None).update(number=99)
        pages = pages_from(section="labels").pages
        assert [it.number for it in pages] == [*range(2, len(pages) + 1), 99]
        assert len(pages) > 2
        found = pages_from(3, "labels")
        assert numbers(found) == [*range(3, len(pages) + 1), 99]

    def test_a_damaged_plan_is_shown(self, products):
        pages_of("products").filter(number=2).update(low="0")
        assert numbers(pages_from()) == [1, 2, 3]


@pytest.fixture
def plan(sections: Any, monkeypatch: Any) -> Section:
    """Have a section of 25 pages, of which ten are shown at once."""
    monkeypatch.setattr("django_sitemaps_plus.diagnostics.section_pages.AT_ONCE", 10)
    sections.register("products", limited(10))
    section = Section.objects.create(site="default", name="products")
    Page.objects.bulk_create(
        Page(
            section=section,
            number=number,
            low=str(number * 10) if number > 1 else None,
            low_number=number * 10 if number > 1 else None,
        )
        for number in range(1, 26)
    )
    return section


class TestPaging:
    @pytest.mark.parametrize(
        ("number", "expected", "previous", "following"),
        [
            (None, range(1, 11), None, 11),
            (1, range(1, 11), None, 11),
            (11, range(11, 21), None, 21),
            (12, range(12, 22), 2, 22),
            (16, range(16, 26), 6, None),
            (25, [25], 15, None),
            (26, range(1, 11), None, 11),  # which there is not
        ],
    )
    @pytest.mark.parametrize("kind", ["integer", "alike", "text", "live"])
    def test_some_pages_are_shown(
        self, plan, kind, number, expected, previous, following
    ):
        if kind == "alike":  # as the first halves of UUIDs may be
            plan.pages.exclude(low=None).update(low_number=7)
        elif kind == "text":
            for page in plan.pages.exclude(low=None):
                low = f"k{page.low:0>5}"
                plan.pages.filter(pk=page.pk).update(low=low, low_number=None)
        elif kind == "live":
            plan.pages.all().delete()
            make_products(250)
        found = pages_from(number)
        assert numbers(found) == [*expected]
        assert found.is_first is (expected[0] == 1)
        assert (found.previous, found.following) == (previous, following)

    def test_links_lead_to_all_of_them(self, plan, admin_client):
        url = path("section", site="default", section="products")
        seen, place = [], url.partition("?")[0]
        for rel in ("next", "next", "prev", "prev"):
            page = tree(admin_client.get(url))
            seen.append(cells(page)[0][0])
            (link,) = page.xpath(f"//a[@rel='{rel}']/@href")
            url = place + link
        assert seen == ["page 1", "page 11", "page 21", "page 11"]
        page = tree(admin_client.get(url))
        assert page.xpath("//a[@rel='prev']") == []
        (form,) = page.xpath("//form[.//input[@name='from']]")
        values = {it.get("name"): it.get("value", "7") for it in form.xpath(".//input")}
        page = tree(admin_client.get(path("section", **values)))
        assert cells(page)[0][0] == "page 7"

    def test_one_that_is_gone_is_said_to_be(self, plan, admin_client):
        page = admin_client.get(path("section", section="products", **{"from": 999}))
        assert "There is no such page." in page.text

    @pytest.mark.database
    def test_an_index_finds_the_pages(self, plan):
        """Where keys are integers, no query reads or sorts all pages."""
        if connection.vendor == "mysql":
            pytest.skip("its plans name no sort of a few rows")
        Page.objects.bulk_create(
            Page(section=plan, number=n, low=str(n * 10), low_number=n * 10)
            for n in range(26, 5_000)
        )
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE sitemaps_plus_page")
        with CaptureQueriesContext(connection) as queries:
            assert numbers(pages_from(3_000)) == [*range(3_000, 3_010)]
        words = "EXPLAIN QUERY PLAN" if connection.vendor == "sqlite" else "EXPLAIN"
        for query in [*queries]:
            with connection.cursor() as cursor:
                cursor.execute(f"{words} {query['sql']}")
                assert not READS_ALL.search(str(cursor.fetchall()))


class TestShown:
    def test_each_page_says_what_it_is(self, products, admin_client):
        """In words that people understand; long keys and errors are cut."""
        pages = pages_of("products")
        pages.filter(number=2).update(skipped=3, error="it broke" * 99, wanted=9)
        pages.filter(number=3).update(attempts=7, wanted=9)
        pages.filter(number=2).update(high="k" * 81)
        page = tree(admin_client.get(path("section", section="products")))
        first, second, third = cells(page)
        row, lastmod = pages.get(number=2), "2026-01-01T12:09:00+00:00"
        assert first == [
            *("page 1", DASH, "10", lastmod, "just now", "just now", "file 1"),
            "up to date",
        ]
        assert second[:5] == [
            *("page 2", row.low, "10left out: 3", row.lastmod, "just now")
        ]
        error = second[-1].removeprefix("failed, is tried again")
        assert (error[:8], error[-1], len(error)) == ("it broke", "…", 300)
        assert third[-1] == "gave up after 7 attempts"
        files = page.xpath(f"//{PAGES}//td/a/@href")
        assert files[0] == "https://example.com/sitemap-products-1.xml"
        links = page.xpath(f"//{PAGES}//th/a/@href")
        assert admin_client.get(links[1]).status_code == 200
        assert links[1].endswith("?site=default&section=products&number=2")
        pages.filter(number=2).update(low="k" * 81, low_number=None)
        page = tree(admin_client.get(path("section", section="products")))
        assert cells(page)[1][1] == f"{'k' * 79}…"

    def test_one_that_is_unregistered_is_shown(self, products, sections, admin_client):
        sections.unregister("products")
        page = admin_client.get(path("section", section="products"))
        assert len(cells(tree(page))) == 3
        assert "rows are read" not in page.text

    def test_it_says_why_it_could_not_be_built(self, products, admin_client):
        """And why it waits for an approval, which can be given there."""
        held = {"hold_reason": FALLEN, "hold_numbers": [9_000, 1]}
        Section.objects.update(fault="its service is away", **held)
        page = admin_client.get(path("section", section="products"))
        assert "It could not be built: its service is away" in page.text
        assert ": <bdi>it would fall from 9,000 entries to 1</bdi>" in page.text
        assert "actions/release/?site=default&amp;section=products" in page.text

    def test_it_says_how_its_rows_are_read(self, products, admin_client):
        rate = Figure.objects.filter(kind="rate")
        rate.update(value=210_000)
        read = "How the source reads rows: <bdi>columns</bdi>"
        page = admin_client.get(path("section", section="products"))
        assert f"{read} · entries a second: 210,000</p>" in page.text
        rate.delete()
        page = admin_client.get(path("section", section="products"))
        assert f"{read}</p>" in page.text

    def test_one_without_a_plan_is_served_live(self, sections, admin_client):
        make_products(15)
        sections.register("products", limited(10))
        page = admin_client.get(path("section", section="products"))
        assert "Served live: no build has made pages of this section." in page.text
        rows = cells(tree(page))
        assert [(row[0], row[2], row[5], row[-1]) for row in rows] == [
            ("page 1", DASH, DASH, "served live"),
            ("page 2", DASH, DASH, "served live"),
        ]
        assert "30 days" not in page.text

    def test_a_source_that_fails_says_why(self, sections, admin_client):
        def fail(self: Any, origin: str) -> Any:
            raise RuntimeError("its service is away")

        sections.register("broken", type("Broken", (Source,), {"entries": fail}))
        page = tree(admin_client.get(path("section", section="broken")))
        words = page.xpath("string(//*[@id='content-main'])")
        assert "its service is away" in words

    @pytest.mark.parametrize(
        ("name", "query"),
        [
            *[
                (name, query)
                for name in ("section", "entries")
                for query in ({"section": "nothing"}, {"site": "nowhere"})
            ],
            ("section", {"from": "x"}),
            *[
                ("entries", {"number": number})
                for number in ("4", "0", "-1", "x", "", "\u0661")
            ],
            pytest.param("entries", {"number": "1" * 30}, marks=pytest.mark.database),
        ],
    )
    def test_what_is_unknown_is_404(self, products, admin_client, name, query):
        query = {"section": "products", "number": 1, **query}
        assert admin_client.get(path(name, **query)).status_code == 404

    def test_each_site_has_its_own(self, sections, configure, admin_client):
        sites = {it: {"BASE_URL": f"https://{it}.example"} for it in ("shop", "blog")}
        configure(BASE_URL=None, SITES=sites)
        make_products(15)
        sections.register("products", limited(10, sites=["shop"]))
        sections.register("posts", limited(10, sites=["blog"]))
        for site in get_sites():
            with in_force(site):
                build_fully()
        for site, own, other in (
            ("shop", "products", "posts"),
            ("blog", "posts", "products"),
        ):
            page = admin_client.get(path("section", site=site, section=own))
            assert len(cells(tree(page))) == 2
            query = {"site": site, "section": other, "number": 1}
            for name in ("section", "entries"):
                assert admin_client.get(path(name, **query)).status_code == 404
            entries = admin_client.get(path("entries", **query | {"section": own}))
            assert f"https://{site}.example/products/product-00000/" in entries.text


@pytest.mark.usefixtures("clock")
class TestTrend:
    @pytest.fixture
    def show(self, plan: Any, client: Any) -> Any:
        """Return what gives the page as a tree."""
        client.force_login(User.objects.create(is_staff=True, is_superuser=True))
        return lambda: tree(client.get(path("section", section="products")))

    def test_a_single_day_is_drawn(self, show):
        """As a bar; where it has none, as a line at the foot."""
        for kind, value in (("entries", 20), ("pages", 2), ("skipped", 0)):
            figure(0, kind, value)
        entries, _rendered, skipped = show().xpath("//figure//svg/path/@d")
        assert entries == "M29 100V0.00H30V100Z"
        assert skipped == "M29 100V100.00H30V100Z"

    def test_it_is_drawn_and_written_down(self, show):
        for hours, kind, value in (
            (49, "entries", 5_000),
            (25, "entries", 10_000),
            (25, "pages", 40),
            (25, "skipped", 7),
            (1, "pages", 2),
            (1, "skipped", 3),
            (0, "pages", 8),
        ):
            figure(hours, kind, value)
        page = show()
        captions = page.xpath("//figure/figcaption")
        assert [" ".join(it.text_content().split()) for it in captions] == [
            "Entries: 10,000",
            "Published pages: 8",
            "Rows left out: 3",
        ]
        axes = [
            [" ".join(it.itertext()) for it in figure.xpath(".//small")]
            for figure in page.xpath("//figure")
        ]
        days = "10/27/2026 11/25/2026"
        assert axes == [[f"{top} 0", days] for top in ("10,000", "40", "7")]
        entries, pages, skipped = page.xpath("//figure//svg/path/@d")
        # From the first that is known.
        assert entries == "M27 100V50.00H28V0.00H29V0.00H30V100Z"
        assert pages == "M28 100V0.00H29V80.00H30V100Z"
        assert skipped == "M28 100V0.00H29V57.14H30V100Z"
        assert page.xpath("//figure//svg/@viewbox") == ["0 0 30 100"] * 3
        titles = page.xpath("//figure//svg[@role='img']/title/text()")
        assert [it.partition(":")[0] for it in titles] == [
            *("Entries", "Published pages", "Rows left out")
        ]
        assert titles[0].endswith("up to 10,000")
        rows = page.xpath("//details/table/tbody/tr")
        assert len(rows) == 30
        assert [[it.text_content() for it in row] for row in rows[:4]] == [
            ["11/25/2026", "10,000", "8", "3"],
            ["11/24/2026", "10,000", "40", "7"],
            ["11/23/2026", "5,000", DASH, DASH],
            ["11/22/2026", DASH, DASH, DASH],
        ]
        assert rows[0].xpath("th/time/@datetime") == ["2026-11-25"]

    def test_without_figures_it_says_so(self, show):
        page = show()
        assert page.xpath("//svg[not(ancestor::header)]/path") == []
        words = page.xpath("string(//*[@id='content-main'])")
        assert "No page was built in this time." in words


@pytest.mark.database
@pytest.mark.usefixtures("clock")
class TestHistory:
    """The figures of a section: what each of 30 days came to."""

    def read(self) -> Any:
        """Return the history of the products."""
        return read_history("products", get_site())

    def test_days_are_those_of_the_zone_and_end_today(self):
        days = last_days()
        assert (len(days), days[-1]) == (30, date(2026, 11, 25))
        assert days[0] == date(2026, 10, 27)
        assert self.read()["entries"] == [None] * 30
        figure(16, "pages", 1)  # at 23:00 UTC, which is midnight
        figure(17, "pages", 4)
        figure(-30, "entries", 3)  # by a clock that is ahead
        assert self.read()["pages"][-2:] == [4, 1]
        assert self.read()["entries"][-2:] == [None, 3]

    @pytest.mark.parametrize(
        ("figures", "entries", "pages"),
        [
            # A day without a build has the last number; one with several the last.
            (
                [(50, "entries", 7), (30, "entries", 5), (28, "entries", 9)],
                [None] * 27 + [7, 9, 9],
                [None] * 30,
            ),
            # The hours before the first day say with how many it began.
            (
                [(30 * 24, "entries", 6), (30 * 24, "pages", 6), (25, "pages", 3)],
                [6] * 30,
                [6] * 28 + [3, 3],
            ),
        ],
    )
    def test_each_day_has_its_numbers(self, figures, entries, pages):
        for hours, kind, value in figures:
            figure(hours, kind, value)
        found = self.read()
        assert (found["entries"], found["pages"]) == (entries, pages)

    def test_others_do_not_count(self):
        """Sites, sections, and engines that are named as sections are."""
        figure(1, "entries", 1, site="another")
        figure(1, "entries", 1, name="others")
        figure(1, "accepted", 1)
        assert self.read()["entries"] == [None] * 30
        assert self.read()["pages"] == [None] * 30

    def test_there_are_no_zones_without_use_tz(self, settings, monkeypatch):
        """Times are those of TIME_ZONE, and naive."""
        settings.USE_TZ = False
        now = datetime(2026, 11, 25, 0, 20)  # noqa: DTZ001 - naive on purpose
        monkeypatch.setattr(timezone, "now", lambda: now)
        for ago in (0, 1):
            hour = now.replace(minute=0) - timedelta(hours=ago)
            figure(0, "pages", ago + 1, hour=hour)
        found = self.read()
        assert (last_days()[-1], found["pages"][-2:]) == (date(2026, 11, 25), [2, 1])

    def test_one_query_whatever_the_size(self, django_assert_num_queries):
        for hour in range(50):
            figure(hour, "entries", hour)
        with django_assert_num_queries(1):
            self.read()


def test_links_lead_where_they_should(sections, admin_client):
    """Whatever the name is: from the overview to the section, an entry, and back."""
    name = "a\"><b> 'x' ?&#="
    found = [Entry("https://example.com/%3Cb%3E?a=1&b=2")]
    odd = type("Odd", (Source,), {"entries": lambda self, origin: iter(found)})
    sections.register(name, odd)
    build_fully()
    overview = tree(admin_client.get(path("changelist")))
    (link,) = overview.xpath("//a[contains(@href, '/section/')]")
    assert link.text_content() == name
    page = tree(admin_client.get(link.get("href")))
    assert page.xpath("//h1/bdi/text()") == [name]
    (link,) = page.xpath(f"//{PAGES}//th/a/@href")
    page = tree(admin_client.get(link))
    assert page.xpath("//h1/bdi/text()") == [name]
    (link,) = page.xpath(f"//{TABLE}//a")
    assert link.text_content() == link.get("href")
    assert link.get("rel") == "noopener"
    (back,) = page.xpath("//*[@id='content-main']/p[1]/a/@href")
    assert admin_client.get(back).status_code == 200


class TestEntries:
    def shown(self, client: Any, **values: Any) -> list[str]:
        """Return the URLs that are shown of the first page."""
        query = {"section": "products", "number": 1, **values}
        response = client.get(path("entries", **query))
        assert response.status_code == 200
        return tree(response).xpath(f"//{TABLE}//a/@href")

    @pytest.fixture(params=["live", "published"])
    def many(self, request: Any, sections: Any) -> None:
        """Have a page of 250 products, live or published."""
        make_products(250)
        sections.register("products", limited(1_000))
        if request.param == "published":
            build_fully()

    def test_a_hundred_are_shown_at_once(self, many, admin_client):
        assert self.shown(admin_client) == product_urls(range(100))
        assert self.shown(admin_client, page=3) == product_urls(range(200, 250))
        assert self.shown(admin_client, page="x") == product_urls(range(100))

    def test_search_looks_at_all_of_them(self, many, admin_client):
        found = [number for number in range(250) if "1" in f"{number:05}"]
        urls = product_urls(found)
        assert len(urls) > 100
        assert self.shown(admin_client, q="1") == urls[:100]
        query = {"section": "products", "number": 1, "q": "1"}
        page = tree(admin_client.get(path("entries", **query)))
        (following,) = page.xpath("//a[@rel='next']/@href")
        url = path("entries").partition("?")[0] + following
        page = tree(admin_client.get(url))
        assert page.xpath(f"//{TABLE}//a/@href") == urls[100:200]
        assert self.shown(admin_client, q="nothing") == []

    def test_search_knows_what_urls_and_xml_encode(self, sections, admin_client):
        def entries(self: Any, origin: str) -> Any:
            for town in ("köln/?a=1&b=2", "bonn/?a=1&amp=2"):
                yield Entry(f"{origin}/{town}")

        sections.register("products", type("Towns", (Source,), {"entries": entries}))
        urls = ["https://example.com/k%C3%B6ln/?a=1&b=2"]
        for text in ("KÖLN", "k%c3%b6", " köln ", "1&b"):
            assert self.shown(admin_client, q=text) == urls

    def test_the_date_is_that_of_the_sitemap(self, many, admin_client):
        query = {"section": "products", "number": 1, "q": "00007"}
        page = tree(admin_client.get(path("entries", **query)))
        assert page.xpath(f"//{TABLE}//time/@datetime") == ["2026-01-01T12:07:00+00:00"]
        file = "https://example.com/sitemap-products-1.xml"
        assert page.xpath(f"//p/a[@href='{file}']/bdi/text()") == [file]

    def test_a_page_without_entries_says_so(self, products, admin_client):
        pages_of("products").filter(number=2).update(object="", entries=0)
        query = {"section": "products", "number": 2}
        page = admin_client.get(path("entries", **query))
        assert "The page has no entries." in page.text

    def test_a_lost_object_is_rendered_instead(self, products, admin_client):
        path_of(pages_of("products").get(number=1)).unlink()
        assert self.shown(admin_client) == product_urls(range(10))

    def test_one_that_cannot_be_rendered_says_so(
        self, products, sections, monkeypatch, admin_client
    ):
        sections.unregister("products")
        fail_open(monkeypatch)
        query = {"section": "products", "number": 1}
        page = admin_client.get(path("entries", **query))
        assert page.status_code == 200
        assert "The page cannot be read now." in page.text

    def test_only_web_addresses_are_links(self, products, admin_client, monkeypatch):
        monkeypatch.setattr(
            "django_sitemaps_plus.diagnostics.section_pages.entries_in",
            lambda answer: [("javascript:alert(1)", "", "")],
        )
        assert self.shown(admin_client) == []


class TestChanges:
    def shown(self, admin_client: Any) -> str:
        page = tree(admin_client.get(path("section", section="products")))
        [heading] = page.xpath("//h2[text()='The last URL changes']")
        return " ".join(heading.getnext().text_content().split())

    def test_each_is_told_in_words(self, products, admin_client, client, user):
        told = {"engines": ["one", "two"], "at": NOW.isoformat()}
        urls = ("https://example.com/caf%C3%A9/", "javascript:alert(1)")
        latest = [
            {"url": url, "kind": kind, **told}
            for url, kind in zip(urls, ("added", "removed"), strict=True)
        ]
        row = Section.objects.get(name="products")
        UrlChanges.objects.create(section=row, latest=latest)
        for engine, url, fields in (
            ("one", urls[0], {"sent": 1}),
            ("two", urls[0], {"dead_since": NOW}),
            ("one", urls[1], {}),
        ):
            Delivery.objects.create(
                site="default",
                engine=engine,
                host="example.com",
                target=url,
                target_hash=hash_target(url),
                wanted=1,
                **fields,
            )
        page = tree(admin_client.get(path("section", section="products")))
        found = page.xpath(f"//{CHANGES}/tbody/tr")
        rows = [[it.text_content().strip() for it in row] for row in found]
        assert [(row[0], row[1], row[3]) for row in rows] == [
            ("https://example.com/café/", "added", "one, two (rejected)"),
            ("javascript:alert(1)", "removed", "one (waiting), two"),
        ]
        assert page.xpath(f"//{CHANGES}//a/@href") == [urls[0]]
        [form] = page.xpath(f"//{CHANGES}//form")
        given = {it.get("name"): it.get("value") for it in form.xpath(".//input")}
        answer = admin_client.post(form.get("action"), given, follow=True)
        assert f"Submit URLs: {urls[0]}" in answer.text
        client.force_login(user("view_dashboard"))
        page = tree(client.get(path("section", section="products")))
        assert page.xpath(f"//{CHANGES}//form") == []
        moments = page.xpath(f"//{CHANGES}//time/@datetime")
        assert {datetime.fromisoformat(it) for it in moments} == {NOW}

    @pytest.mark.database
    def test_those_of_a_day_are_counted(self, products, admin_client):
        now, row = timezone.now(), Section.objects.get(name="products")
        latest = [
            {"url": "a", "kind": kind, "engines": [], "at": at.isoformat()}
            for kind, at in (
                *[("added", now)] * 2,
                ("removed", now - timedelta(hours=23)),
                ("updated", now - timedelta(hours=25)),
            )
        ]
        changes = UrlChanges.objects.create(section=row, latest=latest)
        assert self.shown(admin_client) == "In the last 24 hours: added 2, removed 1"
        changes.latest = latest[-1:]
        changes.save()
        assert self.shown(admin_client) == "In the last 24 hours: none"

    def test_those_of_another_site_are_not_shown(self, products, admin_client):
        row = Section.objects.create(site="another", name="products")
        UrlChanges.objects.create(section=row, latest=[{"url": "a"}])
        assert self.shown(admin_client).startswith("Not recorded")

    @pytest.mark.parametrize(
        ("settings_", "words"),
        [
            ({}, "Not recorded: Engines are not notified:"),
            ({"NOTIFY": False}, "Not recorded: Engines are not notified:"),
            ({"NOTIFY": True}, "None yet"),
        ],
    )
    def test_why_there_are_none(
        self, products, admin_client, configure, settings_, words
    ):
        engine = {"BACKEND": "django_sitemaps_plus.testing.RecordingEngine"}
        configure(**settings_, ENGINES={"one": engine} if settings_ else {})
        assert self.shown(admin_client).startswith(words)


@pytest.mark.database
@pytest.mark.parametrize(
    ("name", "most"),
    # Session, user, names of sections; six of pages, one of figures, two of changes.
    [("section", 12), ("entries", 5)],
)
def test_queries_do_not_grow(
    products, admin_client, django_assert_max_num_queries, name, most
):
    with django_assert_max_num_queries(most):
        admin_client.get(path(name, section="products", number=1))


UNREAD = "The page cannot be read now. The log of the server says why."
BROKEN = "The file is not complete. The log of the server says why."


def document(urls: Sequence[str]) -> str:
    """Return a page with these URLs."""
    return "\n".join(f"<url><loc>{url}</loc></url>" for url in urls)


class TestHowFarASearchLooks:
    def test_it_ends_after_a_hundred_pages(self):
        read: list[int] = []
        found = search("x", range(1, 2_301), lambda it: read.append(it) or "")
        assert (found.looked, found.pages, found.found) == (100, 2_300, [])
        assert read == [*range(1, 101)]
        assert not found.is_cut

    def test_it_ends_with_the_page_at_which_its_time_is_over(self, monkeypatch):
        clock = count(100)  # each look at it takes a second
        monkeypatch.setattr(section_pages, "monotonic", lambda: next(clock))
        found = search("a", range(1, 9), lambda it: document([f"/a{it}"]))
        assert found.looked == 2
        assert found.found == [(1, "/a1", ""), (2, "/a2", "")]

    @pytest.mark.parametrize(
        ("sizes", "looked", "hits", "is_cut"),
        [([60, 60, 60], 2, 100, True), ([60, 40], 2, 100, False)],
    )
    def test_it_ends_with_a_hundred_entries(self, sizes, looked, hits, is_cut):
        def read(number: int) -> str:
            return document([f"/{number}/{it}" for it in range(sizes[number - 1])])

        found = search("/", range(1, len(sizes) + 1), read)
        assert (found.looked, len(found.found)) == (looked, hits)
        assert found.is_cut is is_cut

    def test_pages_that_cannot_be_read_are_counted(self):
        pages = {1: None, 2: document(["/a"]), 3: ""}
        found = search("a", [1, 2, 3], pages.get)
        assert (found.looked, found.unread) == (3, 1)
        assert found.found == [(2, "/a", "")]


@pytest.fixture(params=["live", "published"])
def three_pages(request: Any, sections: Any) -> None:
    """Have three pages of products, live or published."""
    make_products(25)
    sections.register("products", limited(10))
    if request.param == "published":
        build_fully()


class TestSearch:
    def found(self, client: Any, word: str, section: str = "products") -> Any:
        """Return the page of a section with what is found, and its words on that."""
        response = client.get(path("section", section=section, q=word))
        assert response.status_code == 200
        page = tree(response)
        (words,) = page.xpath("//*[@role='status']")
        return page, " ".join(words.text_content().split())

    def test_all_pages_are_looked_through(self, three_pages, admin_client):
        page, words = self.found(admin_client, " PRODUCT-0000 ")
        assert page.xpath(f"//{TABLE}//bdi/text()") == product_urls(range(10))
        assert words == "Found: 10. Looked through 3 of 3 pages."
        page, words = self.found(admin_client, "product-00024")
        assert page.xpath(f"//{TABLE}//bdi/text()") == product_urls([24])
        (link,) = page.xpath(f"//{TABLE}//a")
        assert link.text == "page 3"
        entries = tree(admin_client.get(link.get("href")))
        assert entries.xpath(f"//{TABLE}//a/@href") == product_urls([24])
        page, words = self.found(admin_client, "nothing")
        assert page.xpath(f"//{TABLE}") == []
        assert words == "Found: 0. Looked through 3 of 3 pages."

    def test_a_whole_url_is_looked_up(self, three_pages, admin_client, monkeypatch):
        """On whatever page it is."""
        monkeypatch.setattr(section_pages, "MAX_PAGES", 1)
        [url] = product_urls([24])
        query = {"section": "products", "q": f" {url} "}
        answer = admin_client.get(path("section", **query), follow=True)
        [number] = tree(answer).xpath("//dd/a[contains(., 'products')]")
        assert number.text_content() == "products 3"

    def test_people_read_and_write_urls_decoded(self, sections, admin_client):
        def entries(self: Any, origin: str) -> Iterator[Entry]:
            yield Entry(f"{origin}/köln/%2F/?a=1&b=2")

        sections.register("towns", type("Towns", (Source,), {"entries": entries}))
        for word in ("KÖLN", "k%C3%B6", "1&b"):
            page, _ = self.found(admin_client, word, "towns")
            urls = page.xpath(f"//{TABLE}//bdi/text()")
            assert urls == ["https://example.com/köln/%2F/?a=1&b=2"]
        query = {"section": "towns", "number": 1}
        page = tree(admin_client.get(path("entries", **query)))
        (link,) = page.xpath(f"//{TABLE}//a")
        assert link.text_content() == "https://example.com/köln/%2F/?a=1&b=2"
        assert link.get("href") == "https://example.com/k%C3%B6ln/%2F/?a=1&b=2"

    def test_what_cannot_be_read_is_said(
        self, products, sections, monkeypatch, admin_client
    ):
        sections.unregister("products")
        fail_open(monkeypatch, pages_of("products").get(number=2).object)
        page, words = self.found(admin_client, "product")
        assert len(page.xpath(f"//{TABLE}//bdi")) == 15
        assert words.endswith("of 3 pages. Pages that could not be read: 1.")

    def test_pages_of_other_plans_are_not_looked_at(self, products, admin_client):
        pages_of("products").filter(number=1).update(state=State.RETIRED)
        pages_of("products").filter(number=2).update(state=State.NEXT)
        _, words = self.found(admin_client, "product")
        assert words == "Found: 5. Looked through 1 of 1 page."


def lines(response: Any) -> list[list[str]]:
    """Return the rows of a file."""
    assert response.status_code == 200
    text = b"".join(response.streaming_content).decode("utf-8-sig")
    return [*csv.reader(StringIO(text, newline=""))]


class TestCsv:
    @pytest.fixture
    def get(self, admin_client: Any) -> Any:
        """Return what asks for a file."""

        def get(kind: str = "entries", **values: Any) -> Any:
            query = urlencode({"section": "products"} | values)
            url = f"/admin/sitemaps_plus/dashboard/section/csv/{kind}/?{query}"
            return admin_client.get(url)

        return get

    def test_entries_are_as_the_sitemap_lists_them(self, three_pages, get):
        response = get()
        assert response["Content-Type"] == "text/csv; charset=utf-8"
        name = 'attachment; filename="products-entries.csv"'
        assert response["Content-Disposition"] == name
        header, *rows = lines(response)
        assert header == ["url", "lastmod", "page"]
        assert [row[0] for row in rows] == product_urls(range(25))
        assert [row[2] for row in rows] == ["1"] * 10 + ["2"] * 10 + ["3"] * 5
        assert rows[7][1] == "2026-01-01T12:07:00+00:00"

    def test_pages_are_read_one_by_one(self, products, get, monkeypatch):
        """So memory does not grow, and the server has no site in force."""
        real, read = views.ask, list[str]()

        def ask(*args: Any, number: str, **kwargs: Any) -> Any:
            read.append(number)
            return real(*args, number=number, **kwargs)

        monkeypatch.setattr(views, "ask", ask)
        for expected, chunk in enumerate(get().streaming_content):
            assert len(read) == expected
            assert chunk.count(b"\r\n") <= 10
            assert site_in_force() is None
        assert read == ["1", "2", "3"]

    def test_each_site_has_its_own(self, sections, configure, get):
        sites = {it: {"BASE_URL": f"https://{it}.example"} for it in ("shop", "blog")}
        configure(BASE_URL=None, SITES=sites)
        make_products(3)
        sections.register("products", limited(10))
        sections.register("posts", limited(10, sites=["blog"]))
        for site in get_sites():
            with in_force(site):
                build_fully()
        for site in sites:
            urls = [row[0] for row in lines(get(site=site))]
            assert urls[1:] == product_urls(range(3), f"https://{site}.example")
        assert get(site="shop", section="posts").status_code == 404
        assert get(site="shop", section="posts", kind="left-out").status_code == 404

    def test_a_lost_object_is_rendered_instead(self, products, get):
        path_of(pages_of("products").get(number=2)).unlink()
        assert [row[0] for row in lines(get())][1:] == product_urls(range(25))

    def test_a_page_that_cannot_be_read_is_named(
        self, products, sections, monkeypatch, get
    ):
        """The others follow."""
        sections.unregister("products")
        fail_open(monkeypatch, pages_of("products").get(number=2).object)
        rows = lines(get())
        assert rows[11] == [UNREAD, "", "2"]
        assert [row[0] for row in rows[12:]] == product_urls(range(20, 25))

    @pytest.mark.parametrize("kind", ["entries", "left-out"])
    def test_an_error_in_the_middle_stands_at_the_end(
        self, products, get, monkeypatch, caplog, kind
    ):
        def fail(*args: Any) -> Any:
            raise OperationalError("it is away")

        monkeypatch.setattr(section_pages, "page_numbers", fail)
        monkeypatch.setattr(site_problems, "left_out_of", fail)
        assert lines(get(kind))[1:] == [[BROKEN]]
        assert "A file of section 'products' broke off" in caplog.text
        assert site_in_force() is None

    @pytest.mark.parametrize("sign", ["=", "+", "-", "@", "\t", "\r"])
    def test_no_cell_is_a_formula(self, products, get, sign):
        text = f"{sign}1+1"
        row = dict.fromkeys(("row", "key", "field", "reason"), text)
        problems = [{"action": "row_skipped", "model": "", **row}]
        pages_of("products").filter(number=3).update(skipped=1, problems=problems)
        header, cells = lines(get("left-out"))
        assert header == ["row", "model", "key", "field", "reason", "page"]
        quoted = f"'{text}"
        assert cells == [quoted, "", quoted, quoted, quoted, "3"]

    @pytest.mark.parametrize(
        ("section", "name"),
        [
            ("a\"><b> 'x' ?&#=", 'filename="ab-x-entries.csv"'),
            ("größe", "filename*=utf-8''gr%C3%B6%C3%9Fe-entries.csv"),
            ("...", 'filename="section-entries.csv"'),
        ],
    )
    def test_the_name_of_the_file_is_safe(self, sections, get, section, name):
        found: list[Entry] = []
        source = {"entries": lambda self, origin: iter(found)}
        sections.register(section, type("Odd", (Source,), source))
        response = get(section=section)
        assert response["Content-Disposition"] == f"attachment; {name}"

    def test_there_are_no_other_files(self, products, get):
        assert get("pages").status_code == 404
        assert get(section="nothing").status_code == 404


class TestLeftOut:
    """Whose rows a file names, and what becomes of the others."""

    @pytest.fixture
    def rows(self, client: Any, user: Any, urls: Any, publish: Any) -> Any:
        """Have two bad rows on two pages; return what reads the file as a user."""
        products = make_products(25)
        publish(limited(10))
        for product in (products[3], products[14]):
            product.slug = f"no slug {product.pk}"
            product.save()
        build_fully()
        self.bad = [products[3].pk, products[14].pk]

        def rows(*permissions: str) -> list[list[str]]:
            user("view_dashboard", *permissions)
            url = "/desk/sitemaps_plus/dashboard/section/csv/left-out/?section=products"
            return lines(client.get(url))[1:]

        return rows

    def test_rows_are_named_to_who_may_view_them(self, rows):
        found = rows("view_product")
        assert [row[:4] + row[5:] for row in found] == [
            [f"Product {pk}", "testapp.Product", str(pk), "location", str(number)]
            for number, pk in enumerate(self.bad, 1)
        ]
        assert "NoReverseMatch" in found[0][4]
        Product.objects.filter(pk=self.bad[0]).update(name="secret")
        assert rows("view_product")[0][0] == "Others that are not named: 1"

    def test_to_others_they_are_counted(self, rows):
        assert rows() == [
            ["Others that are not named: 1", "", "", "", "", str(number)]
            for number in (1, 2)
        ]

    def test_more_than_are_named_are_counted(self, rows, monkeypatch):
        """Also by a version that stores them in another way."""
        monkeypatch.setattr(site_problems, "AT_ONCE", 1)
        Page.objects.filter(number=1).update(dropped=1_300)
        Page.objects.filter(number=2).update(problems=["odd", {"other": "odd"}])
        found = rows("view_product")
        assert [row[0] for row in found] == [
            f"Product {self.bad[0]}",
            "Others that are not named: 1300",
            "Others that are not named: 1",
        ]

    def test_a_model_that_is_gone_is_not_named(self, rows):
        problem = {"action": "row_skipped", "row": "Odd 1", "model": "a.b.c"}
        Page.objects.filter(number=1).update(problems=[problem])
        assert rows("view_product")[0][0] == "Others that are not named: 1"
