"""Checks of what a source queries, of what it watches, and fails to watch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import chain, product
from typing import Any

from django.apps import apps
from django.core.checks import CheckMessage
from django.core.exceptions import EmptyResultSet, FieldDoesNotExist
from django.db.models import F, Model, QuerySet

from django_sitemaps_plus.conf import sample_site
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.section import open_section
from django_sitemaps_plus.sources import ModelSource, Route, Under, dependencies
from django_sitemaps_plus.sources.compiling import (
    declarations_of,
    is_expression,
    is_path,
)
from django_sitemaps_plus.sources.fetching import has_windows
from django_sitemaps_plus.sources.keys import key_field
from django_sitemaps_plus.sources.languages import declared_in_languages
from django_sitemaps_plus.sources.querysets import pages_by_key, queryset_of
from django_sitemaps_plus.sources.related import (
    SEVERAL,
    joined_many,
    path_model,
    path_to_many,
    related_queries,
)
from django_sitemaps_plus.sources.rows import listed_rows, page_query
from django_sitemaps_plus.tracking.relations import (
    concrete,
    is_code,
    is_model,
    parents,
    watched_ways,
)
from django_sitemaps_plus.tracking.watching import models_of

from .examining import error, unexamined, unreadable, warning

#: Packages whose models are trees.
_TREES = {"treebeard", "mptt"}


def check_watched(source: ModelSource) -> Iterator[CheckMessage]:
    """Yield what ``watch`` names that leads to no rows of a source with a right key."""
    listed, watch = source.model, source.watch
    if not isinstance(watch, Mapping):
        hint = f"Give a dict of models, each with its path to {listed._meta.label}."
        yield error(27, f"watch is {watch!r}.", hint)
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
            yield error(27, f"watch names {model!r}, which is not a model.", hint)
        elif fault := _fault(source, model, rows):
            message = f"watch names {rows!r} for {model._meta.label}, and {fault}."
            yield error(27, message, _hint(model, listed))


def _fault(source: ModelSource, model: type[Model], rows: object) -> str:
    """Return what is wrong with a value of ``watch``; "" if it leads to the rows."""
    try:
        if isinstance(rows, Under):
            for owner, name in product((model, source.model), rows.fields):
                owner._meta.get_field(name)
        elif isinstance(rows, str):
            end = path_model(model, rows)
            # A proxy holds the keys of the rows, and so do a parent or child with it.
            with suppress(ConfigurationError):
                if key_field(end, source.key) == key_field(source.model, source.key):
                    return ""
            label = source.model._meta.label
            has_not = f"which does not have the key of {label}"
            return f"that leads to {end._meta.label}, {has_not}"
        elif not is_code(rows):
            return "that is neither a path nor a function"
    except FieldDoesNotExist as fault:
        return str(fault)
    return ""


def _hint(model: type[Model], listed: type[Model]) -> str:
    fields = [f for f in model._meta.get_fields() if f.related_model is listed]
    names = " or ".join([repr(field.name) for field in fields])
    hint = f"Write the relations that lead from it to {listed._meta.label}"
    return f"{hint}: {names}." if names else f"{hint}, joined by two underscores."


def check_query(source: ModelSource) -> Iterator[CheckMessage]:
    """Compile the query, since an expression shows its faults nowhere else."""
    with open_section(source, sample_site()).reading():
        if not pages_by_key(given := queryset_of(source)):
            yield unreadable(
                f"get_queryset() returns a {type(given).__name__}. Its pages are key "
                "ranges, so return a queryset of instances that is not sliced, "
                "combined or distinct on fields, or use Source."
            )
            return
        rows = listed_rows(source)
        if not (faults := [*_to_many(source, rows.query)]):
            page = page_query(source)
            for query in (page, *related_queries(source, rows)):
                with suppress(EmptyResultSet):  # such as that of none()
                    str(query.query)
    if faults:
        yield from faults
        return
    found = map(dependencies.unknown_joins, (rows.query, page.query))
    if kinds := {*chain.from_iterable(found)}:
        yield unexamined(f"its query joins tables by {', '.join(sorted(kinds))}")
        return
    yield from _missing(source, page.query)
    yield from _repeated(rows.query, page.query)
    yield from _tree(source, rows, page)
    if has_windows(page):
        yield warning(
            53,
            "it has a window function, so that each page reads all rows.",
            "To list the latest of several rows, filter by "
            "~Exists(a newer row of the same), which takes a fifteenth of the time.",
        )


def _to_many(source: ModelSource, rows: Any) -> Iterator[CheckMessage]:
    """Yield declarations that would list a row once for each related one."""
    for name, value in declared_in_languages(source):
        if path_to_many(source.model, name, value):
            continue
        given = value.arguments.values() if isinstance(value, Route) else [value]
        for one in given:
            expression = F(one) if is_path(name, one) else one
            if not is_expression(expression):
                continue
            if label := joined_many(rows, expression):
                message = f"{name} names {one!r}, which joins many rows of {label}."
                yield error(36, message, _hint_to_many(name, one))


def _hint_to_many(name: str, value: Any) -> str:
    if name in SEVERAL:
        return f'Name a path alone, as {name} = "path__to__field", or write a method.'
    path = getattr(value, "name", "path__to__field")
    path = value if isinstance(value, str) else path
    if name in ("lastmod", "priority"):
        return f"Write {name} = Max({path!r})."
    return f"Name one value of them: Max({path!r}), Exists() or a Subquery()."


def _missing(source: ModelSource, page: Any) -> Iterator[CheckMessage]:
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


def _repeated(rows: Any, page: Any) -> Iterator[CheckMessage]:
    for table in dependencies.many_joins(page):
        if table in dependencies.many_joins(rows):
            subject, hint = "get_queryset()", "Add .distinct(), or filter by Exists()."
        else:
            subject = "a declaration that names a FilteredRelation"
            hint = (
                "Let its condition leave one row, by what is unique, or name one value."
            )
        message = f"{subject} joins {table}, and lists a row for each of its rows."
        yield warning(32, message, f"{hint} Each URL is written once.")


def _tree(
    source: ModelSource, rows: QuerySet[Any], page: QuerySet[Any]
) -> Iterator[CheckMessage]:
    """Yield that rows depend on rows of their own model, where no watch covers it."""
    model = source.model
    own = {concrete(model), *parents(model)}
    if not own.isdisjoint([concrete(way.model) for way in watched_ways(source)]):
        return
    effect = "so each save marks all pages"
    if not (reason := dependencies.dependence(rows, page)):
        effect = "and a save marks only the page of its own row"
        reason = _dependence(source)
    if reason:
        yield warning(
            13,
            f"rows may depend on other rows of {model._meta.label}, since {reason}, "
            f"{effect}.",
            f"Declare the rows that a save concerns: {_proposed(model)}.",
        )


def _dependence(source: ModelSource) -> str:
    """Return what of its code says that rows depend on each other; "" if nothing."""
    for base in source.model.__mro__:
        if base.__module__.partition(".")[0] in _TREES:
            return f"that is a {base.__module__}.{base.__name__}"
    model: Any = source.model
    methods = [*declarations_of(source).values()]
    if source.location is None:
        methods.append(getattr(model, "get_absolute_url", None))
    codes = [code for it in methods if (code := getattr(it, "__code__", None))]
    read = set(chain.from_iterable(code.co_names for code in codes))
    relations = [field for field in model._meta.fields if field.related_model]
    own = [it for it in relations if concrete(it.related_model) is concrete(model)]
    names = ", ".join([it.name for it in own if it.name in read])
    return names and f"a method reads {names}"


def _proposed(model: type[Model]) -> str:
    names = {field.name for field in model._meta.fields}
    for fields in (("path",), ("tree_id", "lft", "rght"), ("tree_id", "lft", "rgt")):
        if names.issuperset(fields):
            return f"watch = {{{model.__name__}: {Under(fields)!r}}}"
    name = model.__name__
    return f"watch = {{{name}: ...}} with a function that takes one and returns them"
