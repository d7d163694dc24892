"""Faults of what views depend on, each for the time of a ``with`` block."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from django.conf import settings
from django.core.cache.backends.locmem import LocMemCache
from django.core.cache.backends.redis import RedisSerializer
from django.db import connection
from django.test import override_settings

from django_sitemaps_plus import cache
from django_sitemaps_plus.storage import AtomicFileSystemStorage
from tests.support.servers.chaos import ChaosProxy
from tests.support.servers.programs import HOST
from tests.support.servers.valkey import Valkey

CELERY = "django_sitemaps_plus.tasks.CeleryExecutor"

Fault = Callable[[Valkey, ChaosProxy], AbstractContextManager[Any]]


class GarbageCache(LocMemCache):
    """Somebody else writes under our keys; what it says of an add makes no sense."""

    garbage = ("x", b"", b"\x00" * 99, 7, object(), ["page"], {"a": 1}, b"f" * 200)
    asked = 0

    def _any(self, *args: Any, **kwargs: Any) -> Any:
        type(self).asked += 1
        return self.garbage[self.asked % len(self.garbage)]

    get = set = add = touch = delete = _any


@contextmanager
def use_cache(backend: str, **options: Any) -> Iterator[None]:
    """Let the default cache be another, and be asked as of a site: no test run is."""
    with (
        override_settings(CACHES={"default": {"BACKEND": backend, **options}}),
        mock.patch.object(cache, "is_test_run", bool),
    ):
        yield


def redis_cache(port: int, seconds: float | None = 0.25) -> AbstractContextManager[Any]:
    """Use a server as the cache, with the time limit that the docs recommend."""
    names = ("socket_timeout", "socket_connect_timeout") if seconds else ()
    return use_cache(
        "django.core.cache.backends.redis.RedisCache",
        LOCATION=f"redis://{HOST}:{port}/1",
        OPTIONS=dict.fromkeys(names, seconds),
    )


@contextmanager
def truncated_pickles(valkey: Valkey) -> Iterator[None]:
    """Half of what is put into the cache is kept."""
    real = RedisSerializer.dumps

    def dumps(self: RedisSerializer, value: Any) -> Any:
        found = real(self, value)
        return found[: len(found) // 2] if isinstance(found, bytes) else found

    with (
        redis_cache(valkey.port),
        mock.patch.object(RedisSerializer, "dumps", dumps),
    ):
        yield


@contextmanager
def black_hole_cache(chaos: ChaosProxy) -> Iterator[None]:
    """The cache takes what it is asked, and never answers."""
    with redis_cache(chaos.port):
        chaos.black_hole()
        try:
            yield
        finally:
            chaos.heal()


@contextmanager
def failing_storage() -> Iterator[None]:
    """The storage answers 500, in words of its own client."""

    class ClientError(Exception):
        """What clients of storages raise is no OSError."""

    def fail(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise ClientError("An error occurred (500) when calling GetObject")

    with (
        mock.patch.object(AtomicFileSystemStorage, "_open", fail),
        mock.patch.object(AtomicFileSystemStorage, "exists", fail),
    ):
        yield


@contextmanager
def cut_files(share: float) -> Iterator[None]:
    """A disk has kept a share of every object, or somebody has removed it."""
    root = Path(settings.MEDIA_ROOT) / "sitemaps"
    before = {path: path.read_bytes() for path in root.rglob("*.xml.gz")}
    for path, content in before.items():
        path.write_bytes(content[: int(len(content) * share)])
        if not share:
            path.unlink()
    yield
    for path, content in before.items():
        path.write_bytes(content)


@contextmanager
def locked_database() -> Iterator[None]:
    """Another writer keeps the whole file, and lets nobody else write."""
    other = sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        other.rollback()
        other.close()


def changed(**values: Any) -> AbstractContextManager[object]:
    """Return what changes values of the setting for the time of a ``with`` block."""
    return override_settings(SITEMAPS_PLUS={**settings.SITEMAPS_PLUS, **values})


@contextmanager
def no_celery() -> Iterator[None]:
    """The settings name an executor whose package is not installed."""
    missing = dict.fromkeys(["celery", "django_sitemaps_plus.tasks"])
    with mock.patch.dict(sys.modules, missing), changed(EXECUTOR=CELERY):
        yield


#: Names of all faults, with what gives each.
FAULTS: dict[str, Fault] = {
    "raising_cache": lambda *_: use_cache("tests.support.caches.FailingCache"),
    "garbage_cache": lambda *_: use_cache(f"{__name__}.GarbageCache"),
    "truncated_pickles": lambda valkey, chaos: truncated_pickles(valkey),
    "black_hole_cache": lambda valkey, chaos: black_hole_cache(chaos),
    "failing_storage": lambda *_: failing_storage(),
    "missing_files": lambda *_: cut_files(0),
    "half_files": lambda *_: cut_files(0.5),
    "locked_database": lambda *_: locked_database(),
    "no_celery": lambda *_: no_celery(),
}
