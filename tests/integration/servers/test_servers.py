"""Servers of other tests: what they refuse, and the faults that they play."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
import redis
from django.core.files.base import ContentFile
from django.core.files.storage import storages
from redis.backoff import NoBackoff
from redis.retry import Retry

from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.checks import check_settings
from django_sitemaps_plus.models import Page
from django_sitemaps_plus.notifications.http import request
from django_sitemaps_plus.publishing.prune import prune
from django_sitemaps_plus.publishing.tree import public_tree
from django_sitemaps_plus.sites import get_site
from tests.integration.building.overtaking import rename
from tests.integration.building.worker_sources import SharedSource
from tests.integration.diagnostics.time import DAYS
from tests.support.builds import build_fully
from tests.support.published import files, page_row
from tests.support.servers.commands import run_build

URL = "https://shop.example/a"
SAID = {"host": "shop.example", "key": "0123456789", "urlList": [URL]}


@pytest.mark.parametrize(
    ("change", "refused"),
    [
        ({}, 200),
        ({"keyLocation": "https://shop.example/0123456789.txt"}, 200),
        ({"keyLocation": "https://other.example/0123456789.txt"}, 422),
        ({"keyLocation": "https://shop.example/b/0123456789.txt"}, 422),
        *(({"key": "short"}, 422), ({"key": None}, 400), ({"extra": 1}, 400)),
        *(({"host": "other.example"}, 422), ({"urlList": []}, 400)),
        *(({"urlList": URL}, 400), ({"urlList": [URL, URL]}, 400)),
        *(({"urlList": [URL, 5]}, 400), ({"urlList": ["/a"]}, 422)),
        ({"urlList": ["https://shop.example/\u00e9"]}, 422),
        ({"urlList": [f"{URL}/{n}" for n in range(10_001)]}, 422),
    ],
)
def test_what_real_ones_refuse_is_refused(engine, change, refused):
    """The size of a batch, duplicates, the host, and every field."""
    said = request("POST", f"{engine.url}/indexnow", json={**SAID, **change})
    assert said.status == refused


def test_another_content_type_or_method_is_refused(engine):
    url = f"{engine.url}/indexnow"
    assert request("POST", url, text=json.dumps(SAID)).status == 400
    assert request("GET", url).status == 405


def ask(port: int, value: str = "v", timeout: float = 0.25) -> Any:
    with redis.Redis(
        port=port,
        socket_timeout=timeout,
        socket_connect_timeout=timeout,
        retry=Retry(NoBackoff(), 0),
        decode_responses=True,
    ) as client:
        client.set("key", value)
        return client.get("key")


class TestValkey:
    def test_killed_it_comes_back_empty_at_the_same_address(self, valkey):
        """As a broker without persistence does."""
        assert ask(valkey.port) == "v"
        valkey.kill()
        with pytest.raises(redis.ConnectionError):
            ask(valkey.port)
        valkey.restart()
        with redis.Redis.from_url(valkey.url) as client:
            assert client.get("key") is None

    def test_frozen_it_answers_nobody_until_thawed(self, valkey):
        """Connections are taken by the system all the same."""
        valkey.freeze()
        with pytest.raises(redis.TimeoutError):
            ask(valkey.port)
        valkey.thaw()
        assert ask(valkey.port, timeout=5) == "v"


class TestChaosProxy:
    def test_a_black_hole_takes_and_never_answers(self, chaos):
        assert ask(chaos.port, "v" * 1_000_000, timeout=5) == "v" * 1_000_000
        chaos.black_hole()
        with pytest.raises(redis.TimeoutError):
            ask(chaos.port)
        chaos.heal()
        assert ask(chaos.port, timeout=5) == "v"

    @pytest.mark.parametrize(
        ("how", "cause"), [("reset", "reset by peer"), ("refuse", "refused")]
    )
    def test_breaks_connections(self, chaos, how, cause):
        """New ones at once, and those that were open, until it heals."""
        with redis.Redis(
            port=chaos.port, socket_timeout=5, retry=Retry(NoBackoff(), 0)
        ) as client:
            client.ping()
            getattr(chaos, how)()
            with pytest.raises(redis.ConnectionError):
                client.ping()
        with pytest.raises(redis.ConnectionError, match=cause):
            ask(chaos.port)
        chaos.heal()
        assert ask(chaos.port, timeout=5) == "v"


PAGE = "/sitemap-products-1.xml"


@pytest.fixture(
    params=[
        ("moto", {}),
        ("seaweedfs", {"location": "of/the-shop", "file_overwrite": False}),
    ],
    ids=["moto", "seaweedfs-location"],
)
def storage(
    request: pytest.FixtureRequest, settings: Any, configure: Any
) -> Iterator[Any]:
    """Give a storage in each server, with options in turn; sitemaps are in it."""
    server, options = request.param
    entry = request.getfixturevalue(server).storage(**options)
    settings.STORAGES = {**settings.STORAGES, "sitemaps": entry}
    configure(STORAGE="sitemaps")
    found: Any = storages["sitemaps"]
    yield found
    found.connection.meta.client.close()


@pytest.fixture
def products(storage: Any, shop: Any) -> None:
    shop()


def stored(storage: Any) -> set[str]:
    found = storage.bucket.objects.filter(Prefix=storage.location)
    return {entry.key.removeprefix(storage.location).lstrip("/") for entry in found}


def pointed() -> set[str]:
    return set(Page.objects.exclude(object="").values_list("object", flat=True))


def all_urls(found: dict[str, list[str]]) -> list[str]:
    return [url for urls in found.values() for url in urls]


@pytest.mark.django_db(transaction=True)
def test_built_edited_and_pruned(products, storage, crawl, monkeypatch):
    """Old objects go, what else is in the bucket stays, and no file is written here."""
    assert stored(storage) == pointed()
    assert files() == {}
    assert public_tree() is None
    storage.save("products/1/notes.txt", ContentFile(b"mine"))
    rename("a")
    build_fully()
    assert "https://example.com/products/product-00000-a/" in all_urls(crawl())
    assert prune(get_site()).waiting == 4
    real = storage.get_modified_time
    monkeypatch.setattr(storage, "get_modified_time", lambda name: real(name) - DAYS)
    assert prune(get_site()).objects == 4
    assert stored(storage) == {*pointed(), "products/1/notes.txt"}
    assert len(all_urls(crawl())) == 25


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("storage", [("seaweedfs", {})], indirect=True, ids=["real"])
def test_processes_that_share_the_work(storage, stock, crawl):
    """Each has a connection of its own, and is given the pages of the others."""
    stock(30, limit=1)
    done = run_build(SharedSource, "--workers", "3")
    assert done.returncode == 0, done.stderr
    assert len(all_urls(crawl())) == 30


@pytest.mark.django_db(transaction=True)
def test_what_is_lost_is_rendered_and_stored_again(products, storage, client):
    """Views never fail for it, and the next refresh repairs it."""
    content = client.get(PAGE).content
    for is_gone in (True, False):
        name = page_row("products", 1).object
        storage.delete(name)
        if not is_gone:
            key = f"{storage.location}/{name}".lstrip("/")
            storage.bucket.Object(key).put(Body=b"x")
        answer = client.get(PAGE)
        assert (answer.status_code, answer.content) == (200, content)
        build()
        assert page_row("products", 1).object != name
        assert page_row("products", 1).object in stored(storage)
        assert client.get(PAGE).content == content


@pytest.mark.django_db(transaction=True)
def test_a_storage_that_compresses_is_refused(moto, settings, configure):
    entry = moto.storage(gzip=True)
    settings.STORAGES = {**settings.STORAGES, "sitemaps": entry}
    configure(STORAGE="sitemaps")
    assert "sitemaps_plus.E009" in [m.id for m in check_settings()]
    entry["OPTIONS"]["gzip"] = False
    settings.STORAGES = {**settings.STORAGES, "sitemaps": entry}
    assert "sitemaps_plus.E009" not in [m.id for m in check_settings()]
