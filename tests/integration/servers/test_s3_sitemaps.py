"""Sitemaps in S3: built, crawled, edited, repaired and pruned."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import storages
from django.db.models import Value
from django.db.models.functions import Concat

from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.checks import check_settings
from django_sitemaps_plus.conf import get_site
from django_sitemaps_plus.models import Page
from django_sitemaps_plus.publishing.prune import prune
from django_sitemaps_plus.publishing.tree import public_tree
from tests.integration.building.overtaking import rename
from tests.integration.building.worker_sources import SharedSource
from tests.integration.diagnostics.time import DAYS
from tests.support.builds import build_fully
from tests.support.published import files, page_row
from tests.support.servers.commands import run_build
from tests.support.shop import limited, make_products
from tests.support.testapp.models import Product

pytestmark = pytest.mark.django_db(transaction=True)

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


@pytest.mark.parametrize("storage", [("seaweedfs", {})], indirect=True, ids=["real"])
def test_processes_that_share_the_work(storage, sections, crawl):
    """Each has a connection of its own, and is given the pages of the others."""
    make_products(30)
    sections.register("products", limited(1))
    for _ in range(3):
        Product.objects.update(slug=Concat("slug", Value("-x")))
        done = run_build(SharedSource, "--workers", "3", "--full")
        assert done.returncode == 0, done.stderr
    locations = all_urls(crawl())
    assert len([url for url in locations if url.endswith("-x-x-x/")]) == 30


@pytest.mark.parametrize("damage", ["gone", "changed"])
def test_what_is_lost_is_rendered_and_stored_again(products, storage, client, damage):
    """Views never fail for it, and the next refresh repairs it."""
    name = page_row("products", 1).object
    content = client.get(PAGE).content
    storage.delete(name)
    if damage == "changed":
        storage.bucket.Object(f"{storage.location}/{name}".lstrip("/")).put(Body=b"x")
    answer = client.get(PAGE)
    assert (answer.status_code, answer.content) == (200, content)
    build()
    assert page_row("products", 1).object != name
    assert page_row("products", 1).object in stored(storage)
    assert client.get(PAGE).content == content


def test_a_storage_that_compresses_is_refused(moto, settings, configure):
    entry = moto.storage(gzip=True)
    settings.STORAGES = {**settings.STORAGES, "sitemaps": entry}
    configure(STORAGE="sitemaps")
    assert "sitemaps_plus.E009" in [m.id for m in check_settings()]
    entry["OPTIONS"]["gzip"] = False
    settings.STORAGES = {**settings.STORAGES, "sitemaps": entry}
    assert "sitemaps_plus.E009" not in [m.id for m in check_settings()]
