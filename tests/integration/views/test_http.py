"""Headers, codings and conditions of what is served, live or published."""

from __future__ import annotations

import gzip
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client

from django_sitemaps_plus.core.gzip import inflate
from tests.support.documents import locs, read_index
from tests.support.shop import product_urls

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("served")]

PAGE = "/sitemap-products-1.xml"
PATHS = ["/sitemap.xml", PAGE]
FILES = ["/sitemap.xml.gz", f"{PAGE}.gz"]
GZIP = {"Accept-Encoding": "gzip"}
BASE = {"BASE_URL": "https://example.com"}
MIDDLEWARE = [
    "django.middleware.gzip.GZipMiddleware",
    "django.middleware.http.ConditionalGetMiddleware",
]


class TestCodings:
    @pytest.mark.parametrize("path", PATHS)
    @pytest.mark.parametrize(
        ("header", "coding"),
        [
            *(("deflate, gzip;q=0.5", "gzip"), ("GZIP", "gzip"), ("x-gzip", "gzip")),
            *(("br,*;q=0.1", "gzip"), (None, None), ("", None), ("gzip; q=0.0", None)),
            *(("*;q=0", None), ("gzip;q=0, *", None), ("gzip;q=nonsense", None)),
            *(("gzipped", None), (";,q=", None)),
        ],
    )
    def test_gzip_where_it_is_accepted(self, client, path, header, coding):
        headers = {} if header is None else {"Accept-Encoding": header}
        response = client.get(path, headers=headers)
        assert response.headers.get("Content-Encoding") == coding
        assert response["Content-Type"] == "application/xml"
        assert response["Vary"] == "Accept-Encoding"
        assert response["Content-Length"] == str(len(response.content))
        assert not response.cookies
        content = inflate(response.content) if coding else response.content
        assert content.startswith(b"<?xml ")
        if path == PAGE:
            assert locs(content) == product_urls(range(10))

    def test_the_beginning_of_a_long_header_is_read(self, client):
        """A request of 64 KiB costs no more than one of 4."""
        for length, coding in ((4_000, "gzip"), (5_000, None)):
            header = "br," * (length // 3) + "gzip"
            response = client.get(PAGE, headers={"Accept-Encoding": header})
            assert response.headers.get("Content-Encoding") == coding

    @pytest.mark.parametrize("path", FILES)
    @pytest.mark.parametrize("header", ["gzip", "gzip;q=0"])
    def test_a_gz_url_is_a_gzip_file(self, client, path, header):
        """Not a coding: a client that unpacks codings must be left with a file."""
        response = client.get(path, headers={"Accept-Encoding": header})
        assert response["Content-Type"] == "application/gzip"
        assert "Content-Encoding" not in response
        assert "Vary" not in response
        plain = client.get(path.removesuffix(".gz")).content
        assert gzip.decompress(response.content) == plain


@pytest.mark.parametrize("path", [*PATHS, *FILES])
def test_it_is_kept_as_the_setting_says_and_not_indexed(client, path, settings):
    response = client.get(path)
    assert response["X-Robots-Tag"] == "noindex"
    assert response["Cache-Control"] == "public, max-age=600"
    settings.SITEMAPS_PLUS = {**BASE, "CLIENT_CACHE_SECONDS": 60}
    assert client.get(path)["Cache-Control"] == "public, max-age=60"


@pytest.mark.parametrize("method", ["post", "options"])
def test_other_methods_are_refused(method):
    client = Client(enforce_csrf_checks=True)  # no form is read, so no token needed
    response = getattr(client, method)(PAGE)
    assert response.status_code == 405
    assert response["Allow"] == "GET, HEAD"


class TestConditions:
    @pytest.mark.parametrize("path", PATHS)
    def test_each_coding_has_an_etag_of_its_own(self, client, path):
        plain = client.get(path)["ETag"]
        packed = client.get(path, headers=GZIP)["ETag"]
        assert plain != packed == client.get(f"{path}.gz")["ETag"]
        assert all(tag.startswith('"') and len(tag) == 66 for tag in (plain, packed))

    @pytest.mark.parametrize("path", PATHS)
    @pytest.mark.parametrize("headers", [{}, GZIP])
    def test_a_known_etag_is_304(self, client, path, headers):
        """Without a body, with the headers that RFC 9110 asks for."""
        first = client.get(path, headers=headers)
        tag = first["ETag"]
        for condition in (tag, f'"x", {tag}', f"W/{tag}", "*", f'W/"y",{tag},"z"'):
            for method in (client.get, client.head):
                response = method(path, headers={**headers, "If-None-Match": condition})
                assert (response.status_code, response.content) == (304, b"")
                assert "Content-Encoding" not in response
                for name in ("ETag", "Cache-Control", "Vary"):
                    assert response[name] == first[name]

    def test_a_published_page_is_as_old_as_its_flip(self, client, served):
        is_published = served == "published"
        flip = "Thu, 01 Jan 2026 12:00:00 GMT"
        expected = {
            flip: 304 if is_published else 200,
            "Thu, 01 Jan 2026 11:59:59 GMT": 200,
            "nonsense": 200,
        }
        for path in PATHS:
            modified = client.get(path).headers.get("Last-Modified")
            assert modified == (flip if is_published else None)
            for when, status in expected.items():
                response = client.get(path, headers={"If-Modified-Since": when})
                assert response.status_code == status


class TestMiddleware:
    """GZipMiddleware and ConditionalGetMiddleware change nothing."""

    @pytest.mark.parametrize("path", [PAGE, f"{PAGE}.gz"])
    @pytest.mark.parametrize("header", ["gzip", "gzip;q=0"])
    @pytest.mark.parametrize("method", ["get", "head"])
    def test_what_is_sent_is_the_same(self, client, settings, path, header, method):
        headers = {"Accept-Encoding": header}
        alone = getattr(client, method)(path, headers=headers)
        settings.MIDDLEWARE = [*MIDDLEWARE, *settings.MIDDLEWARE]
        client = Client()  # one that was used has the old middleware
        both = getattr(client, method)(path, headers=headers)
        assert both.content == alone.content
        assert dict(both.headers) == dict(alone.headers)
        again = {**headers, "If-None-Match": alone["ETag"]}
        assert getattr(client, method)(path, headers=again).status_code == 304
        # They are at work: ordinary pages are compressed.
        large = client.get("/admin/login/", headers=GZIP)
        assert large["Content-Encoding"] == "gzip"

    @pytest.mark.django_db(transaction=True)  # savepoints are transactions too
    def test_atomic_requests_do_not_wrap_them(self, client, monkeypatch):
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
