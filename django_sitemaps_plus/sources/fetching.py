"""Fetching: querysets of others, narrowed and read as a loop over them reads them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from django.core.exceptions import EmptyResultSet, FullResultSet
from django.db.models import BooleanField, Func, Q, QuerySet
from django.db.models.expressions import Col

from .instances import quickly_made
from .lines import CHUNK_ROWS

#: Parts of SQL that matter here: quoted texts, parentheses, queries within.
_PARTS = re.compile(
    r"""'[^']*'|"[^"]*"|`[^`]*`|\(\s*SELECT\b|[()]|\bOVER\b""", re.IGNORECASE
)


class _Outside(Func):
    """A condition on rows that are complete: Django puts it around their query."""

    template = "%(expressions)s"
    output_field = BooleanField()
    contains_over_clause = True
    empty_result_set_value = False


def narrowed(queryset: QuerySet[Any], condition: Q) -> QuerySet[Any]:
    """Return the rows that meet a condition on columns of their own.

    Their values stay as they are in the whole queryset, also those of window functions,
    for which the database reads all its rows.
    """
    # A filter() of the project may take no Q, or add conditions of its own.
    outer = _Outside(condition) if has_windows(queryset) else condition
    return QuerySet.filter(queryset, outer)


def limited(queryset: QuerySet[Any], most: int) -> QuerySet[Any]:
    """Return the first rows of a queryset, as one: read already, it gives a list."""
    return QuerySet.__getitem__(queryset.all(), slice(most))


def has_windows(queryset: QuerySet[Any]) -> bool:
    """Return whether a row, or what is selected of it, depends on the other rows.

    Window functions of a query within do not count: it reads its rows by itself.
    """
    query = queryset.query
    if query.where.contains_over_clause:
        return True
    # RawSQL, and functions of the project, tell it by their SQL alone.
    texts = [sql for sql, _ in query.extra_select.values()]
    found = query.annotation_select.values()
    if expressions := [it for it in found if not isinstance(it, Col)]:
        compiler = query.get_compiler(queryset.db)
        for expression in expressions:
            with suppress(EmptyResultSet, FullResultSet):  # a constant
                texts.append(compiler.compile(expression)[0])
    return any(map(_has_over, texts))


def _has_over(sql: str) -> bool:
    are_queries: list[bool] = []  # of the open parentheses
    for found in _PARTS.finditer(sql):
        part = found[0].upper()
        if part == ")":
            del are_queries[-1:]  # a comment may have one alone
        elif part.startswith("("):
            are_queries.append(part != "(")
        elif part == "OVER" and not any(are_queries):
            return True
    return False


def plain(queryset: Any) -> QuerySet[Any]:
    """Return the same query as a queryset of Django's own class.

    A class of the project may expect instances where it fetches rows, or change what is
    asked for.
    """
    same: QuerySet[Any] = QuerySet(queryset.model, queryset.query.chain(), queryset._db)
    same._iterable_class = queryset._iterable_class  # tuples of values_list()
    return same


def instances(queryset: QuerySet[Any]) -> Iterable[Any]:
    """Return the instances of a queryset as a loop over it has them.

    Those of a class that takes part in fetching them are in memory together.
    """
    if fetches(queryset):
        return list(queryset)
    # An iterator() of the project is not what a loop asks.
    return QuerySet.iterator(quickly_made(queryset), CHUNK_ROWS)


def fetches(queryset: QuerySet[Any]) -> bool:
    """Return whether the class of a queryset takes part in fetching its rows."""
    kind, names = type(queryset), ("_fetch_all", "__iter__")
    return any(getattr(kind, it) is not getattr(QuerySet, it) for it in names)
