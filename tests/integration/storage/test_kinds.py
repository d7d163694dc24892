"""Storages of other kinds: those that rename, and the file system of Windows."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
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
from tests.support.builds import build
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
    build()
    first = page_row("products", 1).object
    assert "_" in first
    rename("a")
    build()
    assert sum(map(len, crawl().values())) == 25
    assert prune(get_site()).waiting == 4
    real = Renaming.get_modified_time

    def long_ago(self: Renaming, name: str) -> Any:
        return real(self, name) - DAYS

    monkeypatch.setattr(Renaming, "get_modified_time", long_ago)
    assert prune(get_site()).objects == 4
    assert sum(map(len, crawl().values())) == 25
    assert files() == {}


class TestWindows:
    """What Windows does otherwise, as far as it can be simulated here."""

    @pytest.fixture
    def windows(self, monkeypatch) -> SimpleNamespace:
        """Give the storage the ``os`` of Windows, and ``time`` that notes each wait.

        Nobody else gets them: pathlib could make no path of Windows here.
        """
        names = {name: getattr(os, name) for name in dir(os) if name != "fchmod"}
        windows = SimpleNamespace(**{**names, "name": "nt"}, waits=[])
        monkeypatch.setattr(filesystem, "os", windows)
        time = SimpleNamespace(sleep=windows.waits.append)
        monkeypatch.setattr(filesystem, "time", time)
        return windows

    def test_a_name_that_somebody_reads_is_tried_again(self, tmp_path, windows):
        """Windows replaces no file that is open."""
        windows.replace = refusing(3)
        storage = AtomicFileSystemStorage(location=tmp_path, allow_overwrite=True)
        storage.save("x.xml", ContentFile(b"new"))
        assert (tmp_path / "x.xml").read_bytes() == b"new"
        assert windows.waits == [0.01, 0.05, 0.25]

    def test_at_last_it_is_an_error(self, tmp_path, windows):
        """And no temporary file is left."""
        windows.replace = refusing(5)
        with pytest.raises(PermissionError):
            AtomicFileSystemStorage(tmp_path).save("x.xml", ContentFile(b"new"))
        assert list(tmp_path.iterdir()) == []
        assert windows.waits == [0.01, 0.05, 0.25, 1.0]

    def test_elsewhere_it_is_an_error_at_once(self, tmp_path, windows):
        """What is refused there is not permitted later either."""
        windows.name = "posix"
        windows.replace = refusing(1)
        with pytest.raises(PermissionError):
            AtomicFileSystemStorage(tmp_path).save("x.xml", ContentFile(b"new"))
        assert windows.waits == []

    def test_directories_are_not_flushed(self, tmp_path, windows):
        """Windows cannot open them."""
        opened: list[Any] = []

        def open_file(path: Any, *args: Any) -> int:
            opened.append(path)
            return os.open(path, *args)

        windows.open = open_file
        storage = AtomicFileSystemStorage(location=tmp_path)
        storage.save("a/x.xml", ContentFile(b"new"))
        assert (tmp_path / "a" / "x.xml").read_bytes() == b"new"
        assert not [path for path in opened if path.is_dir()]


def refusing(count: int) -> Callable[[Any, Any], None]:
    """Return an ``os.replace`` that refuses some times, as where a file is open."""
    refusals = iter([PermissionError(13, "Access is denied")] * count)

    def replace(source: Any, target: Any) -> None:
        for refusal in refusals:
            raise refusal
        os.replace(source, target)

    return replace
