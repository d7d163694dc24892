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

from django_sitemaps_plus.storage import AtomicFileSystemStorage
from tests.support.servers.chaos import ChaosProxy
from tests.support.servers.programs import HOST
from tests.support.servers.valkey import Valkey

Fault = Callable[[Valkey, ChaosProxy], AbstractContextManager[None]]


class RaisingCache(LocMemCache):
    """Its server is gone, whatever it is asked."""

    def _fail(self, *args: Any, **kwargs: Any) -> Any:
        raise ConnectionError("no cache")

    get = set = add = touch = delete = _fail


class GarbageCache(LocMemCache):
    """Somebody else writes under our keys; what it says of an add makes no sense."""

    garbage = ("x", b"", b"\x00" * 99, 7, object(), ["page"], {"a": 1}, b"f" * 200)
    asked = 0

    def _any(self, *args: Any, **kwargs: Any) -> Any:
        type(self).asked += 1
        return self.garbage[self.asked % len(self.garbage)]

    get = set = add = touch = delete = _any


def use_cache(backend: str, **options: Any) -> AbstractContextManager[Any]:
    """Let the default cache be another."""
    return override_settings(CACHES={"default": {"BACKEND": backend, **options}})


def redis_cache(port: int, seconds: float = 0.25) -> AbstractContextManager[Any]:
    """Use a server as the cache, with the time limit that the docs recommend."""
    return use_cache(
        "django.core.cache.backends.redis.RedisCache",
        LOCATION=f"redis://{HOST}:{port}/1",
        OPTIONS={"socket_timeout": seconds, "socket_connect_timeout": seconds},
    )


@contextmanager
def raising_cache(valkey: Valkey, chaos: ChaosProxy) -> Iterator[None]:
    """Each call of the cache fails."""
    with use_cache(f"{__name__}.RaisingCache"):
        yield


@contextmanager
def garbage_cache(valkey: Valkey, chaos: ChaosProxy) -> Iterator[None]:
    """The cache gives what nobody put in."""
    with use_cache(f"{__name__}.GarbageCache"):
        yield


@contextmanager
def truncated_pickles(valkey: Valkey, chaos: ChaosProxy) -> Iterator[None]:
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
def black_hole_cache(valkey: Valkey, chaos: ChaosProxy) -> Iterator[None]:
    """The cache takes what it is asked, and never answers."""
    with redis_cache(chaos.port):
        chaos.black_hole()
        try:
            yield
        finally:
            chaos.heal()


@contextmanager
def failing_storage(valkey: Valkey, chaos: ChaosProxy) -> Iterator[None]:
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


def _objects() -> list[Path]:
    return list((Path(settings.MEDIA_ROOT) / "sitemaps").rglob("*.xml.gz"))


@contextmanager
def missing_files(valkey: Valkey, chaos: ChaosProxy) -> Iterator[None]:
    """Somebody has removed every object."""
    before = {path: path.read_bytes() for path in _objects()}
    for path in before:
        path.unlink()
    yield
    for path, content in before.items():
        path.write_bytes(content)


@contextmanager
def half_files(valkey: Valkey, chaos: ChaosProxy) -> Iterator[None]:
    """A disk has lost the end of every object."""
    before = {path: path.read_bytes() for path in _objects()}
    for path, content in before.items():
        path.write_bytes(content[: len(content) // 2])
    yield
    for path, content in before.items():
        path.write_bytes(content)


@contextmanager
def locked_database(valkey: Valkey, chaos: ChaosProxy) -> Iterator[None]:
    """Another writer keeps the whole file, and lets nobody else write."""
    other = sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        other.rollback()
        other.close()


@contextmanager
def no_celery(valkey: Valkey, chaos: ChaosProxy) -> Iterator[None]:
    """The settings name an executor whose package is not installed."""
    executor = "django_sitemaps_plus.tasks.CeleryExecutor"
    configured = {**settings.SITEMAPS_PLUS, "EXECUTOR": executor}
    missing = dict.fromkeys(["celery", "django_sitemaps_plus.tasks"])
    with (
        mock.patch.dict(sys.modules, missing),
        override_settings(SITEMAPS_PLUS=configured),
    ):
        yield


FAULTS: tuple[Fault, ...] = (
    raising_cache,
    garbage_cache,
    truncated_pickles,
    black_hole_cache,
    failing_storage,
    missing_files,
    half_files,
    locked_database,
    no_celery,
)
