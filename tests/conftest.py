"""Fixtures that every test may use."""

import io
import itertools
import os
import signal
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from django.apps import apps
from django.contrib import admin
from django.core.cache import cache
from django.core.management import call_command
from django.db import connection
from hypothesis import HealthCheck, settings

from django_sitemaps_plus import cache as cached
from django_sitemaps_plus.registry import SourceRegistry
from django_sitemaps_plus.testing import temporary_registry

pytest_plugins = ["tests.support.servers.fixtures"]
_media = itertools.count()

# Time limits fail on a busy machine. The fixtures that run for every test set nothing
# that examples change.
settings.register_profile(
    "tests",
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
settings.load_profile("tests")

#: Seconds after which a test hangs; 0 for never.
HANG_SECONDS = int(
    os.environ.get("TEST_HANG_SECONDS", "0" if "SOAK" in os.environ else "300")
)


DATABASE = os.environ.get("TEST_DB", "sqlite")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Iterator[None]:
    """End a test that hangs, so that it fails as any other."""

    def end(*args: object) -> None:
        pytest.fail(f"it hangs for {HANG_SECONDS} s")

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(HANG_SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Leave what was skipped, and why, where `make test` finds it in the end."""
    if {"PYTEST_XDIST_WORKER", "PYTEST_CURRENT_TEST"} & set(os.environ):
        return  # another process, or a test that runs pytest, tells it
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = Counter([it.longrepr[2].removeprefix("Skipped: ") for it in skipped])
    with Path(os.environ.get("TEST_SKIPPED", os.devnull)).open("a") as file:
        for reason, count in sorted(reasons.items()):
            print(f"SKIPPED: {count} on {DATABASE}: {reason}", file=file)


@pytest.fixture(scope="session", autouse=True)
def quick_flush() -> Iterator[None]:
    """Empty tables as quickly as a database can, after a test with transactions.

    PostgreSQL's TRUNCATE makes new files of all tables, which takes a third of a
    second. Types of content and permissions stay, since Django would add them anew.
    """
    real = connection.ops.sql_flush
    kept = {"django_content_type", "auth_permission"}

    def sql_flush(style: Any, tables: Iterable[str], **options: Any) -> list[str]:
        tables = [it for it in tables if it not in kept]
        if connection.vendor != "postgresql":
            return real(style, tables, **options)
        quote = connection.ops.quote_name
        return [f"DELETE FROM {quote(it)};" for it in tables]  # noqa: S608 - our own

    with mock.patch.object(connection.ops, "sql_flush", sql_flush):
        yield


@pytest.fixture(autouse=True)
def media_root(settings, tmp_path_factory) -> Path:
    """Name a directory that nobody has made, which `tmp_path` would in each test."""
    path = tmp_path_factory.getbasetemp() / f"media{next(_media)}"
    settings.MEDIA_ROOT = str(path)
    return path


@pytest.fixture(autouse=True)
def installed_admin() -> None:
    """Take from the admin the models of apps that another test has installed."""
    for model in list(admin.site._registry):
        if model._meta.app_label not in apps.app_configs:
            admin.site.unregister(model)


@pytest.fixture(autouse=True)
def empty_cache() -> Iterator[None]:
    """Begin and end each test without live plans, or a cache that failed."""
    cached._paused_until.clear()
    cache.clear()
    yield
    cache.clear()


@pytest.fixture
def no_flush(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for no disk: what is killed, or fails, keeps what the kernel has.

    Whoever counts or fails flushes does so as before.
    """
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.fixture
def sections() -> Iterator[SourceRegistry]:
    with temporary_registry() as registry:
        yield registry


@pytest.fixture
def configure(settings: Any) -> Callable[..., None]:
    """Return what changes values of ``SITEMAPS_PLUS`` until the test ends."""

    def configure(**values: Any) -> None:
        settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, **values}

    return configure


@pytest.fixture
def run() -> Callable[..., str]:
    """Return what runs a command and gives all that it prints, errors last."""

    def run(command: str, *arguments: Any, **options: Any) -> str:
        out, err = io.StringIO(), io.StringIO()
        call_command(command, *arguments, stdout=out, stderr=err, **options)
        return out.getvalue() + err.getvalue()

    return run
