"""IndexNow against a server that looks for its key file."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server

import pytest
from django.core.handlers.wsgi import WSGIHandler

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.exceptions import BatchRejected, EngineRefused
from django_sitemaps_plus.notifications import IndexNow
from django_sitemaps_plus.notifications.dispatch import notify_engines
from tests.support.batches import make_batch
from tests.support.servers.engine_rules import MARKER
from tests.support.servers.programs import HOST

from .tellers import KEY, URL, make_indexnow
from .wanted import want


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as it has it
        """Print nothing."""


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """Give a site that serves the files of the test's directory."""
    handler = partial(_Quiet, directory=tmp_path)
    with ThreadingHTTPServer((HOST, 0), handler) as server:
        thread = Thread(target=server.serve_forever, args=[0.01])
        thread.start()
        yield Site("default", f"http://{HOST}:{server.server_port}")
        server.shutdown()
        thread.join()


class _QuietToo(WSGIRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as it has it
        """Print nothing."""


@pytest.fixture
def own_site() -> Iterator[str]:
    """Serve the project of the tests; give its origin."""
    with make_server(HOST, 0, WSGIHandler(), handler_class=_QuietToo) as server:
        thread = Thread(target=server.serve_forever, args=[0.01])
        thread.start()
        yield f"http://{HOST}:{server.server_port}"
        server.shutdown()
        thread.join()


class TestSend:
    def test_ten_thousand_urls_are_one_request(self, engine):
        """And one more is too many."""
        urls = [f"https://shop.example/{number}" for number in range(10_001)]
        make_indexnow(engine).send(make_batch(*urls[:-1]))
        assert len(engine.accepted()) == 10_000
        with pytest.raises(EngineRefused, match="10,000"):
            make_indexnow(engine).send(make_batch(*urls))

    def test_a_bad_url_rejects_its_batch(self, engine):
        """Without it, the rest is accepted."""
        with pytest.raises(BatchRejected):
            make_indexnow(engine).send(make_batch(URL, f"{URL}{MARKER}"))
        make_indexnow(engine).send(make_batch(URL))

    def test_a_url_of_another_host_parks_it(self, engine):
        """The origin in the settings is not that of the URLs."""
        with pytest.raises(EngineRefused, match="BASE_URL"):
            make_indexnow(engine).send(make_batch("https://www.shop.example/"))


class TestKeyFile:
    def send(self, engine: Any, site: Site) -> None:
        """Tell an engine that fetches the key file from the site."""
        engine.state.site_url = site.origin
        make_indexnow(engine).send(make_batch(f"{site.origin}/a", site=site))

    def test_it_is_fetched_back_from_where_the_request_says(
        self, engine, site, tmp_path
    ):
        """Served as it is given, it is what the engine looks for."""
        for name, text in IndexNow(key=KEY).files(site).items():
            (tmp_path / name).write_text(text)
        self.send(engine, site)
        assert engine.accepted() == {f"{site.origin}/a": 1}

    @pytest.mark.django_db
    def test_it_is_fetched_back_from_the_site_itself(self, engine, tell, own_site):
        """The app serves it for the engines of its settings."""
        engine.state.site_url = own_site
        options = {"key": KEY, "endpoint": f"{engine.url}/indexnow"}
        backend = "django_sitemaps_plus.notifications.IndexNow"
        configured = {"BACKEND": backend, "OPTIONS": options}
        tell(indexnow=configured, BASE_URL=own_site)
        want(f"{own_site}/a/")
        assert notify_engines().failures == []
        assert engine.accepted() == {f"{own_site}/a/": 1}

    @pytest.mark.parametrize("text", [None, "", "another-key", f"{KEY}\n", f"<{KEY}>"])
    def test_without_the_right_one_the_engine_is_parked(
        self, engine, site, tmp_path, text
    ):
        """The message says what is wrong, without the key."""
        if text is not None:
            (tmp_path / f"{KEY}.txt").write_text(text)
        with pytest.raises(EngineRefused, match="no key file") as caught:
            self.send(engine, site)
        assert KEY not in str(caught.value)
