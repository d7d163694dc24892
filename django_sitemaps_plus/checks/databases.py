"""Checks that our tables are where changes are recorded: beside the objects."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from django.core.checks import CheckMessage
from django.db import connections, router

from django_sitemaps_plus.models import Change, Page
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.tracking.databases import may_hold_changes
from django_sitemaps_plus.tracking.watching import watched_models

from .messages import warning


def check_routers(**kwargs: Any) -> list[CheckMessage]:
    """Return the databases of objects to which routers let nobody migrate our tables.

    No database is asked.
    """
    hint = "Let allow_migrate() of your routers return True there for sitemaps_plus."
    return [
        _not_migrated(alias, label, hint)
        for alias, label in _written().items()
        if not may_hold_changes(alias)
    ]


def check_migrated(
    databases: Collection[str] | None = None, **kwargs: Any
) -> list[CheckMessage]:
    """Return those of the named databases that have objects, and not our tables."""
    return [
        _not_migrated(alias, label, f"Run manage.py migrate --database {alias}.")
        for alias, label in {**_read(), **_written()}.items()
        if alias in (databases or ()) and _lacks_table(alias)
    ]


def _not_migrated(alias: str, label: str, hint: str) -> CheckMessage:
    return warning(
        5,
        f"{label} is kept on the database {alias!r}, to which sitemaps_plus is not "
        "migrated, so its saves and deletions are not recorded.",
        hint,
    )


def _written() -> dict[str, str]:
    """Return the databases of models that sections depend on, each with one of them."""
    models = watched_models()
    return {router.db_for_write(model): model._meta.label for model in models}


def _read() -> dict[str, str]:
    """Return the databases that sources name, each with the section of one."""
    found: Iterator[tuple[str | None, str]] = (
        (source.using, f"Section {name!r}") for name, source in registry.items()
    )
    return {alias: label for alias, label in found if alias is not None}


def _lacks_table(alias: str) -> bool:
    if alias == router.db_for_write(Page) or not may_hold_changes(alias):
        return False
    return Change._meta.db_table not in connections[alias].introspection.table_names()
