"""Databases for the app's own rows, and routers that lead to them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.apps import apps
from django.db import connections


def own_tables() -> list[Any]:
    """Return the models of the app that have tables, sections first."""
    models = apps.get_app_config("sitemaps_plus").get_models()
    own = [model for model in models if not model._meta.proxy]
    return sorted(own, key=lambda it: it.__name__ != "Section")


def make_tables(alias: str) -> None:
    with connections[alias].schema_editor() as editor:
        for model in own_tables():
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
        return self.alias

    def db_for_write(self, model: Any, **hints: Any) -> str:
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
