"""What can be wrong with us while a user saves."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from django.db import connection
from django.test import modify_settings, override_settings
from redis import Redis

from django_sitemaps_plus import sites
from django_sitemaps_plus.executors.base import Executor
from django_sitemaps_plus.models import Change
from tests.support.servers.chaos import ChaosProxy
from tests.support.servers.programs import HOST
from tests.support.servers.valkey import Valkey
from tests.support.servers.workers import Broker, messages_to
from tests.support.testapp.models import Product

from .degraded import CELERY, changed, no_celery, redis_cache
from .shop import PlainSource

#: Names of the faults after which a change cannot be recorded.
LOSING = {"no_table", "database_error"}

#: Faults by which the database refuses a statement, in a transaction of the user's.
BY_DATABASE = {*LOSING, "no_sites"}


class LongSource(PlainSource):
    """One whose URLs are longer than any may be."""

    def location(self, product: Product) -> str:
        """Return far too long a path."""
        return f"/{product.slug * 1_000}/"


class OwnSource(PlainSource):
    """One whose objects know their URLs."""

    location = None


class RaisingExecutor(Executor):
    """One that does not keep its promise."""

    is_listening = True

    def wake(self, section: str) -> None:
        """Fail."""
        raise RuntimeError("not today")


@contextmanager
def no_table() -> Iterator[None]:
    """Nothing of ours was migrated."""
    with mock.patch.object(Change._meta, "db_table", "no_such_table"):
        yield


@contextmanager
def database_error() -> Iterator[None]:
    """The database refuses a statement of ours, and with it the transaction."""

    def refuse(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if Change._meta.db_table in sql and sql.startswith("INSERT"):
            return execute("SELECT 1 FROM no_such_table", None, many, context)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(refuse):
        yield


@contextmanager
def raising_url() -> Iterator[None]:
    """``get_absolute_url()`` of the user's model raises."""

    def fail(self: Product) -> str:
        raise RuntimeError("no URL today")

    with mock.patch.object(Product, "get_absolute_url", fail):
        yield


@contextmanager
def no_storage(directory: Path) -> Iterator[None]:
    """Where files should go, there is no directory."""
    (directory / "file").write_text("")
    with override_settings(MEDIA_ROOT=str(directory / "file" / "media")):
        yield


@contextmanager
def circular_import(directory: Path) -> Iterator[None]:
    """The modules of the executor and of the engine import each other."""
    for name, other in (("circle_a", "circle_b"), ("circle_b", "circle_a")):
        (directory / f"{name}.py").write_text(f"from {other} import Thing\n")
    engines = {"circular": {"BACKEND": "circle_b.Thing"}}
    with (
        mock.patch.object(sys, "path", [str(directory), *sys.path]),
        changed(EXECUTOR="circle_a.Thing", ENGINES=engines),
    ):
        yield


@contextmanager
def raising_executor() -> Iterator[None]:
    """The executor raises, which it must not."""
    path = f"{RaisingExecutor.__module__}.{RaisingExecutor.__qualname__}"
    with changed(EXECUTOR=path):
        yield


@contextmanager
def no_sites() -> Iterator[None]:
    """The origin is asked of contrib.sites, which has no table."""
    # Else engines are not notified of anything, as in any test.
    with (
        mock.patch.object(sites, "is_test_run", return_value=False),
        modify_settings(INSTALLED_APPS={"append": "django.contrib.sites"}),
        override_settings(SITE_ID=1),
        changed(BASE_URL=None, NOTIFY=None),
    ):
        yield


@contextmanager
def lost_broker(chaos: ChaosProxy, fault: str) -> Iterator[None]:
    """Broker and cache can be reached no more, in one way or another."""
    with _on_broker(chaos.port):
        getattr(chaos, fault)()
        yield


@contextmanager
def full_broker(valkey: Valkey) -> Iterator[None]:
    """Broker and cache have no memory left, and say so."""
    with _on_broker(valkey.port):
        with Redis(host=HOST, port=valkey.port) as client:
            client.config_set("maxmemory", 1)
        yield


@contextmanager
def _on_broker(port: int) -> Iterator[None]:
    with (
        redis_cache(port, None),
        messages_to(Broker(f"redis://{HOST}:{port}/0")),
        changed(EXECUTOR=CELERY),
    ):
        yield


#: Names of all faults, with what gives each; it takes the fixtures of a test.
FAULTS: dict[str, Callable[[Any], AbstractContextManager[object]]] = {
    "no_table": lambda has: no_table(),
    "database_error": lambda has: database_error(),
    "long_url": lambda has: ExitStack(),  # the source itself is at fault
    "raising_url": lambda has: raising_url(),
    "no_storage": lambda has: no_storage(has("tmp_path")),
    "refused": lambda has: lost_broker(has("chaos"), "refuse"),
    "black_hole": lambda has: lost_broker(has("chaos"), "black_hole"),
    "reset": lambda has: lost_broker(has("chaos"), "reset"),
    "full_broker": lambda has: full_broker(has("valkey")),
    "circular_import": lambda has: circular_import(has("tmp_path")),
    "no_celery": lambda has: no_celery(),
    "raising_executor": lambda has: raising_executor(),
    "no_sites": lambda has: no_sites(),
}

#: The sources that are at fault themselves.
SOURCES = {"long_url": LongSource, "raising_url": OwnSource}
