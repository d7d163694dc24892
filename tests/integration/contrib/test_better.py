"""The views in the place of contrib's answer better than those do."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from django.contrib.sitemaps import Sitemap
from django.core.exceptions import ObjectDoesNotExist
from django.template import TemplateDoesNotExist
from django.utils import timezone

from django_sitemaps_plus.contrib import views as ours
from django_sitemaps_plus.core.gzip import write_document
from tests.integration.sources import contrib_zoo as zoo
from tests.support.documents import locs, read_index
from tests.support.shop import START, make_products, recreate_products
from tests.support.testapp.models import Product

from . import urls


@pytest.mark.parametrize("path", ["all.xml", "index.xml", "own.xml", "own-index.xml"])
def test_a_crawler_that_has_it_gets_a_304(path, client):
    make_products(2)
    urls.sitemaps["products"] = zoo.Plain
    first = client.get(f"/ours/{path}")
    has_it = {"if-none-match": first["ETag"]}
    again = client.get(f"/ours/{path}", headers=has_it)
    assert (again.status_code, again.content) == (304, b"")
    assert again["ETag"] == first["ETag"]
    assert "Cache-Control" not in first  # a decorator may say it
    Product.objects.update(updated_at=START - timedelta(days=1))
    changed = client.get(f"/ours/{path}", headers=has_it)
    assert changed.status_code == 200


@pytest.mark.parametrize("path", ["all.xml", "own.xml"])
def test_a_304_is_not_kept_for_others(path, client):
    """By the decorator that Django's documentation puts around contrib's views."""
    make_products(1)
    urls.sitemaps["products"] = zoo.Plain
    headers = {"if-none-match": client.get(f"/ours/{path}")["ETag"]}
    cached = f"/ours/cached/{path}"
    assert client.get(cached, headers=headers).status_code == 304
    for _ in range(2):
        assert client.get(cached).status_code == 200


def test_a_304_of_what_is_kept_takes_no_query(client, kept, django_assert_num_queries):
    make_products(2)
    urls.sitemaps["products"] = zoo.Plain
    for path in ("/ours/all.xml", "/ours/index.xml"):
        has_it = {"if-none-match": client.get(path)["ETag"]}
        with django_assert_num_queries(0):
            assert client.get(path, headers=has_it).status_code == 304


@pytest.mark.parametrize("use_tz", [False, True])
@pytest.mark.parametrize("is_own", [False, True])
def test_the_index_writes_no_time_without_a_zone(client, settings, use_tz, is_own):
    """As contrib does of naive datetimes; a clock in TIME_ZONE is meant."""
    settings.USE_TZ, settings.TIME_ZONE = use_tz, "Asia/Tokyo"

    class Naive(zoo.Plain):
        def items(self) -> Any:
            return list(Product.objects.all())

        def lastmod(self, obj: Product) -> Any:
            return datetime(2026, 7, 1, 12)  # noqa: DTZ001 - naive on purpose

    if is_own:
        Naive.get_latest_lastmod = lambda self: self.lastmod(None)
    make_products(1, updated_at=None)
    urls.sitemaps["products"] = Naive
    (theirs,) = read_index(client.get("/theirs/index.xml").content).values()
    assert theirs == "2026-07-01T12:00:00"
    (ours,) = read_index(client.get("/ours/index.xml").content).values()
    assert datetime.fromisoformat(ours) == datetime(2026, 7, 1, 3, tzinfo=UTC)


def test_rows_under_new_keys_are_on_pages_that_are_kept_by_no_one(client, kept):
    """Pages of the plan that is kept are empty, and it is made anew."""
    make_products(30)
    urls.sitemaps["products"] = type("Small", (zoo.Plain,), {"limit": 10})
    client.get("/ours/sitemap-products.xml")
    recreate_products()
    pages = [
        locs(client.get(f"/ours/sitemap-products.xml?p={number}").content)
        for number in (2, 3)
    ]
    assert list(map(len, pages)) == [10, 10]
    assert len({*pages[0], *pages[1]}) == 20


@pytest.mark.parametrize(
    ("seconds", "is_said"), [(-3_600, True), (30, False), (90, True)]
)
def test_an_index_names_no_edit_that_a_page_may_lack(client, kept, seconds, is_said):
    """Or a crawler that has read such a page would not read it again."""
    edited = timezone.now() - timedelta(seconds=seconds)
    make_products(1, updated_at=edited)
    urls.sitemaps["products"] = zoo.Plain
    (lastmod,) = read_index(client.get("/ours/index.xml").content).values()
    assert bool(lastmod) == is_said


@pytest.mark.parametrize("path", ["index.xml", "all.xml"])
def test_contrib_need_not_be_installed(client, path, settings):
    """Its templates are found, and its view would answer 500."""
    make_products(1)
    urls.sitemaps["products"] = zoo.Plain
    first = client.get(f"/ours/{path}")
    settings.TEMPLATES = []
    assert client.get(f"/ours/{path}").content == first.content
    with pytest.raises(TemplateDoesNotExist):
        client.get(f"/theirs/{path}")


def test_nothing_is_shared_between_hosts_schemes_and_languages(client, kept, settings):
    settings.MIDDLEWARE = ["django.middleware.locale.LocaleMiddleware"]
    make_products(1)
    urls.sitemaps["products"] = zoo.Plain
    found, path = {}, "/products/product-00000/"
    for _ in range(2):
        for host in ("one.example", "two.example"):
            for secure in (False, True):
                for language in ("en-us", "de"):
                    headers = {"host": host, "accept-language": language}
                    page = client.get("/ours/all.xml", headers=headers, secure=secure)
                    url = f"http{'s' * secure}://{host}/{language}{path}"
                    assert locs(page.content) == [url]
                    index = client.get(
                        "/ours/index.xml", headers=headers, secure=secure
                    )
                    (url,) = read_index(index.content)
                    assert url.startswith(f"http{'s' * secure}://{host}/ours/")
                    assert (
                        found.setdefault(url + language, page["ETag"]) == page["ETag"]
                    )
    assert len(set(found.values())) == 8


@pytest.mark.parametrize("path", ["all.xml", "index.xml"])
def test_a_host_of_no_site_is_not_found(path, client, monkeypatch):
    """With django.contrib.sites and no SITE_ID, where contrib's views fail."""

    def of_no_site(request: Any) -> Any:
        raise ObjectDoesNotExist("Site matching query does not exist.")

    monkeypatch.setattr(ours, "get_current_site", of_no_site)
    assert client.get(f"/ours/{path}").status_code == 404


