"""A page that is rendered on request is kept for a while, computed by one caller."""

import threading
from concurrent import futures
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.cache import cache
from django.core.cache.backends import base, locmem

from django_sitemaps_plus import ModelSource
from django_sitemaps_plus import cache as ours
from django_sitemaps_plus.models import claims
from django_sitemaps_plus.models.claims import keep
from django_sitemaps_plus.planning import bounded_plan
from django_sitemaps_plus.rendering import render_page
from django_sitemaps_plus.section import open_section
from django_sitemaps_plus.serving import live, single_flight
from django_sitemaps_plus.serving.single_flight import SingleFlight, patience
from django_sitemaps_plus.sites import get_site
from tests.support.documents import read_index
from tests.support.shop import limited, make_products
from tests.support.testapp.models import Product

THREADS = 8

PATH = "/sitemap-products-1.xml"


def flight(compute, key="value", seconds=60):
    """Return a text that is computed, and kept if it has less than ten characters."""
    return SingleFlight(key, str, seconds, compute, lambda text: len(text) < 10)


def be_busy(key="value"):
    assert ours.first_to(f"{key}:busy", 30)


def is_free(key="value"):
    return ours.first_to(f"{key}:busy", single_flight.BUSY_SECONDS)


@pytest.fixture
def waited(monkeypatch):
    """Let time pass only while a caller waits; return the seconds, as they come."""
    seconds = []
    clock = SimpleNamespace(monotonic=lambda: sum(seconds), sleep=seconds.append)
    monkeypatch.setattr(single_flight, "time", clock)
    return seconds


class TestKeeping:
    @pytest.mark.parametrize(
        ("value", "seconds", "times"),
        [("x", 60, 1), ("x" * 10, 60, 2), (None, 60, 2), ("x", 0, 2)],
    )
    def test_a_value_is_computed_once_if_it_is_kept(self, value, seconds, times):
        computed = []
        one = flight(lambda: computed.append(1) or value, seconds=seconds)
        assert (one.value(), one.value()) == (value, value)
        assert len(computed) == times

    @pytest.mark.parametrize("garbage", [b"\x80\x04", 0, ["x"], object])
    def test_a_value_of_another_type_counts_as_nothing(self, garbage):
        """Somebody else may write under our keys."""
        ours.remember("value", garbage, 60)
        assert flight(lambda: "mine").value() == "mine"


class TestOtherProcesses:
    def test_a_caller_that_has_waited_computes_it_too(self, waited):
        """It leaves the turn of the other process as it is."""
        be_busy()
        assert flight(lambda: "mine").value() == "mine"
        assert sum(waited) == pytest.approx(single_flight.MAX_WAIT, abs=0.1)
        assert not is_free()

    def test_a_caller_that_waits_takes_what_the_other_keeps(self, waited, monkeypatch):
        be_busy()

        def sleep(seconds):
            waited.append(seconds)
            ours.remember("value", "other", 60)

        monkeypatch.setattr(single_flight.time, "sleep", sleep)
        assert flight(lambda: "mine").value() == "other"
        assert len(waited) == 1

    def test_what_is_kept_before_its_turn_comes_is_taken(self, monkeypatch):
        """It found nothing, and was slow to take its turn."""
        found = iter([None, "other"])
        monkeypatch.setattr(single_flight, "recall", lambda *args: next(found))
        assert flight(lambda: "mine").value() == "other"
        assert is_free()

    @pytest.mark.parametrize("is_nested", [True, False])
    def test_a_request_waits_once_for_all_its_values(self, waited, is_nested):
        be_busy("outer")
        be_busy("inner")
        inner = flight(lambda: "inner", "inner")
        if is_nested:
            assert flight(inner.value, "outer").value() == "inner"
        else:
            with patience():
                assert flight(lambda: "outer", "outer").value() == "outer"
                assert inner.value() == "inner"
        assert sum(waited) == pytest.approx(single_flight.MAX_WAIT, abs=0.1)

    def test_heartbeats_keep_the_turn(self, monkeypatch):
        """However long the work takes; the turn ends with it."""
        clock = SimpleNamespace(now=1_000.0)
        for module in (base, locmem, claims):
            ticks = SimpleNamespace(time=lambda: clock.now, monotonic=lambda: clock.now)
            monkeypatch.setattr(module, "time", ticks)
        others = []

        def compute():
            for _ in range(5):
                clock.now += single_flight.BUSY_SECONDS * 0.6
                claims.heartbeat()
                others.append(is_free())
            return "mine"

        assert flight(compute).value() == "mine"
        assert others == [False] * 5
        assert is_free()

    def test_a_caller_that_waits_keeps_the_turn_of_what_it_computes(
        self, waited, monkeypatch
    ):
        """Or another process would begin to compute it."""
        monkeypatch.setattr(claims, "time", single_flight.time)
        extended = []
        monkeypatch.setattr(
            single_flight, "extend", lambda key, _: extended.append(key)
        )
        be_busy("inner")
        flight(flight(lambda: "x", "inner").value, "outer").value()
        assert set(extended) == {"outer:busy"}


