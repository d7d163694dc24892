"""What is published is answered from the page row; the object only for a body."""

from __future__ import annotations

from datetime import timedelta
from email.utils import parsedate_to_datetime
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

pytestmark = [pytest.mark.database, pytest.mark.django_db]

PAGE = "/sitemap-products-2.xml"
PATHS = ["/sitemap.xml", PAGE, "/sitemap.xml.gz", f"{PAGE}.gz"]
GZIP = {"Accept-Encoding": "gzip"}


@pytest.fixture(autouse=True)
def published(sections: Any) -> None:
    """Have two published pages."""
    make_products(15)
    sections.register("products", limited(10))
    build_fully()
    age()


@pytest.mark.parametrize("path", PATHS)
class TestCost:
    def test_304_takes_one_query_and_no_object(
        self, client, monkeypatch, path, django_assert_num_queries
    ):
        """The page row knows the validators."""
        etags = [client.get(path, headers=coding)["ETag"] for coding in ({}, GZIP)]
        fail_open(monkeypatch)
        for coding, etag in zip(({}, GZIP), etags, strict=True):
            with django_assert_num_queries(1):
                response = client.get(path, headers={**coding, "If-None-Match": etag})
            assert response.status_code == 304

    def test_head_takes_one_query_and_no_object(
        self, client, monkeypatch, path, django_assert_num_queries
    ):
        """The page row knows the sizes."""
        size = client.get(path)["Content-Length"]
        fail_open(monkeypatch)
        with django_assert_num_queries(1):
            response = client.head(path)
        assert response.status_code == 200
        assert response["Content-Length"] == size

    def test_200_takes_one_query(self, client, path, django_assert_num_queries):
        """And one object."""
        with django_assert_num_queries(1):
            assert client.get(path).status_code == 200


class TestRowsOfTheTable:
    def test_edits_wait_for_the_next_build(self, client):
        """What is published stays until something else is."""
        before = seen(client, *PATHS)
        Product.objects.all().delete()
        assert seen(client, *PATHS) == before
        build_fully()
        assert client.get(PAGE).status_code == 404

    def test_a_page_outside_of_the_plan_is_404(self, client):
        """A section with a plan is not planned live."""
        make_products(40, first=15)
        assert client.get("/sitemap-products-3.xml").status_code == 404

    def test_last_modified_is_the_time_of_the_flip(self, client):
        """Not that of the newest entry, and only once that second is over."""
        now = timezone.now()
        Page.objects.update(published_at=now + timedelta(seconds=90))
        assert "Last-Modified" not in client.get(PAGE)
        Page.objects.update(published_at=now - timedelta(seconds=90))
        found = parsedate_to_datetime(client.get(PAGE)["Last-Modified"])
        assert found == (now - timedelta(seconds=90)).replace(microsecond=0)


def delete(page: Page) -> None:
    path_of(page).unlink()


def cut_short(page: Page) -> None:
    path_of(page).write_bytes(path_of(page).read_bytes()[:-9])


def replace(page: Page) -> None:
    path_of(page).write_bytes(path_of(page_row(INDEX, 0)).read_bytes() + b"\0")


@pytest.mark.parametrize("damage", [delete, cut_short, replace])
class TestDamagedObjects:
    """A storage that lost or spoiled an object costs time, nothing else."""

    @pytest.mark.parametrize("path", [PAGE, f"{PAGE}.gz"])
    def test_a_page_is_rendered_instead(self, client, damage, path, messages):
        """200, the right bytes, and an error in the log that names the object."""
        before = client.get(path)
        page = page_row("products", 2)
        damage(page)
        after = client.get(path)
        assert after.status_code == 200
        assert after.content == before.content
        assert after["ETag"] == before["ETag"]
        assert page.object in messages("object_lost")[0]

    def test_the_index_is_rendered_instead(self, client, damage):
        """From the page rows, so with the same lastmods."""
        before = client.get("/sitemap.xml").content
        damage(page_row(INDEX, 0))
        assert client.get("/sitemap.xml").content == before

    def test_rows_that_came_in_meanwhile_are_all_there(self, client, damage):
        """However many: only a build splits a page, and none may be possible now."""
        before = client.get(PAGE)
        damage(page_row("products", 2))
        make_products(20, first=15)
        answer = client.get(PAGE)
        assert locs(answer.content) == product_urls(range(10, 35))
        assert answer["ETag"] != before["ETag"]
        assert "Last-Modified" not in answer


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

    def test_everything_out_of_reach_is_503(self, client):
        """So a crawler asks again, and forgets no page."""
        with fail_queries(lambda sql: True):
            for path in PATHS:
                response = client.get(path)
                assert response.status_code == 503
                assert response["Cache-Control"] == "no-store"

    def test_an_object_lost_and_the_source_too_is_503(self, client):
        """Never an empty page."""
        delete(page_row("products", 2))
        with fail_queries(lambda sql: "testapp_product" in sql):
            assert client.get(PAGE).status_code == 503


def test_a_planned_page_that_outgrew_its_limit_is_there_before_its_build(client):
    """A first build takes a while, and rows come in."""
    Page.objects.of("default", "products").update(built=0, object="")
    make_products(20, first=15)
    assert locs(client.get(PAGE).content) == product_urls(range(10, 35))
