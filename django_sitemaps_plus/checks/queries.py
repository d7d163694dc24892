"""Checks of what a source queries: whether it can be compiled, and its joins."""

from __future__ import annotations

from collections.abc import Iterator

from django.core.checks import CheckMessage

from django_sitemaps_plus.conf import sample_site
from django_sitemaps_plus.core.key_ranges import KeyRange
from django_sitemaps_plus.rendering import reading
from django_sitemaps_plus.sources import ModelSource, Route
from django_sitemaps_plus.sources.declarations import is_path
from django_sitemaps_plus.sources.dependencies import many_joins
from django_sitemaps_plus.sources.languages import declared_in_languages
from django_sitemaps_plus.sources.querysets import queryset_of
from django_sitemaps_plus.sources.rows import listed_rows, page_query

from .messages import warning
from .watching import check_tree, check_unwatched


def check_query(source: ModelSource) -> Iterator[CheckMessage]:
    """Compile the query, since an expression shows its faults nowhere else."""
    site = sample_site()
    with reading(source, site):
        str(page_query(source, KeyRange(), site).query)
    yield from check_unwatched(source)
    yield from _many(source)
    yield from _repeated(source)
    yield from check_tree(source)


def _repeated(source: ModelSource) -> Iterator[CheckMessage]:
    page = page_query(source, KeyRange(), sample_site()).query
    for table in many_joins(page) and many_joins(listed_rows(source).query):
        message = f"get_queryset() joins {table}, and lists a row for each of its rows."
        hint = "Add .distinct(), or filter by Exists(). Each URL is written once."
        yield warning(32, message, hint)


def _many(source: ModelSource) -> Iterator[CheckMessage]:
    """Warn of paths that repeat an entry; those of a location may make others of it."""
    steps, meta = queryset_of(source).query.names_to_path, source.model._meta
    many = {
        field: path
        for field, path in declared_paths(source)
        if any(step.m2m for step in steps(path.split("__"), meta)[0])
    }
    if "location" in many:
        return
    for field, path in many.items():
        message = f"{field} {path!r} leads to many rows, of which one is listed."
        hint = f"Write a method {field}(), or annotate the queryset."
        yield warning(12, message, hint)


def declared_paths(source: ModelSource) -> Iterator[tuple[str, str]]:
    """Yield each field path that a source declares, with what it is of."""
    for field, value in declared_in_languages(source):
        if is_path(field, value):
            yield field, value
        elif isinstance(value, Route):
            for path in value.arguments.values():
                if isinstance(path, str):
                    yield field, path
