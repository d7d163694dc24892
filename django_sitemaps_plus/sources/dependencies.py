"""Dependencies: the columns that decide which rows a source lists, and how."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain
from traceback import walk_tb
from typing import Any

from django.core.exceptions import FieldDoesNotExist, FieldError
from django.db.models import F, GeneratedField, Model, Q, QuerySet, Subquery
from django.db.models.expressions import Col, RawSQL
from django.db.models.lookups import Exact, In, IsNull
from django.db.models.sql.datastructures import BaseTable, Join
from django.db.models.sql.query import Query
from django.db.models.sql.where import ExtraWhere

from .base import ModelSource, Source
from .compiling import declared_methods, is_expression, is_path
from .languages import declared_in_languages
from .querysets import has_windows, queryset_of, takes_site
from .related import ordering_paths, path_to_many
from .route import Route

# Raw conditions and other queries do not tell what they read.
_OPAQUE = (RawSQL, ExtraWhere, Query, QuerySet, Subquery)


def paths(source: ModelSource) -> Iterator[str]:
    """Yield every field path that the source declares, as far as they are known."""
    return (path for path in _declared(source) if path is not None)


def image_paths(source: ModelSource) -> set[str | None]:
    """Return the field paths that images name, alone or in an expression."""
    images = source.images
    is_known = is_path("images", images) or is_expression(images)
    return {*_paths_in(images)} if is_known else set()


def _declared(source: ModelSource) -> Iterator[str | None]:
    """Yield every field path that the source declares; None for what hides some."""
    for name, value in declared_in_languages(source):
        if isinstance(value, Route):
            for argument in value.arguments.values():
                yield from _paths_in(argument)
        elif is_path(name, value) or is_expression(value):
            yield from _paths_in(value)
        if path := path_to_many(source.model, name, value):
            yield from ordering_paths(source.model, path)
    yield from filter(None, (source.starts, source.ends, source.site_path))


def _paths_in(value: Any) -> Iterator[str | None]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, F):
        yield str(value.name)  # type: ignore[attr-defined]  # not in the stubs
    elif isinstance(value, Col):
        yield value.target.name
    elif isinstance(value, Q):
        for child in value.children:
            path, compared = child if isinstance(child, tuple) else (None, child)
            if path is not None:
                yield path
            if path is None or is_expression(compared):
                yield from _paths_in(compared)
    elif isinstance(value, _OPAQUE) or not hasattr(value, "get_source_expressions"):
        yield None
    else:
        parts = value.get_source_expressions()
        for part in [part for part in parts if part is not None]:
            yield from _paths_in(part)


def columns(source: Source) -> frozenset[str] | None:
    """Return the fields of its own model that its pages depend on; None for any."""
    if not isinstance(source, ModelSource) or declared_methods(source):
        return None
    if takes_site(source):  # of another site it may be of other fields
        return None
    query: Any = queryset_of(source).query
    # The conditions of a FilteredRelation stand nowhere else, until a path names it.
    if len(query.alias_map) > 1 or query._filtered_relations:
        return None
    queried = map(_paths_in, (query.where, *query.annotations.values()))
    return own_fields(source.model, chain(_declared(source), *queried, [source.key]))


def own_fields(model: type[Model], used: Iterable[str | None]) -> frozenset[str] | None:
    """Return the fields of a model with which paths begin; None if one is unknown."""
    fields: dict[str, Any] = {"pk": None}
    fields |= {field.name: field for field in model._meta.get_fields()}
    names, waiting = set(), [*used]
    while waiting:
        if (path := waiting.pop()) is None:
            return None
        name = path.split("__")[0]
        names.add(name)
        # A save names the columns that a generated one is computed from.
        if isinstance(field := fields.get(name), GeneratedField):
            waiting += _paths_in(field.expression)  # type: ignore[attr-defined]  # not in the stubs
    # An annotation of the queryset: its own fields are in the query.
    return frozenset(names & fields.keys())


def many_joins(query: Query) -> list[str]:
    """Return the tables of which a query joins several rows to one of its model.

    Joins of other libraries may do so: their classes stand for their tables.
    """
    if query.distinct or query.group_by is not None:
        return []
    joins = [it for it in _tables(query) if it.join_type]
    single = _single_rows(query, joins)
    many = [
        it.table_name
        for it in joins
        if getattr(it.join_field, "multiple", False) and it.table_alias not in single
    ]
    return [*many, *unknown_joins(query)]


def _single_rows(query: Query, joins: list[Any]) -> set[str]:
    """Return the aliases of tables of which conditions allow at most one row."""
    wheres = [
        it.filtered_relation.resolved_condition for it in joins if it.filtered_relation
    ]
    # The columns of each table of which conditions allow one value.
    fixed = defaultdict[str, set[str]](set)
    for condition in chain.from_iterable(map(_conditions, [query.where, *wheres])):
        lhs: Any = getattr(condition, "lhs", None)
        if not isinstance(lhs, Col):
            continue
        if isinstance(condition, Exact):
            fixed[lhs.alias].add(str(lhs.target.column))
        elif isinstance(condition, IsNull) and condition.rhs and not lhs.target.null:
            # The relation leads to no row, so that all columns are NULL.
            columns = [str(it.column) for it in lhs.target.model._meta.fields]
            fixed[lhs.alias].update(columns)

    # A table behind another fixes the columns by which that one leads to it.
    for join in reversed(joins):
        if _is_unique(join, fixed[join.table_alias]):
            fixed[join.parent_alias].update(column for column, _ in join.join_cols)
    for join in joins:
        fixed[join.table_alias].update(column for _, column in join.join_cols)
    return {it.table_alias for it in joins if _is_unique(it, fixed[it.table_alias])}


def _is_unique(join: Any, columns: set[str]) -> bool:
    """Return whether no two rows of a joined table have the same in these columns."""
    meta = join.join_field.related_model._meta
    constraints = [it.fields for it in meta.total_unique_constraints]
    sets = [*meta.unique_together, *constraints]
    sets += [[field.name] for field in meta.fields if field.unique]
    return any(
        columns >= {meta.get_field(name).column for name in names} for names in sets
    )


def dependence(rows: QuerySet[Any], page: QuerySet[Any]) -> str:
    """Return why a listed row may depend on others of its model, in words; "" if not.

    The page is of the same rows, with what is selected of them.
    """
    table = rows.model._meta.db_table
    if has_windows(page):
        return "a window function sees them"
    if any(_reads_others(part, table) for part in _parts_of(page.query)):
        return "a query within get_queryset() or a declaration reads them"
    if table in joined_tables(rows.query):
        return "get_queryset() joins them"
    return ""


def _reads_others(node: Any, table: str) -> bool:
    """Return whether queries in an expression read other rows of a table.

    Queries for the row itself do not: ``pk__in``, or ``pk=OuterRef("pk")``.
    """
    is_same, within = False, node
    if isinstance(node, In) and _is_pk(node.lhs) and isinstance(node.rhs, Query):
        within, windows = node.rhs, node.rhs.where.contains_over_clause
        is_same = not (within.is_sliced or within.combinator or windows)
    elif isinstance(node, Query):
        equal = [it for it in _conditions(node.where) if isinstance(it, Exact)]
        is_same = any(
            it.rhs.alias != it.lhs.alias and it.rhs.target == it.lhs.target
            for it in equal
            if _is_pk(it.lhs) and isinstance(it.rhs, Col)
        )
    if not isinstance(within, Query):
        parts: list[Any] = getattr(node, "get_source_expressions", list)()
    elif within.combined_queries:
        parts = list(within.combined_queries)
    elif table in (joined_tables(within) if is_same else _tables_of(within)):
        return True
    else:
        parts = _parts_of(within)
    return any(_reads_others(part, table) for part in parts)


def _is_pk(expression: Any) -> bool:
    return isinstance(expression, Col) and expression.target.primary_key


def _parts_of(query: Query) -> list[Any]:
    return [query.where, *query.annotations.values(), *query.select]


def _tables_of(query: Query) -> set[str]:
    """Return the tables that a query reads; before it names any, that of its model."""
    own = query.model._meta.db_table  # type: ignore[union-attr]
    return {table.table_name for table in _tables(query)} or {own}


def _conditions(where: Any) -> list[Any]:
    is_all = not where.negated and where.connector == Q.AND
    return where.children if is_all else []


def joined_tables(query: Query) -> set[str]:
    """Return the tables that a query reads beside that of its model."""
    return {table.table_name for table in _tables(query) if table.join_type}


def inner_tables(query: Query) -> set[str]:
    """Return the tables that the queries within a query read."""
    tables: set[str] = set()
    for inner in chain.from_iterable(map(_queries_in, _parts_of(query))):
        tables |= _tables_of(inner) | inner_tables(inner)
    return tables


def unknown_joins(query: Query) -> list[str]:
    """Return the classes, not Django's own, by which a query joins other tables."""
    kinds = {type(table) for table in query.alias_map.values()} - {BaseTable, Join}
    return sorted([f"{kind.__module__}.{kind.__qualname__}" for kind in kinds])


def is_unknown_field(fault: BaseException) -> bool:
    """Return whether Django's own queries know no such field, whatever rows there are.

    Query classes of other libraries may know more fields than Django does.
    """
    if not isinstance(fault, FieldError | FieldDoesNotExist):
        return False
    frames = [frame for frame, _ in walk_tb(fault.__traceback__)]
    owners = [frame.f_locals.get("self") for frame in frames]
    queries = [type(owner) for owner in owners if isinstance(owner, Query)]
    names = [frames[-1].f_globals["__name__"], *[it.__module__ for it in queries]]
    return all(name.startswith("django.") for name in names)


def _tables(query: Query) -> list[Any]:
    """Return the tables that a query reads, as far as they are joined by Django."""
    return [
        table
        for name, table in query.alias_map.items()
        if type(table) in (BaseTable, Join) and query.alias_refcount[name]
    ]


def _queries_in(node: Any) -> Iterator[Query]:
    if isinstance(node, Query):
        yield from [node, *node.combined_queries]
    elif hasattr(node, "get_source_expressions"):
        for part in node.get_source_expressions():
            yield from _queries_in(part)
