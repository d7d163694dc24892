"""Checks of databases: where our tables are missing, and what are views there."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django.core.checks import CheckMessage
from django.db import Error, connections, router

from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.sources import ModelSource
from django_sitemaps_plus.tracking.databases import may_hold_changes
from django_sitemaps_plus.tracking.relations import is_model
from django_sitemaps_plus.tracking.watching import watched_models

from .messages import warning


def check_routers(**kwargs: Any) -> list[CheckMessage]:
    """Return the databases of watched models where routers forbid our tables."""
    written = {router.db_for_write(it): it._meta.label for it in watched_models()}
    return [
        warning(
            5,
            f"{label} is on the database {alias!r}, which lacks the tables of "
            "sitemaps_plus, so saves and deletions there are not recorded.",
            "Let allow_migrate() of your routers return True there for sitemaps_plus.",
        )
        for alias, label in written.items()
        if not may_hold_changes(alias)
    ]


def check_views(
    databases: Collection[str] | None = None, **kwargs: Any
) -> list[CheckMessage]:
    """Return the sections that list rows of a view of the database, and watch nothing.

    Only the database knows that, so it is asked where a command names it.
    """
    found = []
    for name, source in registry.items():
        model = getattr(source, "model", None)
        if not isinstance(source, ModelSource) or source.watch or not is_model(model):
            continue
        alias = source.using or router.db_for_write(source.model)
        if alias in (databases or ()) and _is_view(alias, source.model):
            message = f"Section {name!r}: {source.model._meta.label} is a view of the "
            message += "database, whose rows change without a signal."
            hint = "Name the models behind it in watch, or let the audit find changes."
            found.append(warning(47, message, hint))
    return found


def _is_view(alias: str, model: Any) -> bool:
    """Return whether the table of a model is a view; False where nobody can tell."""
    connection = connections[alias]
    try:
        with connection.cursor() as cursor:
            tables = connection.introspection.get_table_list(cursor)
    except Error:
        return False
    return any((it.name, it.type) == (model._meta.db_table, "v") for it in tables)
