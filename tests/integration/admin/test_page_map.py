"""The map of the pages: each in its place and state, and what it lists."""

from __future__ import annotations

from datetime import UTC, timedelta
from itertools import pairwise
from typing import Any
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

import pytest
from django.db.models import F
from django.urls import reverse
from django.utils import timezone
from lxml import html

from django_sitemaps_plus import Entry, ModelSource, Route, Source
from django_sitemaps_plus.conf import get_site, get_sites
from django_sitemaps_plus.maintenance.page_map import MapState, _in_utc, read_map
from django_sitemaps_plus.models import MAX_ATTEMPTS, Hold, Page, State
from django_sitemaps_plus.sites import in_force
from tests.support.builds import build_fully
from tests.support.configuring import configure
from tests.support.faults import fail_open
from tests.support.published import path_of
from tests.support.shop import limited, make_products, product_urls
from tests.support.testapp.models import Label

pytestmark = pytest.mark.django_db

TABLE = "table[@class='map-entries']"
HOSTILE = "a\"><b> 'x' ?&#="
INJECTED = '<img src=x onerror="alert(1)">'


def path(name: str, **values: Any) -> str:
    """Return the path of a view of the map."""
    query = urlencode(values)
    return f"{reverse(f'admin:sitemaps_plus_dashboard_{name}')}?{query}"


def pages_of(section: str) -> Any:
    """Return the rows of a section."""
    return Page.objects.filter(section__name=section)


def states() -> dict[int, str]:
    """Return the states of the products' pages by their numbers."""
    with in_force(get_site()):
        found = read_map("products", get_site())
    return {it.number: it.state for it in found.pages}


@pytest.mark.database
class TestStates:
    @pytest.mark.parametrize(
        ("fields", "expected"),
        [
            ({}, MapState.FRESH),
            ({"wanted": F("wanted") + 1}, MapState.DIRTY),
            ({"wanted": 9, "token": "a", "age": 10}, MapState.BUILDING),
            ({"token": "a", "age": 10}, MapState.BUILDING),
            ({"wanted": 9, "token": "a", "age": 90}, MapState.DIRTY),
            ({"wanted": 9, "age": 10}, MapState.DIRTY),
            ({"wanted": 9, "error": "it broke"}, MapState.FAILED),
            ({"wanted": 9, "attempts": MAX_ATTEMPTS}, MapState.FAILED),
            ({"wanted": 9, "error": "x", "token": "a", "age": 10}, MapState.FAILED),
            ({"wanted": 9, "error": "x", "hold": Hold.HELD}, MapState.HELD),
            ({"wanted": 9, "hold": Hold.RELEASED}, MapState.DIRTY),
        ],
    )
    def test_of_several_the_worst_counts(self, products, fields, expected):
        """A claim counts for as long as its lease."""
        fields = dict(fields)
        if age := fields.pop("age", None):
            fields["claimed_at"] = timezone.now() - timedelta(seconds=age)
        pages_of("products").filter(number=2).update(**fields)
        assert states() == {1: "fresh", 2: expected, 3: "fresh"}

    def test_other_plans_are_not_mapped(self, products, admin_client):
        """Pages of the next one are counted."""
        pages_of("products").filter(number=1).update(state=State.RETIRED, low="x")
        pages_of("products").filter(number=2).update(state=State.NEXT, low=None)
        pages_of("products").filter(number=3).update(low=None)
        found = admin_client.get(path("map_data", section="products")).json()
        assert [page[0] for page in found["pages"]] == [3]
        assert found["notes"] == ["A new plan of 1 page is being built."]


class LabelSource(ModelSource):
    """Labels, whose keys are text."""

    model = Label
    location = Route("label-detail", code="pk")
    limit = 5


@pytest.mark.database
class TestOrder:
    def test_pages_are_in_the_order_of_integers(self, products):
        """Not of numbers, nor of text: a split makes new numbers."""
        first, second, third = pages_of("products").order_by("number")
        pages_of("products").filter(number=2).update(number=9)
        pages_of("products").filter(number=3).update(number=2)
        with in_force(get_site()):
            found = read_map("products", get_site())
        assert [it.number for it in found.pages] == [1, 9, 2]
        bounds = [(it.low, it.high) for it in found.pages]
        assert bounds == [(it.low, it.high) for it in (first, second, third)]
        assert bounds[0][0] is bounds[-1][1] is None

    def test_pages_are_in_the_order_of_text(self, sections):
        Label.objects.bulk_create([Label(pk=f"label-{n:02}") for n in range(20)])
        sections.register("labels", LabelSource)
        build_fully()
        pages_of("labels").filter(low=None).update(number=99)
        with in_force(get_site()):
            pages = read_map("labels", get_site()).pages
        assert [it.number for it in pages] == [99, *range(2, len(pages) + 1)]
        assert len(pages) > 2
        bounds = [None, *sorted(it.low for it in pages[1:]), None]
        assert [(it.low, it.high) for it in pages] == [*pairwise(bounds)]

    def test_long_keys_are_cut(self, products):
        pages_of("products").filter(number=1).update(high="k" * 81)
        pages_of("products").filter(number=2).update(low="k" * 81, high="l" * 80)
        pages_of("products").filter(number=3).update(low="l" * 80)
        with in_force(get_site()):
            first, *_, last = read_map("products", get_site()).pages
        assert (first.high, last.low) == (f"{'k' * 79}…", "l" * 80)

    def test_a_damaged_plan_is_shown_by_its_numbers(self, products):
        pages_of("products").filter(number=2).update(low="0")
        assert list(states()) == [1, 2, 3]


