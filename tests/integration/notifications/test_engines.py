"""Engines against servers that check what real ones check, and misbehave."""

from collections.abc import Collection, Iterator
from itertools import chain
from threading import Thread
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server

import pytest
from django.core.handlers.wsgi import WSGIHandler

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.exceptions import (
    BatchRejected,
    ConfigurationError,
    EngineError,
    EngineRefused,
    RetryLater,
)
from django_sitemaps_plus.models import Change, Publication
from django_sitemaps_plus.notifications import IndexNow, Takes
from django_sitemaps_plus.notifications.dispatch import notify_engines
from django_sitemaps_plus.notifications.engines import indexnow
from django_sitemaps_plus.notifications.http import Answer
from django_sitemaps_plus.notifications.outbox import want_urls
from django_sitemaps_plus.testing import RecordingEngine
from tests.support.batches import make_batch
from tests.support.builds import build_and_relay
from tests.support.servers.programs import HOST
from tests.support.servers.service_account import make_service_account
from tests.support.shop import ProductSource, limited, make_products, product_urls
from tests.support.testapp.models import Author

from .engines import (
    FEED,
    KEY,
    MAKERS,
    make_indexnow,
    make_search_console,
    of_ours,
    want,
)


@pytest.fixture(params=MAKERS)
def kind(request: pytest.FixtureRequest) -> Any:
    return request.param


class TestEachEngine:
    def test_what_it_sends_is_accepted_each_time(self, engine, kind):
        make, target = MAKERS[kind]
        teller = make(engine)
        teller.send(make_batch(target))
        assert engine.accepted() == {target: 1}
        teller.send(make_batch(target))
        assert len(engine.heard(kind)) == 2

    @pytest.mark.parametrize(
        ("fault", "error"),
        [
            *[(fault, RetryLater) for fault in ("503", "429", "lost_ack")],
            *[(fault, EngineRefused) for fault in ("403", "302")],
            ("400", BatchRejected),
        ],
    )
    def test_a_fault_is_an_error_that_says_what_to_do(self, engine, kind, fault, error):
        make, target = MAKERS[kind]
        teller = make(engine)
        engine.faults.script(fault)
        with pytest.raises(error) as caught:
            teller.send(make_batch(target))
        assert getattr(caught.value, "after", None) == (1 if fault == "429" else None)
        assert engine.accepted() == ({target: 1} if fault == "lost_ack" else {})
        teller.send(make_batch(target))

    @pytest.mark.parametrize("fault", ["huge", "no_json", "200", "202"])
    def test_a_strange_answer_does_no_harm(self, engine, kind, fault):
        """Of a body, only Baidu's is needed."""
        make, target = MAKERS[kind]
        engine.faults.script(fault)
        try:
            make(engine).send(make_batch(target))
        except EngineError:
            assert kind == "baidu" or fault == "huge"

    def test_a_server_that_is_not_there_is_tried_later(self, engine, kind):
        make, target = MAKERS[kind]
        teller = make(engine)
        engine.close()
        with pytest.raises(RetryLater):
            teller.send(make_batch(target))


def test_another_key_gets_no_token(engine):
    console = make_search_console(engine)
    make_service_account(engine.state, 1)
    with pytest.raises(EngineRefused, match="no access token"):
        console.send(make_batch())


class _Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as it has it
        """Print nothing."""


@pytest.fixture
def own_site() -> Iterator[str]:
    with make_server(HOST, 0, WSGIHandler(), handler_class=_Quiet) as server:
        thread = Thread(target=server.serve_forever, args=[0.01])
        thread.start()
        yield f"http://{HOST}:{server.server_port}"
        server.shutdown()
        thread.join()


def test_ten_thousand_urls_are_one_request(engine):
    urls = [f"https://shop.example/{number}" for number in range(10_000)]
    make_indexnow(engine).send(make_batch(*urls))
    assert len(engine.accepted()) == 10_000


def test_a_url_of_another_host_parks_indexnow(engine):
    with pytest.raises(EngineRefused, match="BASE_URL"):
        make_indexnow(engine).send(make_batch("https://www.shop.example/"))


class TestKeyFile:
    def test_it_is_looked_for_where_the_language_is(self, configure, monkeypatch):
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
        indexnow = of_ours("IndexNow", key=KEY, endpoint=f"{engine.url}/indexnow")
        tell(indexnow=indexnow, BASE_URL=own_site)
        want(f"{own_site}/a/")
        assert notify_engines().failures == []
        assert engine.accepted() == {f"{own_site}/a/": 1}
        # The project of the tests has no file of this key once it tells nobody.
        tell(BASE_URL=own_site)
        batch = make_batch(f"{own_site}/a", site=Site("default", own_site))
        with pytest.raises(EngineRefused, match="no key file") as caught:
            make_indexnow(engine).send(batch)
        assert KEY not in str(caught.value)


