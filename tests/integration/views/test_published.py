"""What is published is answered from the page row; the object only for a body."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import OperationalError, ProgrammingError
from django.utils import timezone

from django_sitemaps_plus.models import INDEX, Page, Section
from django_sitemaps_plus.views import sitemaps
from tests.support.builds import build_fully
from tests.support.documents import locs
from tests.support.faults import fail_open, fail_queries
from tests.support.published import age, page_row, path_of, seen
from tests.support.shop import limited, make_products, product_urls
from tests.support.testapp.models import Product

PAGE = "/sitemap-products-2.xml"
PATHS = ["/sitemap.xml", PAGE, "/sitemap.xml.gz", f"{PAGE}.gz"]
GZIP = {"Accept-Encoding": "gzip"}


@pytest.fixture(autouse=True)
def published(sections: Any) -> None:
    make_products(15)
    sections.register("products", limited(10))
    build_fully()
    age()


def test_the_index_has_a_second_name(client):
    """Many crawlers ask for it."""
    index, same = [client.get(f"/{name}.xml") for name in ("sitemap", "sitemap_index")]
    assert (same.content, same.headers) == (index.content, index.headers)


@pytest.mark.database
def test_changes_that_cannot_be_counted_hide_no_page(client, settings):
    """They are said while developing only."""
    settings.DEBUG = True
    with fail_queries(lambda sql: "sitemaps_plus_change" in sql):
        assert client.get(PAGE).status_code == 200


@pytest.mark.database
@pytest.mark.parametrize("path", PATHS)
def test_the_page_row_knows_validators_and_sizes(
    client, monkeypatch, path, django_assert_num_queries
):
    """A 304 and a HEAD take one query and no object; a 200 one of each."""
    first = []
    for coding in ({}, GZIP):
        with django_assert_num_queries(1):
            first.append(client.get(path, headers=coding))
    fail_open(monkeypatch)
    for coding, response in zip(({}, GZIP), first, strict=True):
        with django_assert_num_queries(2):
            head = client.head(path, headers=coding)
            known = {**coding, "If-None-Match": response["ETag"]}
            assert client.get(path, headers=known).status_code == 304
        assert head.status_code == 200
        assert head["Content-Length"] == response["Content-Length"]


@pytest.mark.database
class TestRowsOfTheTable:
    def test_edits_wait_for_the_next_build(self, client):
        """What is published stays; a section with a plan is not planned live."""
        before = seen(client, *PATHS)
        make_products(40, first=15)
        assert client.get("/sitemap-products-3.xml").status_code == 404
        Product.objects.all().delete()
        assert seen(client, *PATHS) == before
        build_fully(allow_shrink=True)
        assert client.get(PAGE).status_code == 404

    @pytest.mark.parametrize(
        ("after", "expected"), [(0.09, None), (0.1, "Fri, 02 Jan 2026 03:04:05 GMT")]
    )
    def test_last_modified_is_the_time_of_the_flip(
        self, client, monkeypatch, after, expected
    ):
        """Not that of the newest entry, and only once that second is over."""
        flip = datetime(2026, 1, 2, 3, 4, 5, 900_000, tzinfo=UTC)
        Page.objects.update(published_at=flip)
        monkeypatch.setattr(timezone, "now", lambda: flip + timedelta(seconds=after))
        assert client.get(PAGE).headers.get("Last-Modified") == expected


def delete(page: Page) -> None:
    path_of(page).unlink()


def cut_short(page: Page) -> None:
    path_of(page).write_bytes(path_of(page).read_bytes()[:-9])


def replace(page: Page) -> None:
    path_of(page).write_bytes(path_of(page_row(INDEX, 0)).read_bytes() + b"\0")


class TestDamagedObjects:
    """A storage that lost or spoiled an object costs time, nothing else."""

    @pytest.mark.parametrize("path", PATHS)
    @pytest.mark.parametrize("damage", [delete, cut_short, replace])
    def test_it_is_rendered_instead(self, client, damage, path, messages):
        """200, the right bytes, and an error in the log that names the object."""
        before = client.get(path)
        page = page_row("products", 2) if PAGE in path else page_row(INDEX, 0)
        damage(page)
        after = client.get(path)
        assert (after.status_code, after.content) == (200, before.content)
        assert after["ETag"] == before["ETag"]
        assert page.object in messages("object_lost")[0]

    @pytest.mark.parametrize("is_built", [True, False])
    def test_rows_that_came_in_meanwhile_are_all_there(self, client, is_built):
        """However many: only a build splits a page, and a first one takes a while."""
        before = client.get(PAGE)
        delete(page_row("products", 2))
        if not is_built:
            Page.objects.of("default", "products").update(built=0, object="")
        make_products(20, first=15)
        answer = client.get(PAGE)
        assert locs(answer.content) == product_urls(range(10, 35))
        assert answer["ETag"] != before["ETag"]
        assert "Last-Modified" not in answer


@pytest.mark.database
class TestDatabaseFaults:
    def test_a_page_is_served_live_while_our_tables_are_missing(self, client, messages):
        """Before migrate the sitemaps are there, since the sources are."""
        live = [f"/sitemap-products-{number}.xml" for number in (1, 2)]
        expected = {path: client.get(path).content for path in live}
        with fail_queries(lambda sql: "sitemaps_plus_" in sql, error=ProgrammingError):
            assert {path: client.get(path).content for path in live} == expected
            assert client.get("/sitemap.xml").content.count(b"<sitemap>") == 2
        assert messages("rows_failed")

    @pytest.mark.parametrize("model", [Page, Section])
    def test_our_tables_out_of_reach_are_503(self, client, model):
        """A plan of the moment has other pages than those that are published."""
        Page.objects.of("default", INDEX).delete()
        name = model._meta.db_table
        with fail_queries(lambda sql: name in sql.partition("FROM ")[2][:40]):
            for path in ("/sitemap.xml", "/sitemap-products-99.xml"):
                assert client.get(path).status_code == 503

    def test_a_site_out_of_reach_is_503(self, client, monkeypatch):
        """That of ``django.contrib.sites``, which is not in its cache."""

        def fail(*args: object) -> None:
            raise OperationalError("the server closed the connection unexpectedly")

        monkeypatch.setattr(sitemaps, "get_site", fail)
        for path in PATHS:
            assert client.get(path).status_code == 503

    def test_an_object_and_its_source_out_of_reach_are_503(self, client):
        """A crawler asks again, and forgets no page."""
        delete(page_row("products", 2))
        with fail_queries(lambda sql: "testapp_product" in sql):
            assert client.get(PAGE).status_code == 503
