"""Statements that are compiled once, and then only run.

Django takes many times as long to compile a query as a database takes to find one row.
That counts where a refresh of one page, or one that finds nothing to do, is made of
such queries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

from django.core.exceptions import EmptyResultSet
from django.db import connections, transaction
from django.db.models import Expression, QuerySet
from django.db.models.query import ModelIterable
from django.db.models.sql import UpdateQuery

from . import own_alias

#: Compiled statements that are kept: a few for each section.
MAX_KEPT = 1_000

#: Values in a list up to which a statement is kept for each length.
MAX_LISTED = 100

Rows = QuerySet[Any, Any]


class Parameter(Expression):
    """A value that a statement gets each time it is run.

    Attributes:
        name: the value's.
        position: in a list of values; None for one that is no list.
    """

    def __init__(self, name: str, position: int | None = None) -> None:
        super().__init__()
        self.name = name
        self.position = position

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, tuple[Any, ...]]:
        """Return a placeholder, and this in place of its value."""
        return "%s", (self,)

    def value(self, values: dict[str, Any]) -> Any:
        """Return what a statement is to be run with."""
        found = values[self.name]
        return found if self.position is None else found[self.position]


def fetch(make: Callable[..., Rows], *shape: Any, **values: Any) -> list[Any]:
    """Return the rows of a query on our tables: objects, or tuples.

    Args:
        make: a function of a module that returns the query, with ``values_list()`` for
            tuples. It depends on nothing but its arguments.
        shape: its first arguments, which can be hashed; for each other shape it is
            compiled anew.
        values: what stands for its arguments of these names, which it is given as
            :class:`Parameter`, or as lists of these. Rows in an empty list are none.

    Raises:
        ValueError: it joins what an object may lack, or what is further away.
    """
    connection = connections[own_alias()]
    compiled = _compiled(_select, make, shape, values)
    if compiled is None:
        return []
    sql, params, converted, made = compiled
    with connection.cursor() as cursor:
        cursor.execute(sql, _bound(connection, params, values))
        rows = _converted(connection, converted, cursor.fetchall())
    return rows if made is None else [made(row) for row in rows]


def update(
    make: Callable[..., tuple[Rows, dict[str, Any]]], *shape: Any, **values: Any
) -> int:
    """Update rows of ours, and return how many there were.

    Args:
        make: as for :func:`fetch`, but it returns rows of one table, by the columns of
            that table, and the values of their fields.
        shape: as for :func:`fetch`.
        values: the same.

    Raises:
        ValueError: it asks for columns of other tables. Some databases would need a
            query for the rows first, and what that finds must not be kept.
    """
    alias = own_alias()
    connection = connections[alias]
    compiled = _compiled(_change, make, shape, values)
    if compiled is None:
        return 0
    sql, params, *_ = compiled
    with transaction.mark_for_rollback_on_error(alias), connection.cursor() as cursor:
        cursor.execute(sql, _bound(connection, params, values))
        return int(cursor.rowcount)


# What makes an object of a row, where one is wanted.
_Maker = Callable[[tuple[Any, ...]], Any]

# Columns that a database gives in another form, by their positions.
_Converted = list[tuple[int, Any]]

_Compiled = tuple[str, tuple[Any, ...], _Converted, _Maker | None]


def _compiled(
    compiler: Callable[..., _Compiled],
    make: Callable[..., Any],
    shape: tuple[Any, ...],
    values: dict[str, Any],
) -> _Compiled | None:
    lengths = {k: len(v) if isinstance(v, list) else None for k, v in values.items()}
    if max([length or 0 for length in lengths.values()], default=0) > MAX_LISTED:
        return compiler(make(*shape, **values), own_alias())
    return _compile(compiler, make, own_alias(), shape, tuple(lengths.items()))


@lru_cache(MAX_KEPT)
def _compile(
    compiler: Callable[..., _Compiled],
    make: Callable[..., Any],
    alias: str,
    shape: tuple[Any, ...],
    lengths: tuple[tuple[str, int | None], ...],
) -> _Compiled | None:
    """Return a statement, None for one that needs no database to find no rows."""
    parameters = {name: _parameter(name, length) for name, length in lengths}
    try:
        return compiler(make(*shape, **parameters), alias)
    except EmptyResultSet:
        return None


def _parameter(name: str, length: int | None) -> Any:
    if length is None:
        return Parameter(name)
    return [Parameter(name, position) for position in range(length)]


def _select(rows: Rows, alias: str) -> _Compiled:
    compiler = rows.query.get_compiler(alias)
    sql, params = compiler.as_sql()
    columns = enumerate([column for column, _, _ in compiler.select])
    converted = [item for item in columns if _converters(compiler.connection, item[1])]
    if rows._iterable_class is not ModelIterable:
        return sql, tuple(params), converted, None
    _check_joins(rows)
    return sql, tuple(params), converted, _maker(compiler, alias)


def _maker(compiler: Any, alias: str) -> _Maker:
    """Return what makes objects, with those that ``select_related()`` names."""
    info = compiler.klass_info
    make_own = _maker_of(info, compiler.select, alias)
    related = [
        (_maker_of(other, compiler.select, alias), other["local_setter"])
        for other in info.get("related_klass_infos", ())
    ]
    annotations = list(compiler.annotation_col_map.items())

    def make(row: tuple[Any, ...]) -> Any:
        made = make_own(row)
        for make_other, let_know in related:
            let_know(made, make_other(row))
        for name, position in annotations:
            setattr(made, name, row[position])
        return made

    return make


def _check_joins(rows: Rows) -> None:
    joined: Any = rows.query.select_related or {}
    for name, further in joined.items():
        if further or rows.model._meta.get_field(name).null:
            raise ValueError(
                f"objects are made with others that they always have, and not with "
                f"{name!r}: fetch its rows by themselves"
            )


def _maker_of(info: dict[str, Any], select: Sequence[Any], alias: str) -> _Maker:
    places = info["select_fields"]
    names = [select[place][0].target.attname for place in places]
    model = info["model"]
    return lambda row: model.from_db(alias, names, [row[place] for place in places])


def _change(made: tuple[Rows, dict[str, Any]], alias: str) -> _Compiled:
    rows, fields = made
    query: Any = rows.query.chain(UpdateQuery)
    query.add_update_values(fields)
    query.get_initial_alias()
    if query.count_active_tables() > 1:
        raise ValueError(
            "an update asks for columns of other tables: fetch the keys of rows first"
        )
    sql, params = query.get_compiler(alias).as_sql()
    return sql, tuple(params), [], None


def _bound(
    connection: Any, params: Iterable[Any], values: dict[str, Any]
) -> tuple[Any, ...]:
    adapt = connection.ops.adapt_unknown_value
    return tuple(
        [adapt(p.value(values)) if isinstance(p, Parameter) else p for p in params]
    )


def _converted(connection: Any, converted: _Converted, rows: Any) -> list[Any]:
    """Return rows as Django gives them, where databases give something else."""
    if not converted:
        return list(rows)
    lists = [list(row) for row in rows]
    for position, column in converted:
        for convert in _converters(connection, column):
            for row in lists:
                row[position] = convert(row[position], column, connection)
    return [tuple(row) for row in lists]


def _converters(connection: Any, column: Any) -> list[Any]:
    # Each connection has its own.
    found: list[Any] = connection.ops.get_db_converters(column)
    return [*found, *column.get_db_converters(connection)]
