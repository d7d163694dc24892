"""T16 behind nginx, as the how-to configures it."""

import gzip
import threading
from collections.abc import Iterator
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server

import pytest
from django.core.handlers.wsgi import WSGIHandler

from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.models import Page
from django_sitemaps_plus.publishing.sync import repair
from tests.support.servers.nginx import start_nginx
from tests.support.servers.programs import HOST
from tests.support.web import WebClient

from .test_conditional import ENCODINGS, PATHS, Server, play
from .tools.how_to import how_to_server
from .tools.http_cache import HttpCache
from .tools.shop import IS_SOAK, publish, rename

pytestmark = pytest.mark.django_db(transaction=True)

HISTORIES = 100 if IS_SOAK else 3
STEPS = 30

PAGE = "/sitemap-products-1.xml"


@pytest.fixture
def public(media_root: Any) -> Any:
    return media_root / "sitemaps" / "public"


@pytest.fixture
def published(sections: Any) -> None:
    publish(15)


class _Quiet(WSGIRequestHandler):
    def log_message(self, *args: Any) -> None:
        """Say nothing of each request."""


@pytest.fixture
def web(published: None, public: Any) -> Iterator[WebClient]:
    """Give a client of nginx with Django behind it."""
    application = WSGIHandler()
    with make_server(HOST, 0, application, handler_class=_Quiet) as django:
        thread = threading.Thread(target=django.serve_forever)
        thread.start()
        upstream = f"http://{HOST}:{django.server_port}"
        try:
            with start_nginx(
                public, upstream=upstream, server=how_to_server()
            ) as nginx:
                yield WebClient(nginx.url)
        finally:
            django.shutdown()
            thread.join()


@pytest.fixture
def alone(published: None, public: Any) -> Iterator[WebClient]:
    """Give a client of nginx while Django is down."""
    with start_nginx(public, server=how_to_server()) as nginx:
        yield WebClient(nginx.url)


def plain(path: Any) -> bytes:
    return gzip.decompress(path.read_bytes())


class TestHowTo:
    @pytest.mark.parametrize("path", ["/sitemap.xml", PAGE])
    @pytest.mark.parametrize("accepts", [True, False])
    def test_files_are_sent_without_django(self, alone, public, path, accepts):
        """Compressed or not."""
        headers = {"Accept-Encoding": "gzip"} if accepts else {}
        answer = alone.get(path, headers)
        assert answer.status_code == 200
        assert answer["Content-Type"] == "application/xml"
        assert answer["Vary"] == "Accept-Encoding"
        assert answer["X-Robots-Tag"] == "noindex"
        assert answer["Cache-Control"] == "public, max-age=600"
        assert answer.get("Content-Encoding") == ("gzip" if accepts else None)
        file = public / f"{path[1:]}.gz"
        assert answer.content == (file.read_bytes() if accepts else plain(file))

    def test_the_file_itself(self, alone, public):
        """Of its own type, and not encoded once more."""
        answer = alone.get(f"{PAGE}.gz", {"Accept-Encoding": "gzip"})
        assert answer["Content-Type"] == "application/gzip"
        assert answer.get("Content-Encoding") is None
        assert answer.content == (public / f"{PAGE[1:]}.gz").read_bytes()

    def test_time_is_that_of_the_view(self, web, client):
        """As soon as the view says one."""
        Page.objects.update(published_at="2026-01-01T12:00:00Z")
        repair()
        expected = "Thu, 01 Jan 2026 12:00:00 GMT"
        assert client.get(PAGE)["Last-Modified"] == expected
        assert web.get(PAGE)["Last-Modified"] == expected

    def test_what_has_no_file_is_asked_of_django(self, web, public, client):
        """Its answer is passed on, whatever it is."""
        (public / f"{PAGE[1:]}.gz").unlink()
        answer = web.get(PAGE)
        assert (answer.status_code, answer.content) == (200, client.get(PAGE).content)
        assert answer.headers.get_all("Vary") == ["Accept-Encoding"]
        Page.objects.filter(number=2).delete()
        (public / "sitemap-products-2.xml.gz").unlink()
        assert web.get("/sitemap-products-2.xml").status_code == 410
        assert web.get("/sitemap-others-1.xml").status_code == 404
        assert web.get("/about/").content == b"ok"

    def test_not_modified_until_it_is(self, web):
        """Edits within a second are told apart, by ETag and by date."""
        for number in range(5):
            old = web.get(PAGE)
            tag = {"If-None-Match": old["ETag"]}
            date = {"If-Modified-Since": old["Last-Modified"]}
            for conditions in (tag, date):
                assert web.get(PAGE, conditions).status_code == 304
            rename([0], f"edit{number}")
            build()
            for conditions in (tag, date):
                assert web.get(PAGE, conditions).status_code == 200


def test_the_client_has_the_bytes_of_the_server(web, public, monkeypatch, figures):
    """After every answer, whatever it keeps and asks, edited in between or not."""

    def turn(cache: HttpCache, server: Server) -> str:
        chance = server.chance
        if chance.random() < 0.4:
            server.change()
        server.publish()
        path, encoding = chance.choice(PATHS), chance.choice(ENCODINGS)
        if chance.random() < 0.1:
            cache.head(path, encoding)
            return ""
        got, file = cache.get(path, encoding), public / f"{path[1:]}.gz"
        is_right = got == (plain(file) if file.exists() else None)
        return "" if is_right else f"GET {path} ({encoding!r})"

    played = play(web, turn, HISTORIES, STEPS, monkeypatch)
    figures("conditional requests to nginx", **vars(played))
    assert played.not_modified > HISTORIES * STEPS // 20
