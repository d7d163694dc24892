"""Databases for the app's own rows, and routers that lead to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connections

from django_sitemaps_plus.models import (
    Change,
    Delivery,
    EngineHost,
    Exclusion,
    Figure,
    Page,
    Publication,
    Section,
)

OWN_TABLES = (
    Section,
    Page,
    Change,
    Publication,
    Delivery,
    EngineHost,
    Exclusion,
    Figure,
)


def make_tables(alias: str) -> None:
    """Make the app's own tables on another database."""
    with connections[alias].schema_editor() as editor:
        for model in OWN_TABLES:
            editor.create_model(model)


class RowsElsewhere:
    """A router that puts the app on a database of its own."""

    def __init__(self, alias: str) -> None:
        self.alias = alias

    def db_for_read(self, model: Any, **hints: Any) -> str | None:
        """Read the app's rows there, and all others where they are by default."""
        return self.alias if model._meta.app_label == "sitemaps_plus" else None

    db_for_write = db_for_read


class ReadsReplica:
    """A router that reads everything from a replica."""

    def __init__(self, alias: str) -> None:
        self.alias = alias

    def db_for_read(self, model: Any, **hints: Any) -> str:
        """Read there, whatever it is."""
        return self.alias

    def db_for_write(self, model: Any, **hints: Any) -> str:
        """Write to the primary."""
        return "default"


@contextmanager
def refused(alias: str, is_hit: Callable[[str], bool]) -> Iterator[list[str]]:
    """Make a database refuse some queries; give those that it has refused."""
    hits: list[str] = []

    def wrapper(execute: Any, sql: str, *rest: Any) -> Any:
        if is_hit(sql):
            hits.append(sql)
            raise AssertionError(f"{alias} was asked: {sql}")
        return execute(sql, *rest)

    with connections[alias].execute_wrapper(wrapper):
        yield hits