@pytest.mark.database
class TestData:
    def test_each_page_says_what_it_is(self, products, admin_client):
        pages_of("products").filter(number=2).update(
            skipped=3, error="it broke" * 99, wanted=9
        )
        row = pages_of("products").get(number=2)
        found = admin_client.get(path("map_data", section="products")).json()
        assert found["limit"] == 10
        assert found["file"] == ["https://example.com/sitemap-products-", ".xml"]
        rendered = f"{row.checked_at:%Y-%m-%d %H:%M:%S}"
        start = row.plain_hash[:12]
        expected = [2, "failed", 10, 3, row.lastmod, row.low, row.high, start, rendered]
        assert found["pages"][1] == [*expected, ("it broke" * 99)[:300]]

    def test_times_are_in_utc_whatever_the_database_keeps(self):
        """As it does with a TIME_ZONE of its own, or without USE_TZ."""
        for text, zone in (
            ("2026-07-01 12:00:00.123456", ZoneInfo("Europe/Berlin")),
            ("2026-07-01 06:00:00.12-04", ZoneInfo("Europe/Berlin")),
            ("2026-07-01 10:00:00.123456", UTC),
            ("2026-07-01 10:00:00.12+00", UTC),
        ):
            assert _in_utc(text, zone) == "2026-07-01 10:00:00"

    def test_a_section_that_is_not_registered_has_the_limit_of_its_fullest(
        self, products, sections, admin_client
    ):
        sections.unregister("products")
        Page.objects.filter(number=2).update(entries=17)
        found = admin_client.get(path("map_data", section="products")).json()
        assert (found["limit"], len(found["pages"])) == (17, 3)

    def test_one_without_a_plan_is_served_live(self, sections, admin_client):
        make_products(15)
        sections.register("products", limited(10))
        found = admin_client.get(path("map_data", section="products")).json()
        live = "Served live: no build has made pages of this section."
        assert found["notes"] == [live]
        assert [page[:3] for page in found["pages"]] == [
            [1, "live", None],
            [2, "live", None],
        ]

    def test_a_source_that_fails_says_why(self, sections, admin_client):
        class Broken(Source):
            def entries(self, origin: str) -> Any:
                raise RuntimeError(INJECTED)

        sections.register("broken", Broken)
        found = admin_client.get(path("map_data", section="broken")).json()
        assert found["pages"] == []
        assert INJECTED in found["notes"][1]

    def test_queries_do_not_grow(
        self, products, admin_client, django_assert_max_num_queries
    ):
        """Session, user, names of sections, pages; a savepoint around user code."""
        with django_assert_max_num_queries(6):
            admin_client.get(path("map_data", section="products"))
        with django_assert_max_num_queries(3):
            admin_client.get(path("map"))


class TestPage:
    def test_it_has_all_sections_or_one(self, products, sections, admin_client):
        sections.register("other", limited(10))
        page = html.fromstring(admin_client.get(path("map")).content)
        assert page.xpath("//section[@class='map']/h2/bdi/text()") == [
            "other",
            "products",
        ]
        page = html.fromstring(admin_client.get(path("map", section="other")).content)
        assert page.xpath("//section[@class='map']/h2/bdi/text()") == ["other"]

    def test_without_a_site_it_says_why(self, sections, settings, admin_client):
        configure(settings, BASE_URL=None)
        assert b"Sitemap URLs have no origin" in admin_client.get(path("map")).content

    @pytest.mark.parametrize("name", ["map", "map_data", "map_entries"])
    @pytest.mark.parametrize(
        "query", [{"section": "nothing"}, {"section": "products", "site": "nowhere"}]
    )
    def test_what_is_unknown_is_404(self, products, admin_client, name, query):
        assert admin_client.get(path(name, number=1, **query)).status_code == 404

    @pytest.mark.parametrize("name", ["map", "map_data", "map_entries"])
    def test_others_do_not_see_it(self, products, client, django_user_model, name):
        """Without the permission to view the dashboard."""
        user = django_user_model.objects.create_user("editor", is_staff=True)
        client.force_login(user)
        query = {"section": "products", "number": 1}
        assert client.get(path(name, **query)).status_code == 403

    def test_each_site_has_its_own(self, sections, settings, admin_client):
        sites = {it: {"BASE_URL": f"https://{it}.example"} for it in ("shop", "blog")}
        configure(settings, BASE_URL=None, SITES=sites)
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
            page = admin_client.get(path("map", site=site)).text
            assert f"<bdi>{own}</bdi>" in page
            assert f"<bdi>{other}</bdi>" not in page
            query = {"site": site, "section": other, "number": 1}
            for name in ("map", "map_data", "map_entries"):
                assert admin_client.get(path(name, **query)).status_code == 404
            entries = admin_client.get(path("map_entries", **query | {"section": own}))
            assert f"https://{site}.example/products/product-00000/" in entries.text