NOTHING = {"BACKEND": "django_sitemaps_plus.testing.Nothing"}


@pytest.mark.django_db(transaction=True)
def test_an_engine_that_cannot_be_made_stops_no_build(
    recording, publish, settings, crawl
):
    products = make_products(30)
    publish(limited(10))
    products[3].slug = "renamed"
    products[3].save()
    right = settings.SITEMAPS_PLUS
    wrong = {"recording": NOTHING}
    settings.SITEMAPS_PLUS = {**right, "ENGINES": wrong}
    build_and_relay()
    assert "https://example.com/products/renamed/" in chain(*crawl().values())
    settings.SITEMAPS_PLUS = right
    notify_engines()
    assert "https://example.com/products/renamed/" in recording.told()


class KeyedEngine(RecordingEngine):
    def __init__(self, key: str) -> None:
        if not key:
            raise ConfigurationError("no key")


class KeyedHub(KeyedEngine):
    takes = Takes.FEEDS
    follows_content = True

    def feeds(self, site: Site, indexes: Collection[str]) -> Collection[str]:
        return [FEED]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("kind", "expected"), [(KeyedEngine, product_urls([3])), (KeyedHub, [FEED])]
)
def test_one_without_its_key_hears_later_what_others_hear_at_once(
    recording, publish, settings, configure, kind, expected
):
    kind.clear()
    products = make_products(30)
    backend = f"{kind.__module__}.{kind.__qualname__}"

    def give(key):
        keyed = {"BACKEND": backend, "OPTIONS": {"key": key}}
        configure(ENGINES={**settings.SITEMAPS_PLUS["ENGINES"], "keyed": keyed})

    give("a key")
    publish(limited(10))
    notify_engines()
    first = len(kind.told())
    give("")
    products[3].delete()
    build_and_relay()
    assert "no key" in str(notify_engines().failures)
    assert recording.told() == product_urls([3])
    assert len(kind.told()) == first
    give("a key")
    notify_engines()
    assert kind.told()[first:] == expected
    kind.clear()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("names", [[], ["recording"]])
def test_an_engine_that_cannot_be_made_keeps_back_no_other(
    recording, settings, configure, names
):
    """What waits for the others is told; the fault is reported where it was asked."""
    want_urls(["https://example.com/a/"])
    configure(ENGINES={**settings.SITEMAPS_PLUS["ENGINES"], "broken": NOTHING})
    report = notify_engines(names)
    assert recording.told() == ["https://example.com/a/"]
    assert ["broken" in failure for failure in report.failures] == [True] * (not names)
    with pytest.raises(ConfigurationError, match=r"'broken'.*Nothing"):
        notify_engines(["broken"])


class BrokenSource(ProductSource):
    model = Author
    lastmod = None
    is_broken = True

    def get_queryset(self):
        if self.is_broken:
            raise ValueError("no rows today")
        return super().get_queryset()

    def location(self, author: Author) -> str:
        return f"/authors/{author.pk}/"


@pytest.fixture
def products(sections, recording):
    made = make_products(3)
    sections.register("authors", BrokenSource)
    sections.register("products", ProductSource)
    return made


@pytest.mark.django_db(transaction=True)
def test_saves_of_the_others_are_told(products, recording, monkeypatch, caplog):
    author = Author.objects.create(name="one")
    products[1].save()
    assert Change.objects.count() == 2
    notify_engines()
    assert recording.told() == product_urls([1])
    assert "no rows today" in caplog.text
    monkeypatch.setattr(BrokenSource, "is_broken", False)
    notify_engines()
    assert f"https://example.com/authors/{author.pk}/" in recording.told()
    assert not Change.objects.exists()
    assert not Publication.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_source_that_breaks_when_it_is_told(products, recording, monkeypatch, caplog):
    monkeypatch.setattr(BrokenSource, "is_broken", False)
    monkeypatch.setattr(BrokenSource, "location", lambda self, author: 1 / 0)
    monkeypatch.setattr(BrokenSource, "on_error", "raise", raising=False)
    Author.objects.create(name="one")
    products[1].save()
    notify_engines()
    assert recording.told() == product_urls([1])
    assert "wait for the next run" in caplog.text
    assert Publication.objects.count() == 1
