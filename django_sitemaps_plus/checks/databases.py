"""The check that each database with tracked objects has the table of changes."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django.core.checks import CheckMessage
from django.db import connections, router

from django_sitemaps_plus.models import Change, Page
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.tracking.watching import watched_models

from .messages import warning


def check_migrated(
    databases: Collection[str] | None = None, **kwargs: Any
) -> list[CheckMessage]:
    """Return the named databases that have objects but not our tables."""
    # The databases that sources name, and those of the models they depend on.
    labels = {s.using: f"Section {name!r}" for name, s in registry.items() if s.using}
    for model in watched_models():
        labels[router.db_for_write(model)] = model._meta.label
    return [
        warning(
            5,
            f"{label} is on the database {alias!r}, which lacks the tables of "
            "sitemaps_plus, so saves and deletions there are not recorded.",
            "Let allow_migrate() of your routers return True there for sitemaps_plus, "
            f"and run manage.py migrate --database {alias}.",
        )
        for alias, label in labels.items()
        if alias in (databases or ()) and _lacks_table(alias)
    ]


def _lacks_table(alias: str) -> bool:
    if alias == router.db_for_write(Page):
        return False  # without our tables, all else says so
    return Change._meta.db_table not in connections[alias].introspection.table_names()
