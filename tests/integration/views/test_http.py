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
    def test_plain_without_accept_encoding(self, client, path):
        """Nor does it set a cookie."""
        response = client.get(path)
        assert "Content-Encoding" not in response
        assert response["Content-Type"] == "application/xml"
        assert response["Vary"] == "Accept-Encoding"
        assert not response.cookies
        assert response["Content-Length"] == str(len(response.content))
        assert response.content.startswith(b"<?xml ")

    @pytest.mark.parametrize("path", PATHS)
    @pytest.mark.parametrize(
        "header", ["deflate, gzip;q=0.5", "GZIP", "x-gzip", "br,*;q=0.1"]
    )
    def test_gzip_where_it_is_accepted(self, client, path, header):
        """The same document, gzip-encoded."""
        response = client.get(path, headers={"Accept-Encoding": header})
        assert response["Content-Encoding"] == "gzip"
        assert response["Content-Type"] == "application/xml"
        assert response["Vary"] == "Accept-Encoding"
        assert response["Content-Length"] == str(len(response.content))
        assert inflate(response.content) == client.get(path).content

    @pytest.mark.parametrize(
        "header",
        [
            "",
            "gzip; q=0.0",
            "*;q=0",
            "gzip;q=0, *",
            "gzip;q=nonsense",
            "gzipped",
            ";,q=",
        ],
    )
    def test_plain_where_gzip_is_not_accepted(self, client, header):
        """A quality of zero refuses."""
        response = client.get(PAGE, headers={"Accept-Encoding": header})
        assert "Content-Encoding" not in response
        assert locs(response.content) == product_urls(range(10))

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


class TestHeaders:
    @pytest.mark.parametrize("path", [*PATHS, *FILES])
    def test_robots_and_cache(self, client, path, settings):
        """Not to be indexed itself, and kept as long as the setting says."""
        response = client.get(path)
        assert response["X-Robots-Tag"] == "noindex"
        assert response["Cache-Control"] == "public, max-age=600"
        settings.SITEMAPS_PLUS = {**BASE, "CLIENT_CACHE_SECONDS": 60}
        assert client.get(path)["Cache-Control"] == "public, max-age=60"

    def test_last_modified_is_that_of_the_flip(self, client, served):
        """Published: the time the pointer was set. Live: it is not known."""
        expected = {"published": "Thu, 01 Jan 2026 12:00:00 GMT", "live": None}
        for path in PATHS:
            assert client.get(path).headers.get("Last-Modified") == expected[served]

    @pytest.mark.parametrize("method", ["post", "options"])
    def test_other_methods_are_refused(self, method):
        """Only GET and HEAD."""
        client = Client(enforce_csrf_checks=True)  # no form is read, so no token needed
        response = getattr(client, method)(PAGE)
        assert response.status_code == 405
        assert response["Allow"] == "GET, HEAD"


class TestConditions:
    @pytest.mark.parametrize("path", PATHS)
    def test_each_coding_has_an_etag_of_its_own(self, client, path):
        """Strong, and different, since the bytes are."""
        plain = client.get(path)["ETag"]
        packed = client.get(path, headers=GZIP)["ETag"]
        file = client.get(f"{path}.gz")["ETag"]
        assert plain != packed
        assert file == packed
        assert all(tag.startswith('"') and len(tag) == 66 for tag in (plain, packed))

    @pytest.mark.parametrize("path", PATHS)
    @pytest.mark.parametrize("headers", [{}, GZIP])
    def test_a_known_etag_is_304(self, client, path, headers):
        """Without a body, with the headers that RFC 9110 asks for."""
        first = client.get(path, headers=headers)
        for condition in forms_of(first["ETag"]):
            for method in (client.get, client.head):
                response = method(path, headers={**headers, "If-None-Match": condition})
                assert response.status_code == 304
                assert response.content == b""
                for name in ("ETag", "Cache-Control", "Vary"):
                    assert response[name] == first[name]
                assert "Content-Encoding" not in response

    @pytest.mark.parametrize("header", ['"x"', "x", 'W/"x", "y"'])
    def test_an_unknown_etag_is_200(self, client, header):
        """The client has another version, so the whole is sent."""
        response = client.get(PAGE, headers={"If-None-Match": header})
        assert response.status_code == 200

    def test_if_modified_since(self, client, served):
        """A published page is as old as its flip; a live one has no age."""
        status = {
            when: client.get(PAGE, headers={"If-Modified-Since": when}).status_code
            for when in (
                "Thu, 01 Jan 2026 12:00:00 GMT",
                "Thu, 01 Jan 2026 11:59:59 GMT",
                "nonsense",
            )
        }
        expected = {"published": [304, 200, 200], "live": [200, 200, 200]}
        assert list(status.values()) == expected[served]


def forms_of(etag: str) -> list[str]:
    return [etag, f'"x", {etag}', f"W/{etag}", "*", f'W/"y",{etag},"z"']


class TestMiddleware:
    """GZipMiddleware and ConditionalGetMiddleware change nothing."""

    @pytest.mark.parametrize("path", [PAGE, f"{PAGE}.gz"])
    @pytest.mark.parametrize("header", ["gzip", "gzip;q=0"])
    @pytest.mark.parametrize("method", ["get", "head"])
    def test_what_is_sent_is_the_same(self, client, settings, path, header, method):
        """Nothing is packed twice, unpacked, or packed against the client's will."""
        headers = {"Accept-Encoding": header}
        alone = getattr(client, method)(path, headers=headers)
        settings.MIDDLEWARE = [*MIDDLEWARE, *settings.MIDDLEWARE]
        client = Client()  # one that was used has the old middleware
        both = getattr(client, method)(path, headers=headers)
        assert both.content == alone.content
        assert dict(both.headers) == dict(alone.headers)
        again = {**headers, "If-None-Match": alone["ETag"]}
        assert getattr(client, method)(path, headers=again).status_code == 304

    def test_other_pages_are_left_to_them(self, settings):
        """They are at work: ordinary pages are compressed and have an ETag."""
        settings.MIDDLEWARE = [*MIDDLEWARE, *settings.MIDDLEWARE]
        client = Client()
        large = client.get("/admin/login/", headers=GZIP)
        assert large["Content-Encoding"] == "gzip"
        assert client.get("/about/")["ETag"]

    @pytest.mark.django_db(transaction=True)  # savepoints are transactions too
    def test_atomic_requests_do_not_wrap_them(self, client, monkeypatch):
        """Rendering for a while must hold no transaction open."""
        seen: list[Any] = []
        real = transaction.atomic

        def note(*args: Any, **kwargs: Any) -> Any:
            seen.append(args)
            return real(*args, **kwargs)

        monkeypatch.setitem(connection.settings_dict, "ATOMIC_REQUESTS", True)
        monkeypatch.setattr(transaction, "atomic", note)
        assert read_index(client.get("/sitemap.xml").content)
        assert client.get(PAGE).status_code == 200
        assert seen == []
