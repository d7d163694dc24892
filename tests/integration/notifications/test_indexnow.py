"""IndexNow against a server that looks for its key file."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Thread
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server

import pytest
from django.core.handlers.wsgi import WSGIHandler

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.exceptions import BatchRejected, EngineRefused
from django_sitemaps_plus.notifications import IndexNow
from django_sitemaps_plus.notifications.dispatch import notify_engines
from django_sitemaps_plus.notifications.engines import indexnow
from django_sitemaps_plus.notifications.http import Answer
from tests.support.batches import make_batch
from tests.support.servers.engine_rules import MARKER
from tests.support.servers.programs import HOST

from .engines import want
from .tellers import KEY, URL, make_indexnow


class _Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as it has it
        """Print nothing."""


@pytest.fixture
def own_site() -> Iterator[str]:
    """Serve the project of the tests; give its origin."""
    with make_server(HOST, 0, WSGIHandler(), handler_class=_Quiet) as server:
        thread = Thread(target=server.serve_forever, args=[0.01])
        thread.start()
        yield f"http://{HOST}:{server.server_port}"
        server.shutdown()
        thread.join()


class TestSend:
    def test_ten_thousand_urls_are_one_request(self, engine):
        urls = [f"https://shop.example/{number}" for number in range(10_001)]
        make_indexnow(engine).send(make_batch(*urls[:-1]))
        assert len(engine.accepted()) == 10_000
        with pytest.raises(EngineRefused, match="10,000"):
            make_indexnow(engine).send(make_batch(*urls))

    def test_a_bad_url_rejects_its_batch(self, engine):
        with pytest.raises(BatchRejected):
            make_indexnow(engine).send(make_batch(URL, f"{URL}{MARKER}"))
        make_indexnow(engine).send(make_batch(URL))

    def test_a_url_of_another_host_parks_it(self, engine):
        """The origin in the settings is not that of the URLs."""
        with pytest.raises(EngineRefused, match="BASE_URL"):
            make_indexnow(engine).send(make_batch("https://www.shop.example/"))


class TestKeyFile:
    def test_it_is_looked_for_where_the_language_is(self, configure, monkeypatch):
        """An engine accepts a key for the host that has its file."""
        sent = []
        answer = Answer(status=200)
        monkeypatch.setattr(
            indexnow, "request", lambda *args, json: sent.append(json) or answer
        )
        configure(LANGUAGE_ORIGINS={"de": "https://shop.example.de/app"})
        engine = IndexNow(key=KEY)
        for url in ("https://shop.example.de/app/a/", "https://shop.example/a/"):
            engine.send(make_batch(url))
        assert [it["keyLocation"].reveal() for it in sent] == [
            f"https://shop.example.de/app/{KEY}.txt",
            f"https://shop.example/{KEY}.txt",
        ]

    def test_it_is_fetched_back_from_the_site_itself(self, engine, tell, own_site):
        engine.state.site_url = own_site
        options = {"key": KEY, "endpoint": f"{engine.url}/indexnow"}
        backend = "django_sitemaps_plus.notifications.IndexNow"
        configured = {"BACKEND": backend, "OPTIONS": options}
        tell(indexnow=configured, BASE_URL=own_site)
        want(f"{own_site}/a/")
        assert notify_engines().failures == []
        assert engine.accepted() == {f"{own_site}/a/": 1}

    def test_without_it_the_engine_is_parked(self, engine, own_site):
        """The message says what is wrong, without the key."""
        engine.state.site_url = own_site
        batch = make_batch(f"{own_site}/a", site=Site("default", own_site))
        with pytest.raises(EngineRefused, match="no key file") as caught:
            make_indexnow(engine).send(batch)
        assert KEY not in str(caught.value)
