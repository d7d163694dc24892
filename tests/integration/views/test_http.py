"""Statuses, headers, codings and conditions of all views, live or published."""

import gzip
from collections.abc import Iterator
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from django.contrib.sitemaps import GenericSitemap, Sitemap
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import include, path
from django.views.decorators.cache import cache_page
from django.views.generic import RedirectView

import django_sitemaps_plus
from django_sitemaps_plus import views
from django_sitemaps_plus.contrib import views as drop_in
from django_sitemaps_plus.core.gzip import inflate
from django_sitemaps_plus.models import Page
from tests.support.builds import build_fully
from tests.support.documents import locs, read_index
from tests.support.faults import fail_queries
from tests.support.key_files import ENGINES, KEY
from tests.support.key_files import PATH as KEY_PATH
from tests.support.rendered import without_savepoints
from tests.support.shop import limited, make_products, product_urls
from tests.support.testapp.models import Product
from tests.support.urls import urlpatterns as usual

pytestmark = pytest.mark.usefixtures("all_files")

PAGE = "/sitemap-products-1.xml"
GZIP = {"Accept-Encoding": "gzip"}
CACHED = "public, max-age=600"
TEXT = "text/plain; charset=utf-8"
FOR_PEOPLE = ("/sitemap/", "/sitemap/products/")
LOGIN_REQUIRED = "django.contrib.auth.middleware.LoginRequiredMiddleware"
MIDDLEWARE = [
    "django.middleware.gzip.GZipMiddleware",
    "django.middleware.http.ConditionalGetMiddleware",
]

#: Types of files that have a gzip file beside them.
FILES = {
    "/sitemap.xml": "application/xml",
    PAGE: "application/xml",
    "/sitemap-products-2.txt": TEXT,
    "/sitemap-products.rss": "application/rss+xml; charset=utf-8",
    "/sitemap-products.atom": "application/atom+xml; charset=utf-8",
}

HEADERS = ("Content-Type", "Cache-Control", "X-Robots-Tag", "Vary")
VIEWS = {
    **{
        url: (kind, CACHED, "noindex", "Accept-Encoding") for url, kind in FILES.items()
    },
    **{f"{url}.gz": ("application/gzip", CACHED, "noindex", None) for url in FILES},
    "/sitemap_index.xml": ("application/xml", CACHED, "noindex", "Accept-Encoding"),
    "/robots.txt": (TEXT, CACHED, None, None),
    KEY_PATH: (TEXT, CACHED, None, None),
    **dict.fromkeys(FOR_PEOPLE, ("text/html; charset=utf-8", None, None, None)),
}

MISSING = [
    *[
        f"/sitemap-products-{number}.{end}"
        for number in ("3", "0", "01", "999999999", "1000000000", "\u0661")
        for end in ("xml", "txt")
    ],
    *("/sitemap-products-1.xml%0A", "/sitemap-PRODUCTS-1.xml", "/sitemaps-2.xml"),
    *[
        f"/sitemap-unknown{end}"
        for end in ("-1.xml", "-1.txt", ".txt", ".rss", ".atom", ".xml.rss")
    ],
    # Old URLs, of contrib's view.
    *("/sitemap-unknown.xml", "/sitemap-unknown.xml?p=2"),
    *[
        f"/sitemap-products.xml?p={number}"
        for number in ("0", "-1", "x", "", "1e3", "\u0663", "9" * 5_000)
    ],
    *("/sitemap/nothing/", "/sitemap/products/3/", "/sitemap/products/0/"),
    *(f"/sitemap/products/{'9' * 20}/", "/sitemap/products/?page=4"),
    *("/sitemap/products/?page=x", "/robots.txt/", "/x/robots.txt", "/robotsxtxt"),
    *(f"/{KEY.upper()}.txt", f"/{KEY}.txt%0a", f"/{KEY}%00.txt", f"/x/{KEY}.txt"),
    *("/humans.txt", f"/{'a' * 500}.txt"),
]

#: Longer numbers and names than a row can hold, and a character that some refuse.
IMPOSSIBLE = [
    *(f"/sitemaps-{'9' * 5_000}.xml", f"/sitemap-products-{'9' * 5_000}.xml"),
    *(f"/sitemap-{'p' * 65}-1.xml", f"/sitemap-{'p' * 65}.rss"),
    "/sitemap-products%00-1.xml",
]


@pytest.fixture
def all_files(configure: Any) -> None:
    configure(ENGINES=ENGINES, ROBOTS={})


