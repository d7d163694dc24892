"""Shapes: what is the same of a query, whatever rows and the time give it."""

from __future__ import annotations

import re
from datetime import date
from functools import cache
from typing import Any

from django.db import connections
from django.db.models import QuerySet
from django.db.models.lookups import In

# Dates in a query become such texts where the database has no type for them.
_DATE_TEXT = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d:\d\d.*)?")

# Seconds since 1970, or thousandths of them, from 2001 to 2033.
_SECONDS = (10**9, 2 * 10**9)
_MILLISECONDS = (10**12, 2 * 10**12)

# Conditions that code makes of rows are joined by these.
_JOINED = (" OR ", " AND ", " WHEN ")

# How many conditions code may make of each row.
_MOST_EACH = 3


def shape_of(queryset: QuerySet[Any]) -> tuple[str, list[str]]:
    """Return the SQL of a query, and its values as texts.

    The SQL is the same for lists of any length, also for empty ones. Values in a list
    come in one order, and times not at all.
    """
    own: Any = connections[queryset.db]
    ops = _Over(own.ops, compiler=lambda name: _folding(own.ops.compiler(name)))
    connection: Any = _Over(own, ops=ops)
    query = queryset.query.chain()
    query.select_for_update = False  # which needs a transaction
    compiler = query.get_compiler(connection=connection, elide_empty=False)
    sql, params = compiler.as_sql()
    sql = sql.translate({ord("("): None, ord(")"): None})
    for separator in _JOINED:
        for size in range(1, _MOST_EACH + 1):
            sql = separator.join(_folded(sql.split(separator), size, separator))
    values = [it for it in params if not is_time(it)]
    return sql, [it if isinstance(it, _Listed) else _named(it) for it in values]


def is_shape(compiler: Any) -> bool:
    """Return whether what is compiled is a shape: it reads no rows for the query."""
    return isinstance(compiler, _Folding)


def is_time(value: Any) -> bool:
    """Return whether a value may be the present time, or made of it."""
    if isinstance(value, int | float):
        (low, high), (lower, upper) = _SECONDS, _MILLISECONDS
        return low < value < high or lower < value < upper
    return _is_date(value)


def _is_date(value: Any) -> bool:
    is_text = isinstance(value, str) and _DATE_TEXT.fullmatch(value) is not None
    return is_text or isinstance(value, date)


def _named(value: Any) -> str:
    return f"{type(value).__name__} {value!r}"


def _folded(parts: list[str], size: int, separator: str) -> list[str]:
    """Return conditions without those that repeat as many before them, as of a list.

    Conditions repeat others where those end with what these begin with.
    """
    kept, at = parts[:size], size
    while at < len(parts):
        before = separator.join(kept[-size:])
        again = separator.join(parts[at : at + size])
        start = before.find(again[:8])
        while start >= 0:
            end = before[start:]
            if again.startswith(end) and "%s" in end:
                break
            start = before.find(again[:8], start + 1)
        if start < 0 or before.count(separator, start) != size - 1:
            kept.append(parts[at])
            at += 1
        else:
            kept[-size:] = (before[:start] + again).split(separator)
            at += size
    return kept


class _Listed(str):
    """The values of a list, as one text."""

    __slots__ = ()


class _Folding:
    """Compiles a list of values as one value; all else as the compiler beside it."""

    def compile(self, node: Any) -> Any:
        given: Any = getattr(node, "rhs", None)
        is_list = isinstance(node, In) and node.rhs_is_direct_value()
        if not is_list or any([hasattr(value, "as_sql") for value in given]):
            return super().compile(node)  # type: ignore[misc]
        sql, params = self.compile(node.lhs)
        # Numbers in lists are keys, however large; the time comes alone.
        texts = sorted([_named(it) for it in given if not _is_date(it)])
        return f"{sql} IN (%s)", [*params, _Listed(texts)]


@cache
def _folding(compiler: type) -> type:
    return type(f"Folding{compiler.__name__}", (_Folding, compiler), {})


class _Over:
    """An object with other attributes, and sets in order: compilers get all else."""

    def __init__(self, under: Any, **attributes: Any) -> None:
        self._under = under
        self.__dict__ |= attributes

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._under, name)
        return sorted(value) if isinstance(value, frozenset) else value  # as of JSON
