"""What one makes for all who ask: live plans, and pages that need them."""

from __future__ import annotations

import threading
from concurrent import futures
from types import SimpleNamespace

import pytest
from django.core.cache import cache
from django.core.cache.backends import base, locmem

from django_sitemaps_plus import Entry, Source
from django_sitemaps_plus import cache as cached
from django_sitemaps_plus.conf import Site, get_site
from django_sitemaps_plus.models import lease
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.serving import live, single_flight
from django_sitemaps_plus.serving.live import live_plan
from tests.support.shop import ProductSource, limited, make_products

pytestmark = pytest.mark.django_db

INDEX, PAGE = "/sitemap.xml", "/sitemap-products-1.xml"
SITE = Site("default", "https://example.com")
THREADS = 8


def plan_key(section):
    return live._plan_key(section, get_site())


def page_key():
    source = registry.get("products")
    return live._key("page", "products", 1, get_site(), source)


def be_busy(key):
    """Be another process that makes something, and gives no result."""
    cache.set(f"sitemaps_plus:{key}:busy", b"", 30)


def waited_seconds(monkeypatch):
    """Let time pass only while somebody waits; return the seconds, as they come."""
    waited = []
    clock = SimpleNamespace(monotonic=lambda: sum(waited), sleep=waited.append)
    monkeypatch.setattr(single_flight, "time", clock)
    return waited


def test_an_index_waits_once_for_all_its_sections(sections, client, monkeypatch):
    """Others are at work on the plan of each; it lists them all the same."""
    waited = waited_seconds(monkeypatch)
    make_products(20)
    for number in range(6):
        sections.register(f"s-{number}", limited(10))
        be_busy(plan_key(f"s-{number}"))
    response = client.get(INDEX)
    assert sum(waited) == pytest.approx(single_flight.MAX_WAIT, abs=0.1)
    assert response.content.count(b"<sitemap>") == 12


def test_a_page_waits_once_for_itself_and_its_plan(
    sections, client, settings, monkeypatch
):
    """Somebody else is at both."""
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "LIVE_CACHE_SECONDS": 60}
    waited = waited_seconds(monkeypatch)
    make_products(20)
    sections.register("products", limited(10))
    be_busy(plan_key("products"))
    be_busy(page_key())
    assert client.get(PAGE).status_code == 200
    assert sum(waited) == pytest.approx(single_flight.MAX_WAIT, abs=0.1)


def test_who_waits_for_a_plan_stays_at_work_on_its_page(
    sections, client, settings, monkeypatch
):
    """Or a second process would begin to render it."""
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "LIVE_CACHE_SECONDS": 60}
    monkeypatch.setattr(single_flight, "MAX_WAIT", 0.5)
    signs, signs_of_waiting = [], []
    monkeypatch.setattr(single_flight, "extend", lambda key, seconds: signs.append(key))

    class NotedSource(ProductSource):
        limit = 10

        def first_keys(self, *args, **kwargs):
            signs_of_waiting.extend(signs)
            return super().first_keys(*args, **kwargs)

    make_products(20)
    sections.register("products", NotedSource)
    be_busy(plan_key("products"))
    assert client.get(PAGE).status_code == 200
    busy = f"{page_key()}:busy"
    assert set(signs_of_waiting) == {busy}


def test_one_thread_plans_where_the_cache_is_down(sections, settings, monkeypatch):
    """All that ask before it is done take its plan, which is kept nowhere."""
    settings.CACHES = {
        **settings.CACHES,
        "down": {"BACKEND": "tests.support.caches.FailingCache"},
    }
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "CACHE": "down"}
    monkeypatch.setattr(single_flight, "MAX_WAIT", 30.0)
    waiting, all_wait = set(), threading.Event()

    def wait(*args):
        waiting.add(threading.get_ident())
        if len(waiting) == THREADS - 1:
            all_wait.set()
        return futures.wait(*args)

    monkeypatch.setattr(single_flight, "wait", wait)

    class WaitedFor(Source):
        limit = 1
        planned = 0

        def entries(self, origin):
            type(self).planned += 1
            all_wait.wait(10)
            return [Entry(loc=f"{origin}/{letter}/") for letter in "abc"]

    sections.register("letters", WaitedFor)
    with futures.ThreadPoolExecutor(THREADS) as threads:
        asked = [threads.submit(live_plan, "letters", SITE) for _ in range(THREADS)]
    assert [len(found.result().ranges) for found in asked] == [3] * THREADS
    assert WaitedFor.planned == 1


def test_who_plans_for_long_stays_at_work(sections, client, monkeypatch):
    """Each page is a sign of life, so nobody else begins."""
    clock = SimpleNamespace(now=1_000.0)
    for module in (base, locmem, lease):
        ticking = SimpleNamespace(time=lambda: clock.now, monotonic=lambda: clock.now)
        monkeypatch.setattr(module, "time", ticking)
    others = []

    class SlowSource(ProductSource):
        limit = 10

        def first_keys(self, *args, **kwargs):
            for key in super().first_keys(*args, **kwargs):
                clock.now += single_flight.BUSY_SECONDS * 0.6
                busy = f"{plan_key('products')}:busy"
                others.append(cached.first_to(busy, single_flight.BUSY_SECONDS))
                yield key

    make_products(50)
    sections.register("products", SlowSource)
    assert client.get(INDEX).status_code == 200
    assert others == [False] * 5
