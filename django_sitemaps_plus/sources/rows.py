"""Rows: the queries by which the rows of a model are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import replace
from functools import cache
from typing import Any

from django.db.models import QuerySet
from django.db.models.sql.constants import LOUTER
from django.db.models.sql.datastructures import Join

from django_sitemaps_plus.conf import sample_site
from django_sitemaps_plus.core.key_ranges import KeyRange
from django_sitemaps_plus.core.limits import LimitExceededError
from django_sitemaps_plus.exceptions import ConfigurationError

from .base import ModelSource
from .compiling import Columns, compile_lines
from .dependencies import many_joins
from .fetching import instances, limited, plain
from .lines import CHUNK_ROWS, Lines, RowName, describe, named
from .querysets import (
    batches,
    by_key,
    in_range,
    on_write_database,
    pages_by_key,
    queryset_of,
    tuples,
)


def listed_rows(source: ModelSource) -> QuerySet[Any]:
    """Return the rows of a source on the database they are read from, in no order."""
    queryset = queryset_of(source)
    if not pages_by_key(queryset):
        raise ConfigurationError(
            f"{source!r}.get_queryset() must return a queryset of model instances "
            "that is not sliced, combined or distinct on fields, since its pages "
            "are key ranges. Use Source for anything else."
        )
    return on_write_database(queryset, source.using)


def every_row(source: ModelSource) -> QuerySet[Any]:
    """Return all rows of the model, listed or not, on the same database."""
    return plain(source.model._base_manager.using(listed_rows(source).db))


def rows_in(source: ModelSource, key_range: KeyRange) -> QuerySet[Any]:
    """Return the listed rows of a key range, in the order of the key."""
    return in_range(listed_rows(source), source.key, key_range)


def page_query(source: ModelSource) -> QuerySet[Any]:
    """Return the query that reads a page, not yet run, for the rows of all pages."""
    rows = listed_rows(source)
    columns, _ = compile_lines(source, rows, sample_site())
    return by_key(select(rows, columns), source.key)


def select(queryset: QuerySet[Any], columns: Columns) -> QuerySet[Any]:
    """Return the query that reads columns, as instances or as tuples.

    What narrows it comes later: of all rows a window function sees the columns.
    """
    if columns.of_instances:
        selected: QuerySet[Any] = queryset.annotate(**columns.aliases())
    else:
        # That of a subclass may order columns anew, and undo it where it is iterated.
        selected = plain(QuerySet.values_list(queryset, *columns.expressions))
    _keep_rows(selected.query, {*queryset.query.alias_map})
    return selected


def _keep_rows(query: Any, known: Set[str]) -> None:
    """Let no row go for a column behind a FilteredRelation whose condition it misses.

    Django joins that of a foreign key that is not null as it joins the key itself.
    """
    for alias, join in query.alias_map.items():
        if alias in known or type(join) is not Join:
            continue
        parent = query.alias_map[join.parent_alias]
        if join.filtered_relation or getattr(parent, "join_type", None) == LOUTER:
            query.alias_map[alias] = join.promote()


def without_repeated(lines: Lines, queryset: QuerySet[Any]) -> Lines:
    """Return what writes each location once, where a query may repeat rows."""
    return replace(lines, seen=set()) if many_joins(queryset.query) else lines


def names_of(
    query: QuerySet[Any], columns: Columns, limit: int
) -> Callable[[int, Sequence[Any], int], RowName]:
    """Return what names a row of a batch, given how many rows came before the batch.

    Of tuples, one query looks up the keys of the page when the first is named.
    """

    @cache
    def keyed() -> list[Any]:
        return list(query.values_list("pk", *columns.expressions)[:limit])

    def name(first: int, rows: Sequence[Any], row: int) -> RowName:
        if columns.of_instances:
            return describe(rows[row])
        for pk, *values in keyed()[first + row : first + row + 1]:
            # A list where a column is converted; another row if rows have come or gone.
            if values == list(rows[row]):
                return named(query.model, pk)
        return RowName(f"{query.model.__name__}, {describe(rows[row])}")

    return name


def read(
    query: Any, columns: Columns, limit: int, size: int = CHUNK_ROWS
) -> Iterator[list[Any]]:
    """Yield the rows of a query, many at a time; raise where they exceed a page."""
    query = limited(query, limit + 1)
    rows = 0
    of_instances = columns.of_instances
    for batch in (
        batches(instances(query), size) if of_instances else tuples(query, size)
    ):
        rows += len(batch)
        if rows > limit:
            raise LimitExceededError(f"more than {limit:,} entries in one file")
        yield batch