def test_one_thread_computes_where_the_cache_is_down(
    settings, configure, monkeypatch, messages
):
    """The others take its value, which is kept nowhere; the log says why."""
    settings.CACHES = {
        **settings.CACHES,
        "down": {"BACKEND": "tests.support.caches.FailingCache"},
    }
    configure(CACHE="down")
    monkeypatch.setattr(single_flight, "MAX_WAIT", 30.0)
    waiting, all_wait, computed = set(), threading.Event(), []

    def wait(*args):
        waiting.add(threading.get_ident())
        if len(waiting) == THREADS - 1:
            all_wait.set()
        return futures.wait(*args)

    def compute():
        computed.append(1)
        all_wait.wait(10)
        return "mine"

    monkeypatch.setattr(single_flight, "wait", wait)
    with futures.ThreadPoolExecutor(THREADS) as threads:
        asked = [threads.submit(flight(compute).value) for _ in range(THREADS)]
    assert [found.result() for found in asked] == ["mine"] * THREADS
    assert len(computed) == 1
    logged = messages("cache_failed")
    assert "ConnectionError: no cache" in logged[0]
    flight(lambda: "again").value()
    assert messages("cache_failed") == logged  # it is not asked again for a while


@pytest.fixture
def renders(stock: Any, configure: Any) -> list[str]:
    """Have a page that is kept for a minute; give a word for each render of it."""
    configure(LIVE_CACHE_SECONDS=60)
    words: list[str] = []

    def location(self: ModelSource, product: Product) -> str:
        if product.slug == "product-00000":
            words.append("rendered")
        return f"/{product.slug}/"

    stock(9, limit=9, location=location)
    return words


@pytest.mark.parametrize(("more", "expected"), [(1, 1), (0, 2)])
def test_a_page_is_kept_if_its_gzip_is_below_the_limit(
    renders, client, monkeypatch, more, expected
):
    """Not at the limit, and whatever its size before compression is."""
    assert live.MAX_BYTES == 1_000_000  # memcached refuses values over 1 MiB
    gzipped = client.get(f"{PATH}.gz").content
    assert len(client.get(PATH).content) > len(gzipped) + 1
    cache.clear()
    renders.clear()
    monkeypatch.setattr(live, "MAX_BYTES", len(gzipped) + more)
    answers = [client.get(PATH).status_code for _ in range(2)]
    assert (answers, len(renders)) == ([200, 200], expected)


def test_a_page_is_kept_for_live_cache_seconds(renders, client, configure, monkeypatch):
    """A second before its end it is, a second after it is rendered again."""
    configure(LIVE_CACHE_SECONDS=300)
    clock = SimpleNamespace(now=1_000.0)
    for module in (base, locmem):
        monkeypatch.setattr(module, "time", SimpleNamespace(time=lambda: clock.now))
    found = []
    for after in (0, 299, 301):
        clock.now = 1_000.0 + after
        assert client.get(PATH).status_code == 200
        found.append(len(renders))
    assert found == [1, 1, 2]


def test_an_index_waits_once_for_all_its_sections(sections, client, waited):
    """Other processes plan each of them; it lists them all the same."""
    make_products(20)
    for name in ("one", "two", "three"):
        sections.register(name, limited(10))
        be_busy(live._plan_key(open_section(name, get_site())))
    assert client.get("/sitemap.xml").content.count(b"<sitemap>") == 6
    assert sum(waited) == pytest.approx(single_flight.MAX_WAIT, abs=0.1)


def test_planning_and_rendering_send_heartbeats(stock):
    """For each page that is planned, and for each chunk of rows."""
    stock(1500, limit=1000)
    beats: list[str] = []
    with keep(lambda: beats.append("beat"), 0):
        plan = bounded_plan(open_section("products"), 10_000)
        assert plan is not None
        assert len(beats) == len(plan.ranges) == 2
        render_page(open_section("products"), plan.ranges[0])
    assert len(beats) > 3


class TestTestRuns:
    """A test run and a site may share a cache, where their keys are the same."""

    @pytest.fixture(autouse=True)
    def shared(self, settings: Any, configure: Any, stock: Any, tmp_path: Path) -> None:
        """Have a cache that other processes read, too, and pages that are kept."""
        backend = "django.core.cache.backends.filebased.FileBasedCache"
        settings.CACHES = {"default": {"BACKEND": backend, "LOCATION": str(tmp_path)}}
        configure(LIVE_CACHE_SECONDS=60)
        stock(25)

    def kept(self, client: Any, path: Path) -> int:
        """Return how many values are kept of what is served."""
        for url in ("/sitemap.xml", PATH, "/sitemap-products.rss"):
            assert client.get(url).status_code == 200
        return len([*path.glob("*.djcache")])

    @pytest.mark.parametrize("is_tracking", [True, None])
    def test_a_test_run_keeps_nothing_there(
        self, client, configure, tmp_path, is_tracking
    ):
        """Whether or not it records saves; nor does it take what a site has kept."""
        configure(TRACK=is_tracking)
        assert self.kept(client, tmp_path) == 0
        Product.objects.filter(slug__gte="product-00010").delete()
        assert len(read_index(client.get("/sitemap.xml").content)) == 1

    def test_a_site_keeps_plans_and_pages(self, client, monkeypatch, tmp_path):
        monkeypatch.setattr(ours, "is_test_run", bool)
        assert self.kept(client, tmp_path) >= 4
        monkeypatch.undo()
        Product.objects.filter(slug__gte="product-00010").delete()
        assert len(read_index(client.get("/sitemap.xml").content)) == 1

    def test_a_cache_of_the_process_is_used_in_tests_too(self, client, settings):
        backend = "django.core.cache.backends.locmem.LocMemCache"
        settings.CACHES = {"default": {"BACKEND": backend, "LOCATION": "of-this-test"}}
        assert client.get("/sitemap.xml").status_code == 200
        assert cache._cache
