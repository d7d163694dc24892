"""Storages of other kinds: those that rename, and the file system of Windows."""

from __future__ import annotations

import os
import secrets
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import InMemoryStorage

from django_sitemaps_plus.conf import get_site
from django_sitemaps_plus.maintenance.prune import prune
from django_sitemaps_plus.storage import AtomicFileSystemStorage, filesystem
from tests.integration.building.overtaking import rename
from tests.integration.maintenance.time import DAYS
from tests.support.builds import build_fully
from tests.support.published import files, page_row
from tests.support.shop import limited, make_products


class Renaming(InMemoryStorage):
    """Never stores anything under the name that it was given."""

    def get_available_name(self, name: str, max_length: int | None = None) -> str:
        """Return another name each time."""
        return name.replace(".xml.gz", f"_{secrets.token_hex(4)}.xml.gz")


@pytest.mark.django_db(transaction=True)
def test_a_storage_that_cannot_replace_is_served_by_the_view(
    sections, settings, crawl, monkeypatch
):
    """By the names that it gave; built, edited and pruned as any other."""
    backend = f"{Renaming.__module__}.Renaming"
    settings.STORAGES = {**settings.STORAGES, "sitemaps": {"BACKEND": backend}}
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "STORAGE": "sitemaps"}
    make_products(25)
    sections.register("products", limited(10))
    build_fully()
    first = page_row("products", 1).object
    assert "_" in first
    rename("a")
    build_fully()
    assert sum(map(len, crawl().values())) == 25
    assert prune(get_site()).waiting == 4
    real = Renaming.get_modified_time

    def long_ago(self: Renaming, name: str) -> Any:
        return real(self, name) - DAYS

    monkeypatch.setattr(Renaming, "get_modified_time", long_ago)
    assert prune(get_site()).objects == 4
    assert sum(map(len, crawl().values())) == 25
    assert files() == {}


def test_windows_flushes_no_directories(tmp_path, monkeypatch):
    """It cannot open them."""
    opened: list[Any] = []

    def open_file(path: Any, *args: Any) -> int:
        opened.append(path)
        return os.open(path, *args)

    # Only the storage gets the ``os`` of Windows: pathlib could make no path of it.
    names = {name: getattr(os, name) for name in dir(os)}
    windows = SimpleNamespace(**{**names, "name": "nt", "open": open_file})
    monkeypatch.setattr(filesystem, "os", windows)
    AtomicFileSystemStorage(location=tmp_path).save("a/x.xml", ContentFile(b"new"))
    assert (tmp_path / "a" / "x.xml").read_bytes() == b"new"
    assert not [path for path in opened if path.is_dir()]
