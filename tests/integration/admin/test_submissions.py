"""The submissions: what they show, in which order, and that they read little."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urljoin

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from lxml import html

from django_sitemaps_plus.admin import submissions
from django_sitemaps_plus.models import Delivery
from django_sitemaps_plus.models.deliveries import hash_target
from tests.integration.diagnostics.rows import ENGINE, deliver
from tests.support.shop import limited

pytestmark = pytest.mark.usefixtures("urls")

DASHBOARD = "/desk/sitemaps_plus/dashboard/"
PAGE = f"{DASHBOARD}submissions/"
ORIGIN = "https://example.com"
#: How SQLite says that it reads the deliveries without an index, or sorts them.
READS_ALL = re.compile("SCAN|TEMP B-TREE|rowid[<>]")

SENT = {"sent": 1, "sent_at": "2026-01-01T00:00Z"}
DEAD = {"dead_since": "2026-01-01T00:00Z", "error": "not ours"}


@pytest.fixture(autouse=True)
def engines(configure: Any) -> None:
    """Have two engines."""
    configure(ENGINES={"one": ENGINE, "two": ENGINE})


@pytest.fixture
def shown(client: Any, user: Any) -> Any:
    """Return what shows a page to a user who may see it and nothing else."""

    def shown(address: str = "") -> Any:
        user("view_dashboard")
        response = client.get(urljoin(PAGE, address))
        assert response.status_code == 200
        return html.fromstring(response.content.decode())

    return shown


def cells(page: Any) -> list[list[str]]:
    """Return the texts of the table."""
    rows = page.cssselect(".sitemaps-entries tbody tr")
    return [[" ".join(it.text_content().split()) for it in row] for row in rows]


def targets(page: Any) -> list[str]:
    """Return the URLs that are shown, without their origin."""
    return [row[0].removeprefix(ORIGIN) for row in cells(page)]


def walk(shown: Any, address: str) -> list[list[str]]:
    """Return the URLs of a page and of all that follow it."""
    pages, following = [], [address]
    while following:
        page = shown(following[0])
        pages.append(targets(page))
        following = page.xpath("//a[@rel='next']/@href")
    return pages


def add(count: int, engine: str = "one", host: str = "example.com") -> list[str]:
    """Add targets that wait, many of them since the same time."""
    first = datetime(2026, 1, 1, tzinfo=UTC)
    paths = [f"/{engine}/{host}/{number}" for number in range(count)]
    Delivery.objects.bulk_create(
        Delivery(
            site="default",
            engine=engine,
            host=host,
            target=f"{ORIGIN}{path}",
            target_hash=hash_target(f"{ORIGIN}{path}"),
            wanted=1,
            not_before=first + timedelta(days=number // 60),
        )
        for number, path in enumerate(paths)
    )
    return paths[::-1]


class TestRows:
    def test_each_state_is_told_in_words(self, shown):
        """With what the engine said; a feed that has gone is in none."""
        deliver(f"{ORIGIN}/gr%C3%B6%C3%9Fe/", not_before="2100-01-01T12:00Z")
        deliver(f"{ORIGIN}/tried/", attempts=3, error="it was busy " * 40)
        deliver("ftp://example.com/no/", **DEAD)
        deliver(f"{ORIGIN}/taken/", engine="two", **SENT)
        deliver(f"{ORIGIN}/gone.rss", wanted=0, is_feed=True)

        page = shown()
        umlaut, tried = cells(page)
        assert umlaut[:3] == [f"{ORIGIN}/größe/", "one", "waiting"]
        assert umlaut[3].startswith("just now")
        assert "next try: from 01/01/2100 1 p.m. on" in umlaut[3]
        assert tried[2] == "waiting3 attempts"
        assert tried[4].startswith("it was busy it")
        assert (tried[4][-1], len(tried[4])) == ("…", 300)
        links = page.cssselect(".sitemaps-entries a")
        assert links[0].get("href") == f"{ORIGIN}/gr%C3%B6%C3%9Fe/"

        page = shown("?state=rejected")
        [[url, engine, word, since, error]] = cells(page)
        assert (url, engine, word) == ("ftp://example.com/no/", "one", "rejected")
        assert since.endswith("ago")
        assert error == "not ours"
        assert page.cssselect(".sitemaps-entries a") == []
        [[url, engine, word, since, _]] = cells(shown("?state=accepted"))
        assert (url, engine, word) == (f"{ORIGIN}/taken/", "two", "accepted")
        assert since.endswith("ago")

    def test_one_engine_is_chosen(self, shown):
        deliver(f"{ORIGIN}/a")
        deliver(f"{ORIGIN}/b", engine="two")
        assert targets(shown()) == ["/a", "/b"]
        page = shown("?engine=two")
        assert targets(page) == ["/b"]
        [engine, state] = page.cssselect("select")
        assert (engine.value, state.value) == ("two", "waiting")
        page = shown("?engine=two&state=rejected")
        assert "There are no such submissions." in page.text_content()

    @pytest.mark.parametrize("query", ["engine=three", "state=sent", "site=other"])
    def test_what_there_is_not_is_not_found(self, client, editor, query):
        assert client.get(f"{PAGE}?{query}").status_code == 404

    def test_markup_of_others_stays_text(self, shown):
        deliver("javascript:alert(1)//<b>x</b>%3Cb%3E", error="<b>no</b>")
        page = shown("?q=<b>")
        assert page.cssselect(".sitemaps-entries b") == []
        assert page.cssselect("[name=q]")[0].get("value") == "<b>"
        assert page.cssselect(".sitemaps-entries a") == []
        assert targets(page) == ["javascript:alert(1)//<b>x</b>%3Cb%3E"]

    def test_sites_are_chosen_by_links(self, shown, configure, sections):
        sites = {name: {"BASE_URL": f"https://{name}.example"} for name in ("a", "b")}
        configure(BASE_URL=None, SITES=sites, ENGINES={"one": ENGINE})
        for name in sites:
            deliver(f"https://{name}.example/", site=name)
        page = shown()
        assert targets(page) == ["https://a.example/"]
        [link] = page.cssselect("nav[aria-label=Sites] a")
        page = shown(link.get("href"))
        assert targets(page) == ["https://b.example/"]
        assert page.cssselect("form [name=site]")[0].get("value") == "b"


class TestPaging:
    @pytest.fixture(autouse=True)
    def few(self, monkeypatch):
        """Show ten at once."""
        monkeypatch.setattr(submissions, "AT_ONCE", 10)

    @pytest.mark.database
    def test_each_is_shown_once_the_latest_first(self, shown):
        """Whatever they have in common: the engine, the host, the time."""
        expected = [
            *add(75, "one", "example.com"),
            *add(75, "one", "de.example.com"),
            *add(14, "two", "example.com"),
        ]
        deliver(f"{ORIGIN}/taken", **SENT)
        pages = walk(shown, "?state=waiting")
        assert [it for page in pages for it in page] == expected
        assert {len(it) for it in pages[:-1]} == {10}
        pages = walk(shown, "?engine=two")
        assert [it for page in pages for it in page] == expected[-14:]

    def test_what_has_left_the_list_begins_it_anew(self, shown):
        expected = add(12)
        [following] = shown().xpath("//a[@rel='next']/@href")
        Delivery.objects.filter(target__endswith=expected[9]).delete()
        assert targets(shown(following)) == [*expected[:9], expected[10]]
        for key in ("0", "x", "-1", "9" * 40, "²"):
            assert len(targets(shown(f"?after={key}"))) == 10

    @pytest.mark.database
    @pytest.mark.parametrize("query", ["", "q=one", "state=accepted"])
    def test_queries_are_as_many_whatever_there_is(
        self, client, editor, query, django_assert_num_queries
    ):
        """The session, the user, the hosts, and one each for an engine."""
        count = 4 + query.startswith("q")
        for number in (1, 400):
            add(number)
            with django_assert_num_queries(count):
                client.get(f"{PAGE}?engine=one&{query}")
            Delivery.objects.all().delete()
        add(400)
        key = Delivery.objects.order_by("pk")[200].pk
        with CaptureQueriesContext(connection) as queries:
            client.get(f"{PAGE}?engine=one&{query}&after={key}")
        assert len(queries) <= count + 3  # for the row, its time and its host

    @pytest.mark.parametrize("state", ["waiting", "accepted"])
    @pytest.mark.parametrize("query", ["", "q=/one", "q=nothing", "engine=one"])
    def test_an_index_finds_them(self, client, editor, state, query):
        """No query reads all rows, or sorts some."""
        if connection.vendor != "sqlite":
            pytest.skip("plans are those of SQLite")
        add(2_000)
        Delivery.objects.filter(pk__gt=Delivery.objects.first().pk + 9).update(**SENT)
        add(50, "two")
        key = Delivery.objects.filter(sent=state == "accepted").last().pk
        for words in (f"state={state}&{query}", f"state={state}&{query}&after={key}"):
            with CaptureQueriesContext(connection) as queries:
                assert client.get(f"{PAGE}?{words}").status_code == 200
            read = [it["sql"] for it in queries if "plus_delivery" in it["sql"]]
            assert read
            for sql in read:
                with connection.cursor() as cursor:
                    cursor.execute(f"EXPLAIN QUERY PLAN {sql}")
                    plan = str(cursor.fetchall())
                assert not READS_ALL.search(plan) or "target_hash=?" in plan, plan


class TestSearch:
    @pytest.mark.parametrize(
        "text",
        [f"{ORIGIN}/gr%C3%B6%C3%9Fe/", f"{ORIGIN}/größe/", "/größe/", " /größe/ "],
    )
    def test_a_url_or_path_is_found_in_any_state(self, shown, text):
        deliver(f"{ORIGIN}/gr%C3%B6%C3%9Fe/", **SENT)
        deliver(f"{ORIGIN}/gr%C3%B6%C3%9Fe/", engine="two", **DEAD)
        deliver(f"{ORIGIN}/gr%C3%B6%C3%9Fe/2")
        page = shown(f"?q={text}")
        assert [row[2] for row in cells(page)] == ["accepted", "rejected"]
        assert "Found by its URL, in any state." in page.text_content()
        assert len(cells(shown(f"?q={text}&engine=two"))) == 1

    def test_another_site_is_not_searched(self, shown):
        deliver(f"{ORIGIN}/a", site="other")
        assert targets(shown("?q=/a")) == []

    @pytest.mark.database
    @pytest.mark.parametrize("text", ["GRÖSSE", "gr%c3%b6", "öß", "/größe"])
    def test_a_text_is_found_as_people_read_it(self, shown, text):
        deliver(f"{ORIGIN}/gr%C3%B6%C3%9Fe/")
        deliver(f"{ORIGIN}/other/")
        assert targets(shown(f"?q={text.replace('%', '%25')}")) == ["/größe/"]

    def test_a_text_is_searched_in_few_rows_at_once(self, shown, monkeypatch):
        """The page says so, and leads to more."""
        monkeypatch.setattr(submissions, "LATEST", 50)
        add(175)
        page = shown("?q=m/17")
        assert "Searched in the latest 50 submissions" in page.text_content()
        found = walk(shown, "?q=m/1")
        paths = [f"/one/example.com/{number}" for number in range(174, -1, -1)]
        assert found[0] == paths[:50]
        assert [it for page in found for it in page] == [
            it for it in paths if "m/1" in it
        ]
        assert [len(it) for it in walk(shown, "?q=m/174")] == [1, 0, 0, 0]

    def test_many_that_match_are_paged(self, shown, monkeypatch):
        monkeypatch.setattr(submissions, "AT_ONCE", 10)
        expected = [it for it in add(150) if "7" in it.rpartition("/")[2]]
        found = walk(shown, "?q=7")
        assert [it for page in found for it in page] == expected
        assert max(len(it) for it in found) == 10


class TestLinks:
    def test_numbers_of_the_overview_lead_to_what_they_count(self, shown, sections):
        sections.register("products", limited(3))
        deliver(f"{ORIGIN}/a")
        for path in ("/b", "/c"):
            deliver(f"{ORIGIN}{path}", **DEAD)
        page = shown(DASHBOARD)
        links = page.cssselect("td.sitemaps-number a")
        assert [it.text_content() for it in links] == ["1", "2"]
        assert targets(shown(links[0].get("href"))) == ["/a"]
        assert targets(shown(links[1].get("href"))) == ["/c", "/b"]

    def test_a_problem_leads_to_all_that_was_rejected(self, shown):
        deliver(f"{ORIGIN}/a")
        deliver(f"{ORIGIN}/b", engine="two", **DEAD)
        page = shown(f"{DASHBOARD}problems/")
        [link] = page.xpath("//article//a[text()='All of them']")
        assert targets(shown(link.get("href"))) == ["/b"]
