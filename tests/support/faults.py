"""Storages and databases that fail when a test wants them to."""

import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import OperationalError, connection

from django_sitemaps_plus.storage import AtomicFileSystemStorage


def fail_save(monkeypatch: Any, number: int, error: Exception | None = None) -> None:
    """Make the n-th save of the storage, counted from 1, and all after it fail."""
    real = AtomicFileSystemStorage._save
    calls: list[str] = []

    def save(self: Any, name: str, content: Any) -> str:
        calls.append(name)
        if len(calls) >= number:
            raise error or OSError(errno.ENOSPC, "No space left on device")
        return real(self, name, content)

    monkeypatch.setattr(AtomicFileSystemStorage, "_save", save)


def fail_open(monkeypatch: Any, part: str = "") -> None:
    """Make every object unreadable whose name has this in it."""
    real = AtomicFileSystemStorage._open

    def refuse(self: Any, name: str, mode: str = "rb") -> Any:
        if part in name:
            raise PermissionError(errno.EACCES, f"{name} was opened")
        return real(self, name, mode)

    monkeypatch.setattr(AtomicFileSystemStorage, "_open", refuse)


@contextmanager
def fail_queries(
    is_hit: Callable[[str], bool], number: int = 1, error: Any = OperationalError
) -> Iterator[None]:
    """Make the n-th query that is hit, counted from 1, and all after it fail."""
    hits: list[str] = []

    def wrapper(execute: Any, sql: str, *rest: Any) -> Any:
        if is_hit(sql):
            hits.append(sql)
            if len(hits) >= number:
                raise error("the server closed the connection unexpectedly")
        return execute(sql, *rest)

    with connection.execute_wrapper(wrapper):
        yield
    assert len(hits) >= number, "no query was hit"


def writes_to(table: str) -> Callable[[str], bool]:
    """Return what tells writes to a table of ours."""
    return lambda sql: table in sql and sql.startswith(("INSERT", "UPDATE", "DELETE"))