class Hostile(Source):
    """Entries that look like HTML."""

    def entries(self, origin: str) -> Any:
        """Yield one."""
        yield Entry(f"{origin}/%3Cb%3E?a=1&b={INJECTED}")


def test_names_and_urls_stay_text(sections, admin_client):
    """Their links lead where they should."""
    sections.register(HOSTILE, Hostile)
    build_fully()
    page = html.fromstring(admin_client.get(path("map")).content)
    (strip,) = page.xpath("//section[@class='map']")
    assert strip.xpath("h2/bdi/text()") == [HOSTILE]
    (row,) = admin_client.get(strip.get("data-url")).json()["pages"]
    assert row[:3] == [1, "fresh", 1]
    response = admin_client.get(f"{strip.get('data-entries')}{row[0]}")
    page = html.fromstring(response.content)
    assert page.xpath("//h2/bdi/text()") == [HOSTILE]
    (link,) = page.xpath(f"//{TABLE}//a")
    assert link.text_content() == link.get("href")
    assert (link.get("rel"), "onerror" in link.get("href")) == ("noopener", True)
    assert page.xpath("//b | //img | //@onerror | //@style | //script[not(@src)]") == []
    (back,) = page.xpath("//*[@id='content-main']/p[1]/a/@href")
    assert admin_client.get(back).status_code == 200


class TestEntries:
    def shown(self, client: Any, **values: Any) -> list[str]:
        """Return the URLs that are shown of the first page."""
        query = {"section": "products", "number": 1, **values}
        response = client.get(path("map_entries", **query))
        assert response.status_code == 200
        return html.fromstring(response.content).xpath(f"//{TABLE}//a/@href")

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
        """Page links keep what was searched for."""
        found = [number for number in range(250) if "1" in f"{number:05}"]
        urls = product_urls(found)
        assert len(urls) > 100
        assert self.shown(admin_client, q="1") == urls[:100]
        query = {"section": "products", "number": 1, "q": "1"}
        page = html.fromstring(admin_client.get(path("map_entries", **query)).content)
        (following,) = page.xpath("//a[@rel='next']/@href")
        url = path("map_entries").partition("?")[0] + following
        page = html.fromstring(admin_client.get(url).content)
        assert page.xpath(f"//{TABLE}//a/@href") == urls[100:200]
        assert self.shown(admin_client, q="nothing") == []

    def test_search_knows_what_urls_and_xml_encode(self, sections, admin_client):
        class Towns(Source):
            def entries(self, origin: str) -> Any:
                towns = ("köln/?a=1&b=2", "bonn/?a=1&amp=2")
                yield from [Entry(f"{origin}/{town}") for town in towns]

        sections.register("products", Towns)
        urls = ["https://example.com/k%C3%B6ln/?a=1&b=2"]
        for text in ("KÖLN", "k%c3%b6", " köln ", "1&b"):
            assert self.shown(admin_client, q=text) == urls

    def test_the_date_is_that_of_the_sitemap(self, many, admin_client):
        query = {"section": "products", "number": 1, "q": "00007"}
        page = html.fromstring(admin_client.get(path("map_entries", **query)).content)
        assert page.xpath(f"//{TABLE}//time/@datetime") == ["2026-01-01T12:07:00+00:00"]
        file = "https://example.com/sitemap-products-1.xml"
        assert page.xpath(f"//p/a[@href='{file}']/bdi/text()") == [file]

    @pytest.mark.parametrize("number", ["4", "0", "-1", "x", "1" * 30, "", "\u0661"])
    def test_an_unknown_page_is_404(self, products, admin_client, number):
        query = {"section": "products", "number": number}
        assert admin_client.get(path("map_entries", **query)).status_code == 404

    def test_a_page_without_entries_says_so(self, products, admin_client):
        pages_of("products").filter(number=2).update(object="", entries=0)
        query = {"section": "products", "number": 2}
        page = admin_client.get(path("map_entries", **query))
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
        page = admin_client.get(path("map_entries", **query))
        assert page.status_code == 200
        assert "The page cannot be read now." in page.text

    def test_only_web_addresses_are_links(self, products, admin_client, monkeypatch):
        """Whatever got into an object."""
        monkeypatch.setattr(
            "django_sitemaps_plus.admin.page_map.entries_in",
            lambda answer: [("javascript:alert(1)", "", "")],
        )
        assert self.shown(admin_client) == []

    def test_queries_do_not_grow(
        self, products, admin_client, django_assert_max_num_queries
    ):
        query = {"section": "products", "number": 1}
        with django_assert_max_num_queries(5):
            admin_client.get(path("map_entries", **query))
