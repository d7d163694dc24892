"""Checks of databases: where our tables are missing, what is a view, what is cached."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from django.apps import apps
from django.conf import settings
from django.core.checks import CheckMessage
from django.db import Error, connections, router

from django_sitemaps_plus.models import own_alias
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.sources import ModelSource
from django_sitemaps_plus.tracking.databases import may_hold_changes
from django_sitemaps_plus.tracking.relations import is_model
from django_sitemaps_plus.tracking.watching import watched_models

from .examining import examining, warning

_LABEL = "sitemaps_plus"


@examining("DATABASE_ROUTERS")
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


@examining("the sections")
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


@examining("the settings")
def check_row_caches(**kwargs: Any) -> list[CheckMessage]:
    """Return the caches of the ORM that keep rows of ours, which hides changes."""
    models, found = list(apps.get_app_config(_LABEL).get_models()), {}
    if any([_is_kept_by_cacheops(model._meta.model_name) for model in models]):
        found["django-cacheops"] = f'Add "{_LABEL}.*": None to CACHEOPS.'
    if _is_kept_by_cachalot({model._meta.db_table for model in models}):
        found["django-cachalot"] = f'Add "{_LABEL}" to CACHALOT_UNCACHABLE_APPS.'
    keeps = f"keeps the rows of {_LABEL}: changes are not taken."
    return [warning(57, f"{cache} {keeps}", hint) for cache, hint in found.items()]


def _is_kept_by_cacheops(model_name: str | None) -> bool:
    given: Any = getattr(settings, "CACHEOPS", None)
    if not isinstance(given, Mapping) or not getattr(settings, "CACHEOPS_ENABLED", 1):
        return False
    profiles = {str(name).lower(): profile for name, profile in given.items()}
    names = (f"{_LABEL}.{model_name}", f"{_LABEL}.*", "*.*")  # the first that it has
    profile = next((profiles[name] for name in names if name in profiles), None)
    defaults: Any = getattr(settings, "CACHEOPS_DEFAULTS", {})
    return profile is not None and bool({**defaults, **profile}.get("ops"))


def _is_kept_by_cachalot(tables: set[str]) -> bool:
    names = ("TABLES", "APPS")
    only, never = (
        [set(getattr(settings, f"CACHALOT_{kind}_{name}", ())) for name in names]
        for kind in ("ONLY_CACHABLE", "UNCACHABLE")
    )
    is_used = apps.is_installed("cachalot") or any([*only, *never])
    databases = getattr(settings, "CACHALOT_DATABASES", "supported_only")
    if not is_used or not getattr(settings, "CACHALOT_ENABLED", True):
        return False
    if not isinstance(databases, str) and own_alias() not in databases:
        return False
    if any(only) and _LABEL not in only[1]:
        tables &= only[0]
    return _LABEL not in never[1] and bool(tables - never[0])
