"""Checks of changes that nobody would notice, and of what a source queries."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from itertools import chain, product
from typing import Any

from django.apps import apps
from django.conf import settings
from django.core.checks import CheckMessage
from django.core.exceptions import EmptyResultSet, FieldDoesNotExist
from django.db import Error, connections, router
from django.db.models import F, Model, QuerySet
from django.db.models.manager import BaseManager

from django_sitemaps_plus.core.suggestions import suggest
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.models import own_alias
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.section import open_section
from django_sitemaps_plus.sites import sample_site
from django_sitemaps_plus.sources import (
    ModelSource,
    Route,
    Under,
    dependencies,
    querysets,
    related,
)
from django_sitemaps_plus.sources.compiling import images_of, is_expression, is_path
from django_sitemaps_plus.sources.images import lacks_media_url
from django_sitemaps_plus.sources.keys import key_field
from django_sitemaps_plus.sources.languages import declared_in_languages
from django_sitemaps_plus.sources.reading import listed_rows, page_query
from django_sitemaps_plus.tracking import relations
from django_sitemaps_plus.tracking.databases import may_hold_changes
from django_sitemaps_plus.tracking.relations import concrete, is_model
from django_sitemaps_plus.tracking.watching import models_of, watched_models

from .examining import Faults, error, examining, unexamined, unreadable, warning
from .times import check_times

#: Packages whose models are trees.
_TREES = {"treebeard", "mptt"}

_LABEL = "sitemaps_plus"


def check_watched(source: ModelSource) -> Faults:
    """Yield what ``watch`` names that leads to no rows of a source with a right key."""
    listed, watch = source.model, source.watch
    if not isinstance(watch, Mapping):
        hint = f"Give a dict of models, each with its path to {listed._meta.label}."
        given = watch if isinstance(watch, list | tuple | set) else [watch]
        for model in [it for it in given if is_model(it)]:
            for name in _paths(model, listed)[:1]:
                hint = f'Write watch = {{{model.__name__}: "{name}"}}.'
        yield error(27, f"watch is {watch!r}, and no dict.", hint)
        return
    own = concrete(listed)
    for twin in apps.get_models(include_auto_created=True):
        # A proxy or a child shares a table as well.
        is_known = concrete(twin) is own or twin in watch
        if twin._meta.db_table == own._meta.db_table and not is_known:
            hint = f"Add {twin._meta.object_name} to watch, with a function that "
            hint += "returns the rows that one of it concerns; else only the audit "
            hint += "finds them."
            words = f"{twin._meta.label} has the table of {listed._meta.label}"
            yield warning(46, f"{words}, and its saves are not noticed.", hint)
    for model, rows in watch.items():
        if not is_model(model):
            hint = f"Name a model class with its path to {listed._meta.label}."
            labels = [it._meta.label for it in apps.get_models()]
            hint = suggest(str(model), labels, hint)
            yield error(27, f"watch names {model!r}, which is not a model.", hint)
        elif fault := _fault(source, model, rows):
            message = f"watch names {rows!r} for {model._meta.label}, and {fault}."
            names = " or ".join(map(repr, _paths(model, listed)))
            hint = f"Write the relations that lead from it to {listed._meta.label}"
            hint += f": {names}." if names else ", joined by two underscores."
            yield error(27, message, hint)


def _paths(model: type[Model], listed: type[Model]) -> list[str]:
    """Return the names of the relations of a model that lead to rows."""
    fields = model._meta.get_fields()
    return [field.name for field in fields if field.related_model is listed]


def _fault(source: ModelSource, model: type[Model], rows: object) -> str:
    """Return what is wrong with a value of ``watch``; "" if it leads to the rows."""
    try:
        if isinstance(rows, Under):
            for owner, name in product((model, source.model), rows.fields):
                owner._meta.get_field(name)
        elif isinstance(rows, str):
            end = related.path_model(model, rows)
            # A proxy holds the keys of the rows, and so do a parent or child with it.
            with suppress(ConfigurationError):
                if key_field(end, source.key) == key_field(source.model, source.key):
                    return ""
            label = source.model._meta.label
            has_not = f"which does not have the key of {label}"
            return f"that leads to {end._meta.label}, {has_not}"
        elif not relations.is_code(rows):
            return "that is neither a path nor a function"
    except FieldDoesNotExist as fault:
        return str(fault)
    return ""


def check_query(source: ModelSource) -> Faults:
    """Compile the query, since an expression shows its faults nowhere else."""
    with open_section(source, sample_site()).reading():
        if not querysets.pages_by_key(given := querysets.queryset_of(source)):
            yield _unpaged(given)
            return
        yield from _other_model(source.model, given.model)
        rows = listed_rows(source)
        if not (faults := [*_to_many(source, rows.query)]):
            page = page_query(source)
            for query in (page, *related.related_queries(source, rows)):
                with suppress(EmptyResultSet):  # such as that of none()
                    str(query.query)
    if faults:
        yield from faults
        return
    joins = map(dependencies.unknown_joins, (rows.query, page.query))
    if kinds := {*chain.from_iterable(joins)}:
        yield unexamined(f"its query joins tables by {', '.join(sorted(kinds))}")
        return
    yield from _missing(source, page.query)
    if lacks_media_url(images_of(source, rows, "https://example.com")):
        message = (
            f"its images are files of {source.images!r}, and MEDIA_URL is not set, "
        )
        hint = 'Set MEDIA_URL, as in MEDIA_URL = "/media/", and serve MEDIA_ROOT there.'
        yield warning(36, f"{message}so their URLs lead nowhere.", hint)
    for table in dependencies.many_joins(page.query):
        if table in dependencies.many_joins(rows.query):
            subject, hint = "get_queryset()", "Add .distinct(), or filter by Exists()."
        else:
            subject = "a declaration that names a FilteredRelation"
            hint = (
                "Let its condition leave one row, by what is unique, or name one value."
            )
        message = f"{subject} joins {table}, and lists a row for each of its rows."
        yield warning(32, message, f"{hint} Each URL is written once.")
    yield from _tree(source, rows, page)
    yield from check_times(source, rows, page)
    if querysets.has_windows(page):
        yield warning(
            53,
            "it has a window function, so that each page reads all rows.",
            "To list the latest of several rows, filter by "
            "~Exists(a newer row of the same), which takes a fifteenth of the time.",
        )


def _other_model(model: type[Model], listed: type[Model]) -> Faults:
    """Yield that rows have another model than a source, no parent and no child."""
    one, other = (
        {it._meta.db_table for it in (concrete(kind), *relations.parents(kind))}
        for kind in (model, listed)
    )
    if not (one <= other or other <= one):
        message = f"model is {model._meta.label}, and get_queryset() returns rows of "
        hint = f"Write model = {listed.__name__}, so that their saves are noticed."
        yield warning(58, f"{message}{listed._meta.label}.", hint)


def _unpaged(given: object) -> CheckMessage:
    """Return the error of rows that cannot be read by key range."""
    if given is None:
        return error(23, "get_queryset() returns None.", "It lacks a return.")
    if isinstance(given, BaseManager):
        hint = f"Return {given.model.__name__}.objects.all()."
        return error(23, "get_queryset() returns a manager, not its rows.", hint)
    return unreadable(
        f"get_queryset() returns a {type(given).__name__}. Its pages are key ranges, "
        "so return a queryset of instances that is not sliced, combined or distinct "
        "on fields, or use Source."
    )


def _to_many(source: ModelSource, rows: Any) -> Faults:
    """Yield declarations that would list a row once for each related one."""
    for name, value in declared_in_languages(source):
        if related.path_to_many(source.model, name, value):
            continue
        given = value.arguments.values() if isinstance(value, Route) else [value]
        for one in given:
            expression = F(one) if is_path(name, one) else one
            if not is_expression(expression):
                continue
            if label := related.joined_many(rows, expression):
                path = getattr(one, "name", "path__to__field")
                path = one if isinstance(one, str) else path
                hint = f"Name one value of them: Max({path!r}), Exists() or a "
                hint += "Subquery()."
                if name in related.SEVERAL:
                    hint = f'Name a path alone, as {name} = "path__to__field", or '
                    hint += "write a method."
                elif name in ("lastmod", "priority"):
                    hint = f"Write {name} = Max({path!r})."
                message = f"{name} names {one!r}, which joins many rows of {label}."
                yield error(36, message, hint)


def _missing(source: ModelSource, page: Any) -> Faults:
    """Yield the models that only joins and inner queries name, and no watch covers."""
    watched, labels = models_of(source), set[str]()
    tables = dependencies.joined_tables(page) | dependencies.inner_tables(page)
    tables -= {model._meta.db_table for model in watched}
    for model in apps.get_models(include_auto_created=True):
        if model._meta.db_table in tables:
            ends: list[Any] = [model]
            # The table of a relation is watched with the models at its ends.
            if model._meta.auto_created:
                ends = [field.related_model for field in model._meta.fields]
            labels |= {end._meta.label for end in ends if end and end not in watched}
    if labels:
        names = ", ".join(sorted(labels))
        yield warning(
            9,
            f"it depends on rows of {names}, whose saves it does not watch.",
            "Name the model in watch, with the path that leads from it to the rows "
            "listed. Where no path does, pass these rows to notify_changed().",
        )


def _tree(source: ModelSource, rows: QuerySet[Any], page: QuerySet[Any]) -> Faults:
    """Yield that rows depend on rows of their own model, where no watch covers it.

    Code is not read: without a query that shows it, only a base class of a tree does.
    """
    model = source.model
    own = {concrete(model), *relations.parents(model)}
    if own & {concrete(way.model) for way in relations.watched_ways(source)}:
        return
    effect = "so each save marks all pages"
    if not (reason := dependencies.dependence(rows, page)):
        effect = "and a save marks only the page of its own row"
        trees = [it for it in model.__mro__ if it.__module__.split(".")[0] in _TREES]
        reason = f"that is a {trees[0].__module__}.{trees[0].__name__}" if trees else ""
    if not reason:
        return
    fields = {field.name for field in model._meta.fields}
    name = model.__name__
    proposed = f"watch = {{{name}: ...}} with a function that takes one and returns "
    proposed += "them"
    for path in (("path",), ("tree_id", "lft", "rght"), ("tree_id", "lft", "rgt")):
        if fields.issuperset(path):
            proposed = f"watch = {{{name}: {Under(path)!r}}}"
            break
    message = f"rows may depend on other rows of {model._meta.label}, since {reason}, "
    hint = f"Declare the rows that a save concerns: {proposed}."
    yield warning(13, f"{message}{effect}.", hint)


@examining("DATABASE_ROUTERS")
def check_routers(**kwargs: Any) -> Faults:
    """Yield the databases of watched models where routers forbid our tables."""
    written = {router.db_for_write(it): it._meta.label for it in watched_models()}
    for alias, label in written.items():
        if not may_hold_changes(alias):
            yield warning(
                5,
                f"{label} is on the database {alias!r}, which lacks the tables of "
                "sitemaps_plus, so saves and deletions there are not recorded.",
                "Let allow_migrate() of your routers return True there for "
                "sitemaps_plus.",
            )


@examining("the sections")
def check_views(databases: Collection[str] | None = None, **kwargs: Any) -> Faults:
    """Yield the sections that list rows of a view of the database, and watch nothing.

    Only the database knows that, so it is asked where a command names it.
    """
    for name, source in registry.items():
        model = getattr(source, "model", None)
        if not isinstance(source, ModelSource) or source.watch or not is_model(model):
            continue
        alias = source.using or router.db_for_write(source.model)
        if alias not in (databases or ()):
            continue
        connection, tables = connections[alias], list[Any]()
        with suppress(Error), connection.cursor() as cursor:  # else nobody can tell
            tables = connection.introspection.get_table_list(cursor)
        meta = source.model._meta
        if (meta.db_table, "v") in [(table.name, table.type) for table in tables]:
            message = f"Section {name!r}: {meta.label} is a view of the "
            message += "database, whose rows change without a signal."
            hint = "Name the models behind it in watch, or let the audit find changes."
            yield warning(47, message, hint)


@examining("the settings")
def check_row_caches(**kwargs: Any) -> Faults:
    """Yield the caches of the ORM that keep rows of ours, which hides changes."""
    keeps = f"keeps the rows of {_LABEL}: changes are not taken."
    models = list(apps.get_app_config(_LABEL).get_models())

    given: Any = getattr(settings, "CACHEOPS", None)
    if isinstance(given, Mapping) and getattr(settings, "CACHEOPS_ENABLED", True):
        profiles = {str(name).lower(): profile for name, profile in given.items()}
        defaults: Any = getattr(settings, "CACHEOPS_DEFAULTS", {})
        for model in models:  # the first profile of these counts
            keys = (f"{_LABEL}.{model._meta.model_name}", f"{_LABEL}.*", "*.*")
            profile = next((profiles[it] for it in keys if it in profiles), None)
            if profile is not None and {**defaults, **profile}.get("ops"):
                hint = f'Add "{_LABEL}.*": None to CACHEOPS.'
                yield warning(57, f"django-cacheops {keeps}", hint)
                break

    names = ("TABLES", "APPS")
    only, never = (
        [set(getattr(settings, f"CACHALOT_{kind}_{name}", ())) for name in names]
        for kind in ("ONLY_CACHABLE", "UNCACHABLE")
    )
    databases = getattr(settings, "CACHALOT_DATABASES", "supported_only")
    tables = {model._meta.db_table for model in models}
    if any(only) and _LABEL not in only[1]:
        tables &= only[0]
    if (
        (apps.is_installed("cachalot") or any([*only, *never]))
        and getattr(settings, "CACHALOT_ENABLED", True)
        and (isinstance(databases, str) or own_alias() in databases)
        and _LABEL not in never[1]
        and tables - never[0]
    ):
        hint = f'Add "{_LABEL}" to CACHALOT_UNCACHABLE_APPS.'
        yield warning(57, f"django-cachalot {keeps}", hint)
