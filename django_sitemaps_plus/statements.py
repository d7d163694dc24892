"""Queries that are compiled once, and then only run.

Django takes many times as long to compile a query as a database takes to find one row.
That counts where a refresh that finds nothing to do is made of such queries.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from django.db import connections
from django.db.models import QuerySet

from .transactions import own_alias

#: Compiled queries that are kept: a few for each section.
MAX_KEPT = 1_000


def fetch(make: Callable[..., QuerySet[Any, Any]], *values: Any) -> list[Any]:
    """Return the rows of a query on our tables, as tuples of what the database gives.

    Only for numbers and texts: nothing is converted.

    Args:
        make: a function of a module that returns the query, which depends on nothing
            but its arguments.
        values: its arguments, which can be hashed.
    """
    alias = own_alias()
    sql, params = _compile(make, alias, values)
    with connections[alias].cursor() as cursor:
        cursor.execute(sql, params)
        return list(cursor.fetchall())


@lru_cache(MAX_KEPT)
def _compile(
    make: Callable[..., QuerySet[Any, Any]], alias: str, values: tuple[Any, ...]
) -> tuple[str, tuple[Any, ...]]:
    sql, params = make(*values).query.get_compiler(alias).as_sql()
    return sql, tuple(params)
