"""What processes that share work have in common, and what each has of its own."""

from __future__ import annotations

import os
from typing import Any

import pytest
from django.core.cache import caches
from django.core.cache.backends.locmem import LocMemCache
from django.core.files.storage import InMemoryStorage, default_storage, storages

from django_sitemaps_plus.building.pool import share


class ConnectedStorage(InMemoryStorage):
    """Has a connection from the start, as it were."""

    def __init__(self) -> None:
        super().__init__()
        self.opened_by = os.getpid()


class ConnectedCache(LocMemCache):
    """Has a connection between its first use and its end."""

    opened_by: int | None = None

    def owner(self) -> int:
        self.opened_by = self.opened_by or os.getpid()
        return self.opened_by

    def close(self, **kwargs: Any) -> None:
        self.opened_by = None


def owners(_: None = None) -> set[int]:
    """Return whose connections this process uses, as differences to its own id."""
    connected: Any = storages["sitemaps"], default_storage
    opened_by = {storage.opened_by for storage in connected}
    cache: Any = caches["default"]
    return {pid - os.getpid() for pid in (*opened_by, cache.owner())}


@pytest.fixture
def connected(settings: Any) -> None:
    """Have connections open to two storages and a cache."""
    storage = {"BACKEND": f"{__name__}.ConnectedStorage"}
    settings.STORAGES = {
        **settings.STORAGES,
        "default": storage,
        "sitemaps": storage,
    }
    settings.CACHES = {"default": {"BACKEND": f"{__name__}.ConnectedCache"}}
    assert owners() == {0}


def test_each_process_opens_its_own_connections(connected):
    """Two that share one would read each other's answers."""
    assert share(owners, None, None, 3) == [{0}, {0}, {0}]


def test_the_process_that_was_asked_keeps_its_storages(connected):
    """What it has open nobody else uses, so it need not open it again."""
    before = storages["sitemaps"]
    share(owners, None, None, 2)
    assert storages["sitemaps"] is before
