"""Prepared queries: compiled once, then only run.

Django takes many times as long to compile a query as a database takes to find a row,
and a build of one page consists of such queries. Objects are made by ``from_db()``: a
``RawQuerySet`` takes nearly twice as long, and cannot join a section to its page.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import lru_cache, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar, overload

from django.core.exceptions import EmptyResultSet
from django.core.signals import setting_changed
from django.db import connections, transaction
from django.db.models import Expression, QuerySet
from django.db.models.query import ModelIterable
from django.db.models.sql import DeleteQuery, UpdateQuery
from django.dispatch import receiver

from .clock import utc_offset

#: Statements that are kept: a few for each section.
MAX_KEPT = 1_000

#: Values in a list up to which a statement is kept for each length.
MAX_LISTED = 100

# The length of a value that is not a list.
_NO_LIST = -1

Rows = QuerySet[Any, Any]

#: An UPDATE: the rows, and the new values of their fields.
Update = tuple[Rows, dict[str, Any]]

Q = TypeVar("Q", bound=Rows)
P = ParamSpec("P")


@overload
def prepared(
    method: Callable[Concatenate[Q, P], Update],
) -> Callable[Concatenate[Q, P], int]: ...
@overload
def prepared(
    method: Callable[Concatenate[Q, P], Rows],
) -> Callable[Concatenate[Q, P], list[Any]]: ...
def prepared(method: Callable[..., Any]) -> Callable[..., Any]:
    """Make a method of a queryset run its query, which is compiled only once.

    The method returns rows: the call returns tuples with ``values_list()``, otherwise
    objects. Or it returns rows and new values of their fields: the call updates them
    and returns their number. Filters that were chained before it do not count.
    Positional arguments shape the query: they are hashable, and it is compiled anew for
    each set of them. Keyword arguments are bound each time: the method gets each as a
    :class:`Parameter`, or as a list of these. Nothing else may decide the query.

    Raises:
        ValueError: an UPDATE needs columns of other tables.
    """

    @wraps(method)
    def run(rows: Rows, *shape: Any, **values: Any) -> Any:
        alias: str = rows.db
        model: Any = rows.model
        lengths = tuple(
            [
                (name, len(value) if isinstance(value, list) else _NO_LIST)
                for name, value in values.items()
            ]
        )
        if max([length for _, length in lengths], default=0) > MAX_LISTED:
            made = method(model.objects.all(), *shape, **values)
            return _run(_statement(made, alias), alias, values)
        offset = utc_offset(connections[alias])  # what Now() is compiled to
        key = (method, model, alias, offset, shape, lengths)
        return _run(_compile(*key), alias, values)

    return run


class Parameter(Expression):
    """A value that a prepared query gets each time it runs, or one of a list."""

    def __init__(self, name: str, position: int | None = None) -> None:
        super().__init__()
        self.name = name
        self.position = position

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, tuple[Any, ...]]:
        """Return a placeholder, and this in place of its value."""
        return "%s", (self,)

    def value(self, values: dict[str, Any]) -> Any:
        """Return the value to bind."""
        found = values[self.name]
        return found if self.position is None else found[self.position]


_Maker = Callable[[tuple[Any, ...]], Any]


@dataclass(frozen=True, slots=True)
class _Statement:
    sql: str
    params: tuple[Any, ...]
    #: Columns that a database returns in another form than Django does.
    converted: Sequence[tuple[int, Any]] = ()
    make: _Maker | None = None  # makes an object of a row
    is_update: bool = False


def _run(statement: _Statement, alias: str, values: dict[str, Any]) -> Any:
    if not statement.sql:
        return 0 if statement.is_update else []
    connection = connections[alias]
    # As Django does: a failed SELECT leaves the caller's transaction as it is.
    is_update = statement.is_update
    mark = transaction.mark_for_rollback_on_error if is_update else nullcontext
    with mark(alias), connection.cursor() as cursor:
        adapt = connection.ops.adapt_unknown_value
        params = [
            adapt(param.value(values)) if isinstance(param, Parameter) else param
            for param in statement.params
        ]
        cursor.execute(statement.sql, tuple(params))
        if is_update:
            return int(cursor.rowcount)
        rows = list(cursor.fetchall())

    if statement.converted:
        lists = [list(row) for row in rows]
        for position, column in statement.converted:
            for convert in _converters(connection, column):
                for row in lists:
                    row[position] = convert(row[position], column, connection)
        rows = [tuple(row) for row in lists]
    return rows if statement.make is None else [statement.make(row) for row in rows]


@lru_cache(MAX_KEPT)
def _compile(
    method: Callable[..., Any],
    model: Any,
    alias: str,
    offset: int,
    shape: tuple[Any, ...],
    lengths: tuple[tuple[str, int], ...],
) -> _Statement:
    parameters: dict[str, Any] = {
        name: [Parameter(name, position) for position in range(length)]
        if length != _NO_LIST
        else Parameter(name)
        for name, length in lengths
    }
    return _statement(method(model.objects.all(), *shape, **parameters), alias)


@receiver(setting_changed)
def _forget(*, setting: str, **kwargs: Any) -> None:
    # On MariaDB, a column of times has a converter only with USE_TZ.
    if setting == "USE_TZ":
        _compile.cache_clear()


def _statement(made: Any, alias: str) -> _Statement:
    """Return a statement; without SQL where it needs no database to find no rows."""
    try:
        if isinstance(made, tuple):
            return _update(made[0], made[1], alias)
        compiler = made.query.get_compiler(alias)
        sql, params = compiler.as_sql()
    except EmptyResultSet:
        return _Statement("", (), is_update=isinstance(made, tuple))
    columns = enumerate([column for column, _, _ in compiler.select])
    converted = [item for item in columns if _converters(compiler.connection, item[1])]
    is_of_objects = made._iterable_class is ModelIterable
    make = _maker(compiler, alias) if is_of_objects else None
    return _Statement(sql, tuple(params), converted, make)


def _update(rows: Rows, fields: dict[str, Any], alias: str) -> _Statement:
    query: Any = rows.query.chain(UpdateQuery)
    query.add_update_values(fields)
    query.get_initial_alias()
    if query.count_active_tables() > 1:
        # Some databases would look for the rows first, and that must not be kept.
        raise ValueError(
            "an update asks for columns of other tables: fetch the keys of rows first"
        )
    sql, params = query.get_compiler(alias).as_sql()
    return _Statement(sql, tuple(params), is_update=True)


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
        for make_other, set_related in related:
            set_related(made, make_other(row))
        for name, position in annotations:
            setattr(made, name, row[position])
        return made

    return make


def _maker_of(info: dict[str, Any], select: Sequence[Any], alias: str) -> _Maker:
    positions = info["select_fields"]
    names = [select[position][0].target.attname for position in positions]
    model = info["model"]
    return lambda row: model.from_db(alias, names, [row[n] for n in positions])


def _converters(connection: Any, column: Any) -> list[Any]:
    # Each connection has its own.
    found: list[Any] = connection.ops.get_db_converters(column)
    return [*found, *column.get_db_converters(connection)]


def delete_joined(queryset: QuerySet[Any], keys: Sequence[int]) -> int:
    """Delete rows of MariaDB's by joining them to their keys, which come first."""
    connection = connections[queryset.db]
    query = queryset.query.chain(DeleteQuery)
    sql, params = query.get_compiler(queryset.db).as_sql()
    quote, meta = connection.ops.quote_name, queryset.model._meta
    table, key = quote(meta.db_table), quote(str(meta.pk.column))
    listed = " UNION ALL ".join([f"SELECT %s AS {key}"] * len(keys))
    joined = f"({listed}) listed STRAIGHT_JOIN {table} FORCE INDEX (PRIMARY)"
    head = f"DELETE {table} FROM {joined} USING ({key})"
    sql = sql.replace(f"DELETE FROM {table}", head, 1)  # noqa: S608 - our names
    with connection.cursor() as cursor:
        cursor.execute(sql, [*keys, *params])
        return int(cursor.rowcount)
