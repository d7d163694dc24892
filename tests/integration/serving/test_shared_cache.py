"""A test run and a site may share a cache, where their keys are the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache

from django_sitemaps_plus import cache as asked
from tests.support.documents import read_index
from tests.support.shop import limited, make_products
from tests.support.testapp.models import Product

PATHS = ("/sitemap.xml", "/sitemap-products-1.xml", "/sitemap-products.rss")


@pytest.fixture(autouse=True)
def shared(settings: Any, configure: Any, sections: Any, tmp_path: Path) -> None:
    """Have a cache that other processes read, too, and pages that are kept."""
    backend = "django.core.cache.backends.filebased.FileBasedCache"
    settings.CACHES = {"default": {"BACKEND": backend, "LOCATION": str(tmp_path)}}
    configure(LIVE_CACHE_SECONDS=60)
    make_products(25)
    sections.register("products", limited(10))


def kept(client: Any, path: Path) -> int:
    """Return how many values are kept of what is served."""
    for url in PATHS:
        assert client.get(url).status_code == 200
    return len([*path.glob("*.djcache")])


@pytest.mark.parametrize("is_tracking", [True, None])
def test_a_test_run_keeps_nothing_there(client, configure, tmp_path, is_tracking):
    """Whether or not it records saves; nor does it take what a site has kept."""
    configure(TRACK=is_tracking)
    assert kept(client, tmp_path) == 0
    Product.objects.filter(slug__gte="product-00010").delete()
    assert len(read_index(client.get("/sitemap.xml").content)) == 1


def test_a_site_keeps_plans_and_pages(client, monkeypatch, tmp_path):
    monkeypatch.setattr(asked, "is_test_run", bool)
    assert kept(client, tmp_path) >= 4
    monkeypatch.undo()
    Product.objects.filter(slug__gte="product-00010").delete()
    assert len(read_index(client.get("/sitemap.xml").content)) == 1


def test_a_cache_of_the_process_is_used_in_tests_too(client, settings):
    backend = "django.core.cache.backends.locmem.LocMemCache"
    settings.CACHES = {"default": {"BACKEND": backend, "LOCATION": "of-this-test"}}
    assert client.get("/sitemap.xml").status_code == 200
    assert cache._cache