class TestViews:
    def test_headers(self, served, client):
        for url, expected in VIEWS.items():
            found, head = client.get(url), client.head(url)
            assert found.status_code == 200, url
            headers = tuple(found.headers.get(name) for name in HEADERS)
            assert headers == expected, url
            assert found["Content-Length"] == str(len(found.content)), url
            assert not found.cookies, url
            assert (head.status_code, head.content) == (200, b""), url
            if url not in FOR_PEOPLE:
                assert dict(head.headers) == dict(found.headers), url

    @pytest.mark.parametrize("headers", [{}, GZIP], ids=["plain", "gzip"])
    def test_a_known_etag_is_304(self, served, client, headers):
        """Without a body, with the headers that RFC 9110 asks for."""
        for url in VIEWS:
            first = client.get(url, headers=headers)
            methods = [client.get] if url in FOR_PEOPLE else [client.get, client.head]
            tag = first["ETag"]
            conditions = (tag, f'"x", {tag}', f"W/{tag}", "*", f'W/"y",{tag},"z"')
            for condition, method in product(conditions, methods):
                response = method(url, headers={**headers, "If-None-Match": condition})
                assert (response.status_code, response.content) == (304, b""), url
                assert "Content-Encoding" not in response
                for name in ("ETag", "Cache-Control", "Vary"):
                    assert response.headers.get(name) == first.headers.get(name), url

    def test_the_beginning_of_a_long_condition_is_read(self, served, client):
        """A megabyte of commas would be parsed for seconds."""
        for url in VIEWS:
            tag = client.get(url)["ETag"]
            for length, status in ((4_000, 304), (5_000, 200)):
                header = f"{',' * length}{tag}"
                response = client.get(url, headers={"If-None-Match": header})
                assert response.status_code == status, url

    def test_other_methods_are_refused(self, served, settings):
        csrf = "django.middleware.csrf.CsrfViewMiddleware"
        settings.MIDDLEWARE = [*settings.MIDDLEWARE, csrf]
        client = Client(enforce_csrf_checks=True)  # no form is read: no token needed
        for url, method in product(VIEWS, (client.post, client.put, client.options)):
            response = method(url)
            assert (response.status_code, response["Allow"]) == (405, "GET, HEAD"), url

    def test_a_database_out_of_reach_is_503(self, served, client):
        """People and crawlers come again; it is never a 500."""
        for url in VIEWS.keys() - {"/robots.txt", KEY_PATH}:
            with fail_queries(lambda sql: True):
                response = client.get(url)
            assert (response.status_code, response["Retry-After"]) == (503, "120"), url
            if url not in FOR_PEOPLE:
                assert response["Cache-Control"] == "no-store", url


def test_each_file_and_coding_has_an_etag_of_its_own(served, client):
    tags = {url: client.get(url)["ETag"] for url in VIEWS}
    assert tags.pop("/sitemap_index.xml") == tags["/sitemap.xml"]
    assert len(set(tags.values())) == len(tags)
    for url in FILES:
        assert client.get(url, headers=GZIP)["ETag"] == tags[f"{url}.gz"]
        assert tags[url].startswith('"')
        assert len(tags[url]) == 66


def test_what_is_not_there_is_404(served, client):
    """Neither another number nor another spelling of one gives a page."""
    found = {url: client.get(url) for url in MISSING}
    assert [url for url, it in found.items() if it.status_code != 404] == []
    assert [url for url, it in found.items() if KEY.encode() in it.content] == []


def test_what_no_row_can_hold_asks_no_database(
    served, client, django_assert_num_queries
):
    with django_assert_num_queries(0):
        assert {client.get(url).status_code for url in IMPOSSIBLE} == {404}


@pytest.mark.parametrize(
    ("source", "ends"),
    [
        (
            limited(2, get_queryset=lambda self: 1 / 0),
            ("s.xml", "-1.xml", "-1.txt", ".rss", ".atom"),
        ),
        (lambda: 1 / 0, ("s.xml", "-1.xml", ".xml")),
        (limited(5, on_error="raise", priority=lambda self, row: 7), ("-1.xml",)),
    ],
    ids=["query", "callable", "row"],
)
def test_a_source_that_fails_is_503(sections, client, messages, source, ends):
    """To be asked again, and never half a page; the log says why."""
    make_products(1)
    sections.register("broken", source)
    for end in ends:
        url = "/sitemap.xml" if end == "s.xml" else f"/sitemap-broken{end}"
        response = client.get(url)
        assert (response.status_code, response["Retry-After"]) == (503, "120")
        assert response["Cache-Control"] == "no-store"
        assert b"ZeroDivisionError" not in response.content
    assert len(messages("live_failed")) == len(ends)
    assert "Error" in messages("live_failed")[0]


