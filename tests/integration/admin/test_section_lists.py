"""What a section lists: a search through its pages, and downloads of it."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from io import StringIO
from itertools import count
from typing import Any
from urllib.parse import urlencode

import pytest
from django.db import OperationalError

from django_sitemaps_plus import Entry, Source
from django_sitemaps_plus.admin import sections as views
from django_sitemaps_plus.conf import get_sites
from django_sitemaps_plus.diagnostics import section_pages
from django_sitemaps_plus.diagnostics.section_pages import search
from django_sitemaps_plus.models import Page, State
from django_sitemaps_plus.sites import in_force, site_in_force
from tests.support.builds import build_fully
from tests.support.faults import fail_open
from tests.support.published import path_of
from tests.support.shop import limited, make_products, product_urls
from tests.support.testapp.models import Product

from .test_sections import TABLE, pages_of, path, tree

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

        for name in ("page_numbers", "left_out_of"):
            monkeypatch.setattr(section_pages, name, fail)
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
        monkeypatch.setattr(section_pages, "AT_ONCE", 1)
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