def test_what_a_view_of_the_project_passes_is_not_kept(client, kept):
    """It may be for this user only."""
    urls.sitemaps["mine"] = type("Mine", (zoo.OfNames,), {"location": "/mine/"})
    assert len(locs(client.get("/wrapped.xml").content)) == 3
    urls.sitemaps["mine"] = zoo.Plain
    assert b"<url>" not in client.get("/wrapped.xml").content


def test_rows_that_cannot_be_listed_break_no_page(client, messages):
    """A row that raises, one without a location, and hostile values."""
    make_products(4)

    class Bad(zoo.Plain):
        def location(self, item: Product) -> Any:
            number = int(item.slug[-1])
            assert number, "a bug"
            return [None, "/\x00\x1b&<", "/3"][number - 1]

        def changefreq(self, item: Product) -> str:  # type: ignore[override]
            return "daily\x00<"

        def lastmod(self, obj: Product) -> Any:
            return obj.nothing

    urls.sitemaps["bad"] = Bad
    page = client.get("/ours/sitemap-bad.xml")
    assert page.status_code == 200
    assert locs(page.content) == [
        "http://testserver/%00%1B&%3C",
        "http://testserver/3",
    ]
    assert any("a bug" in it for it in messages("row_skipped"))
    index = client.get("/ours/index.xml")
    assert read_index(index.content) == {"http://testserver/ours/sitemap-bad.xml": None}
    assert messages("lastmod_failed")


def test_items_that_fail_are_asked_for_again(client, messages):
    """A crawler keeps what it has."""

    class Broken(Sitemap):
        def items(self) -> Any:
            raise RuntimeError("no items")

    urls.sitemaps["broken"] = Broken
    for path in ("/ours/all.xml", "/ours/index.xml"):
        page = client.get(path)
        assert (page.status_code, page["Retry-After"]) == (503, "120")
        assert page["Cache-Control"] == "no-store"
    assert "no items" in messages("live_failed")[0]


def test_a_page_that_is_too_large_is_named(client, messages, monkeypatch):
    """Engines would refuse it."""
    write = partial(write_document, max_bytes=400)
    monkeypatch.setattr(ours, "write_document", write)
    make_products(4)
    urls.sitemaps["products"] = zoo.Plain
    assert client.get("/ours/all.xml").status_code == 503
    assert "more than 400 bytes in one file" in messages("live_failed")[0]


def test_pages_are_read_by_key(client, django_assert_max_num_queries):
    """The rows before a page are skipped in the index of the keys."""
    make_products(9)
    urls.sitemaps["products"] = type("Two", (zoo.Ordered,), {"limit": 2})
    with django_assert_max_num_queries(30) as queries:
        client.get("/ours/all.xml?p=4")
    read = [it["sql"] for it in queries.captured_queries if "slug" in it["sql"]]
    assert read
    assert not [sql for sql in read if "OFFSET" in sql]


def test_a_page_is_never_fuller_than_contribs(client, kept):
    """Rows that come after the pages were counted wait until they are again."""
    make_products(3)
    urls.sitemaps["products"] = type("Two", (zoo.Plain,), {"limit": 2})
    client.get("/ours/all.xml?p=1")
    make_products(5, first=3)
    assert len(locs(client.get("/ours/all.xml?p=2").content)) == 2


def test_own_pages_are_those_of_now(client, kept):
    """Their number is not kept, since only their own code knows it."""
    make_products(3)
    urls.sitemaps["own"] = zoo.OwnUrls
    assert client.get("/ours/all.xml?p=2").status_code == 404
    make_products(1, first=3)
    assert client.get("/ours/all.xml?p=2").status_code == 200
