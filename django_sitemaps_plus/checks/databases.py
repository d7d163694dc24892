"""Checks that each database with tracked objects has the table of changes."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django.core.checks import CheckMessage
from django.db import connections, router

from django_sitemaps_plus.models import Change, Page
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.tracking.databases import may_hold_changes
from django_sitemaps_plus.tracking.watching import watched_models

from .messages import warning


def check_routers(**kwargs: Any) -> list[CheckMessage]:
    """Return the databases of objects where routers forbid our tables, unasked."""
    hint = "Let allow_migrate() of your routers return True there for sitemaps_plus."
    return [
        _not_migrated(alias, label, hint)
        for alias, label in _written().items()
        if not may_hold_changes(alias)
    ]


def check_migrated(
    databases: Collection[str] | None = None, **kwargs: Any
) -> list[CheckMessage]:
    """Return the named databases that have objects but not our tables."""
    # The databases that sources name, and those of the models they depend on.
    labels = {s.using: f"Section {name!r}" for name, s in registry.items() if s.using}
    return [
        _not_migrated(alias, label, f"Run manage.py migrate --database {alias}.")
        for alias, label in {**labels, **_written()}.items()
        if alias in (databases or ()) and _lacks_table(alias)
    ]


def _not_migrated(alias: str, label: str, hint: str) -> CheckMessage:
    return warning(
        5,
        f"{label} is on the database {alias!r}, which lacks the tables of "
        "sitemaps_plus, so saves and deletions there are not recorded.",
        hint,
    )


def _written() -> dict[str, str]:
    """Return the databases of watched models, each with one of these models."""
    models = watched_models()
    return {router.db_for_write(model): model._meta.label for model in models}


def _lacks_table(alias: str) -> bool:
    if alias == router.db_for_write(Page) or not may_hold_changes(alias):
        return False
    return Change._meta.db_table not in connections[alias].introspection.table_names()