@pytest.mark.usefixtures("served")
class TestCodings:
    @pytest.mark.parametrize(
        ("header", "coding"),
        [
            *(("deflate, gzip;q=0.5", "gzip"), ("GZIP", "gzip"), ("x-gzip", "gzip")),
            *(("br,*;q=0.1", "gzip"), (None, None), ("", None), ("gzip; q=0.0", None)),
            *(("*;q=0", None), ("gzip;q=0, *", None), ("gzip;q=nonsense", None)),
            *(("gzipped", None), (";,q=", None)),
        ],
    )
    def test_gzip_where_it_is_accepted(self, client, header, coding):
        headers = {} if header is None else {"Accept-Encoding": header}
        response = client.get(PAGE, headers=headers)
        assert response.headers.get("Content-Encoding") == coding
        assert response["Content-Length"] == str(len(response.content))
        content = inflate(response.content) if coding else response.content
        assert locs(content) == product_urls(range(10))

    def test_the_beginning_of_a_long_header_is_read(self, client):
        """A request of 64 KiB costs no more than one of 4."""
        for length, coding in ((4_000, "gzip"), (5_000, None)):
            header = "br," * (length // 3) + "gzip"
            response = client.get(PAGE, headers={"Accept-Encoding": header})
            assert response.headers.get("Content-Encoding") == coding

    def test_a_gz_url_is_a_gzip_file(self, client):
        """Not a coding: a client that unpacks codings must be left with a file."""
        for url, header in product(FILES, ("gzip", "gzip;q=0")):
            response = client.get(f"{url}.gz", headers={"Accept-Encoding": header})
            assert "Content-Encoding" not in response
            assert gzip.decompress(response.content) == client.get(url).content


def test_caches_keep_it_as_the_setting_says(served, client, configure):
    configure(CLIENT_CACHE_SECONDS=60)
    found = {client.get(url).headers.get("Cache-Control") for url in VIEWS}
    assert found == {"public, max-age=60", None}


def test_a_published_page_is_as_old_as_its_flip(served, client):
    is_published = served == "published"
    flip = "Thu, 01 Jan 2026 12:00:00 GMT"
    expected = {
        flip: 304 if is_published else 200,
        "Thu, 01 Jan 2026 11:59:59 GMT": 200,
        "nonsense": 200,
    }
    for url in ("/sitemap.xml", PAGE):
        modified = client.get(url).headers.get("Last-Modified")
        assert modified == (flip if is_published else None)
        for when, status in expected.items():
            response = client.get(url, headers={"If-Modified-Since": when})
            assert response.status_code == status


def test_a_head_of_robots_txt_is_made_without_a_body(rf):
    """The test client would cut one off."""
    assert views.text_file(rf.head("/robots.txt"), "robots.txt").content == b""


class Project:
    """A URLconf with all that is ours, and views in the place of contrib's."""

    sitemaps = {"products": GenericSitemap({"queryset": Product.objects.all()})}
    of_url = {"sitemaps": sitemaps}
    page = cache_page(60)(drop_in.sitemap)
    urlpatterns = [
        *usual,
        path("theirs.xml", drop_in.index, {**of_url, "sitemap_url_name": "theirs"}),
        path("theirs-<section>.xml", page, of_url, name="theirs"),
        path("", include("django.contrib.auth.urls")),
    ]


def callbacks() -> Iterator[Any]:
    """Yield the view of each of our URLs, also of modules yet to be written."""
    root = Path(django_sitemaps_plus.__file__).parent
    for file in root.rglob("*.py"):
        if "\nurlpatterns = [" in file.read_text():
            name = ".".join(file.relative_to(root.parent).with_suffix("").parts)
            yield from [it.callback for it in import_module(name).urlpatterns]
    yield from (drop_in.index, drop_in.sitemap)


def answers(client: Client, url: str, coding: str) -> list[Any]:
    """Return what a GET, a HEAD and a GET of what is known are answered."""
    headers = {"Accept-Encoding": coding}
    found = client.get(url, headers=headers)
    known = {**headers, "If-None-Match": found["ETag"]}
    again = client.get(url, headers=known)
    assert again.status_code == 304
    responses = (found, client.head(url, headers=headers), again)
    return [(it.content, dict(it.headers)) for it in responses]


class TestMiddleware:
    def test_no_view_of_ours_requires_a_login(self):
        """Views for monitors, which decide by themselves, are among them."""
        found = list(callbacks())
        assert len(found) > 20
        refusing = [it for it in found if getattr(it, "login_required", True)]
        assert refusing == []

    def test_crawlers_need_not_log_in(self, client, served, settings):
        settings.MIDDLEWARE = [*settings.MIDDLEWARE, LOGIN_REQUIRED]
        settings.ROOT_URLCONF = Project
        assert client.get("/about/").status_code == 302
        for url in [*VIEWS, "/theirs.xml", "/theirs-products.xml"]:
            assert client.get(url).status_code == 200, url
        assert client.get("/sitemap-products.xml")["Location"] == PAGE

    def test_what_is_sent_is_the_same(self, served, client, settings):
        """By GZipMiddleware and ConditionalGetMiddleware."""
        cases = list(product((PAGE, f"{PAGE}.gz"), ("gzip", "gzip;q=0")))
        alone = [answers(client, *case) for case in cases]
        settings.MIDDLEWARE = [*MIDDLEWARE, *settings.MIDDLEWARE]
        client = Client()  # one that was used has the old middleware
        for case, expected in zip(cases, alone, strict=True):
            assert answers(client, *case) == expected
        # They are at work: ordinary pages are compressed.
        large = client.get("/admin/login/", headers=GZIP)
        assert large["Content-Encoding"] == "gzip"

    @pytest.mark.django_db(transaction=True)  # savepoints are transactions too
    def test_atomic_requests_do_not_wrap_them(self, served, client, monkeypatch):
        """Rendering for a while must hold no transaction open."""
        seen: list[Any] = []
        real = transaction.atomic
        monkeypatch.setitem(connection.settings_dict, "ATOMIC_REQUESTS", True)
        monkeypatch.setattr(
            transaction, "atomic", lambda *args, **kw: seen.append(args) or real(*args)
        )
        assert read_index(client.get("/sitemap.xml").content)
        assert client.get(PAGE).status_code == 200
        assert seen == []


class Products(Sitemap):
    limit = 4

    def items(self):
        return Product.objects.order_by("pk")


def moved(client, path: str) -> str:
    response = client.get(path)
    assert response.status_code == 301
    return str(response["Location"])


class OfSetting(Products):
    limit = property(lambda _: 4)  # type: ignore[assignment]


@pytest.mark.parametrize("kind", [Products, OfSetting])
@pytest.mark.parametrize("is_built", [False, True])
def test_each_old_page_leads_to_its_rows(sections, client, is_built, kind):
    """Live, and once it is built; the first one also without a number."""
    make_products(10)
    sections.register("products", kind)
    if is_built:
        build_fully()
    for number in (1, 2, 3):
        path = moved(client, f"/sitemap-products.xml?p={number}")
        first = (number - 1) * 4
        assert locs(client.get(path).content) == product_urls(
            range(first, min(first + 4, 10))
        )
    response = client.get("/sitemap-products.xml")
    assert response["Location"] == "/sitemap-products-1.xml"
    assert response["Cache-Control"] == "public, max-age=600"


@pytest.mark.database
def test_rows_are_counted_over_pages_that_split_and_merged(shop, client):
    """In the order of their keys, by one query."""
    shop(12, 2)
    pages = Page.objects.of("default", "products")
    pages.filter(number=1).update(number=9)
    pages.filter(number=3).update(entries=49_996)
    for old, new in {1: 9, 2: 4}.items():
        with CaptureQueriesContext(connection) as queries:
            path = moved(client, f"/sitemap-products.xml?p={old}")
        assert len(without_savepoints(queries)) == 1
        assert path == f"/sitemap-products-{new}.xml"
    assert client.get("/sitemap-products.xml?p=3").status_code == 404


def test_a_page_of_a_section_with_a_number_in_its_name(sections, client):
    """It looks like a page, but no section has the rest of the name."""
    make_products(1)
    sections.register("news-2024", Products)
    assert moved(client, "/sitemap-news-2024.xml") == "/sitemap-news-2024-1.xml"
    assert client.get("/sitemap-news-2025.xml").status_code == 404
    assert client.get("/sitemap-news-2024.xml.gz").status_code == 404


def test_the_index_takes_no_notice_of_a_page(sections, client):
    """Many projects had one sitemap at that URL."""
    make_products(1)
    sections.register("products", Products)
    first, second = client.get("/sitemap.xml"), client.get("/sitemap.xml?p=2")
    assert first["ETag"] == second["ETag"]
    assert first.content == second.content


def test_another_pattern_leads_there_by_the_redirect_of_the_guide(
    sections, client, settings
):
    """With the number of the page."""
    settings.ROOT_URLCONF = __name__
    make_products(5)
    sections.register("products", Products)
    response = client.get("/maps/products.xml?p=2", follow=True)
    assert response.redirect_chain == [
        ("/sitemap-products.xml?p=2", 301),
        ("/sitemap-products-2.xml", 301),
    ]
    assert locs(response.content) == product_urls([4])


urlpatterns = [
    path(
        "maps/<section>.xml",
        RedirectView.as_view(
            pattern_name="sitemaps_plus:moved", query_string=True, permanent=True
        ),
    ),
    path("", include("tests.support.urls")),
]
