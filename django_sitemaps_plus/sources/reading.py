"""The rows of a query, many at a time."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from django.db.models import QuerySet
from django.db.models.sql.constants import CURSOR

from .base import CHUNK_ROWS


def instances(queryset: QuerySet[Any]) -> Iterator[list[Any]]:
    """Yield the model instances of a query."""
    rows = iter(queryset.iterator(CHUNK_ROWS))
    while batch := list(islice(rows, CHUNK_ROWS)):
        yield batch


def tuples(queryset: QuerySet[Any]) -> Iterator[list[Any]]:
    """Yield the rows of a ``values_list()``.

    ``iterator()`` handles each row by itself, and takes a cursor on the server, for
    which PostgreSQL outside a transaction copies the whole result aside before it
    hands over the first row. Half as long again, to save the few megabytes of a page.
    """
    compiler = queryset.query.get_compiler(queryset.db)
    cursor = compiler.execute_sql(CURSOR)
    if cursor is None:  # the query is known to have no rows
        return
    with cursor:
        while rows := cursor.fetchmany(CHUNK_ROWS):
            if compiler.has_extra_select:  # of DISTINCT, to order by
                rows = [row[: compiler.col_count] for row in rows]
            yield list(compiler.results_iter([rows]))
