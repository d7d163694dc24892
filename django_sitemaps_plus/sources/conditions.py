"""Conditions that leave rows out: those of a queryset, and what editors exclude."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any, NamedTuple

from django.core.exceptions import EmptyResultSet
from django.db import Error
from django.db.models import (
    Aggregate,
    DateField,
    ExpressionWrapper,
    Lookup,
    Model,
    Q,
    QuerySet,
    Subquery,
    TimeField,
    Value,
    Window,
)
from django.db.models.expressions import Col, RawSQL
from django.db.models.functions import Now
from django.db.models.lookups import (
    Exact,
    GreaterThan,
    GreaterThanOrEqual,
    IsNull,
    LessThan,
    LessThanOrEqual,
    Range,
    YearLookup,
)
from django.db.models.sql import Query
from django.db.models.sql.where import AND, OR, ExtraWhere, WhereNode
from django.utils import timezone

from django_sitemaps_plus.outages import is_outage

from .keys import as_keys
from .querysets import narrowed, plain

#: How near a value is to the present time that was taken from it just before.
PRESENT = timedelta(minutes=1)

# Raw SQL that reads the clock of the database.
_NOW = re.compile(
    r"\bnow\s*\(|\(\s*'now'|\bcurrent_(date|time)|(clock|statement)_timestamp",
    re.IGNORECASE,
)

# Comparisons that turn when one side passes the other.
_COMPARISONS = (
    *(Exact, GreaterThan, GreaterThanOrEqual, LessThan, LessThanOrEqual),
    *(Range, YearLookup),
)

# Expressions that read other rows, or do not tell what they read.
_OTHERS = (Query, Subquery, Aggregate, Window, RawSQL, ExtraWhere)


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A part of the filter of a queryset that a row does not meet."""

    fields: set[str]  # by path from the row, also of what it refers to; "" for others
    lookup: Any = None  # the only comparison in it; None where there are others
    is_negated: bool = False  # whether rows must not meet the comparison
    parts: Sequence[Condition] = ()  # that the row does not meet either
    is_any: bool = False  # whether one of the parts is enough
    is_never: bool = False  # whether no row meets it, as of none()


def unmet(rows: QuerySet[Any], row: Any) -> list[Condition] | None:
    """Return the conditions that a row does not meet; None for one that is listed.

    Each is tried alone, and rows without a related one stay for it to be tried on. None
    is found where the row meets each, but not all together.
    """
    own, where = Q(pk=row.pk), rows.query.where
    if narrowed(rows, own).exists():
        return None
    paths = _paths(rows.query)

    def holds(node: Any, *, is_negated: bool = False) -> bool:
        alone = rows.all()
        alone.query.where = WhereNode([WhereNode([node], negated=is_negated)])
        alone.query.promote_joins(list(alone.query.alias_map))
        return narrowed(alone, own).exists()

    def part(node: Any, *, is_negated: bool = False) -> Condition:
        fields = _fields(node, row, paths)
        if not isinstance(node, WhereNode):
            return Condition(fields=fields, lookup=node, is_negated=is_negated)
        is_negated ^= node.negated
        is_any = (node.connector == OR) != is_negated
        parts = [
            part(it, is_negated=is_negated)
            for it in _unguarded(node.children)
            if is_any or not holds(it, is_negated=is_negated)
        ]
        if len(parts) == 1:
            return parts[0]
        parts = parts if node.connector in (AND, OR) else []
        return Condition(fields=fields, parts=parts, is_any=is_any)

    found = list[Condition]()
    is_list = where.connector == AND and not where.negated
    for node in where.children if is_list else [where]:
        if not holds(node):
            try:
                rows.query.get_compiler(rows.db).compile(node)
                found.append(part(node))
            except EmptyResultSet:
                found.append(Condition(fields=set(), is_never=True))
    return found


def _paths(query: Query) -> dict[str, str]:
    """Return the path from a row to each table of which it has one row, by alias."""
    paths: dict[str, str] = {}
    for alias, table in query.alias_map.items():  # each after what it joins
        link: Any = getattr(table, "join_field", None)
        base = paths.get(table.parent_alias or "")
        if table.parent_alias is None:
            paths[alias] = ""
        elif base is None or getattr(table, "filtered_relation", None):
            continue
        elif getattr(getattr(link, "remote_field", None), "parent_link", False):
            paths[alias] = base
        elif link.concrete and not link.many_to_many:
            paths[alias] = f"{base}{link.name}__"
    return paths


def _unguarded(nodes: Sequence[Any]) -> list[Any]:
    """Return nodes without what Django adds where a column may be null."""
    known = [it.lhs for it in nodes if isinstance(it, Lookup)]
    guards = [it for it in nodes if isinstance(it, IsNull) and not it.rhs]
    return [it for it in nodes if it not in guards or known.count(it.lhs) == 1]


def _fields(expression: Any, row: Any, paths: Mapping[str, str]) -> set[str]:
    """Return the paths of a row's fields in a condition; "" for anything else."""
    if isinstance(expression, Col):
        path, field = paths.get(expression.alias), expression.target
        is_known = path or (path == "" and isinstance(row, field.model))
        return {f"{path}{field.name}" if is_known else ""}
    has_parts = hasattr(expression, "get_source_expressions")
    if isinstance(expression, RawSQL | Query) or not has_parts:
        return {""}
    parts = [it for it in expression.get_source_expressions() if it is not None]
    return set[str]().union(*[_fields(part, row, paths) for part in parts])


def without_excluded(rows: QuerySet[Any]) -> QuerySet[Any]:
    """Return the rows that no editor excludes, by one small query for their keys.

    Only what writes rows asks for it: a plan and a fingerprint are the same whatever is
    excluded.
    """
    keys = excluded_keys(rows.model)
    return narrowed(rows, ~Q(pk__in=keys)) if keys else rows


def excluded_keys(model: type[Model]) -> list[Any]:
    """Return the primary keys of a model's excluded rows, which may lie elsewhere."""
    # The root of the package is imported before there are models.
    from django_sitemaps_plus.models import Exclusion
    from django_sitemaps_plus.models.base import contained
    from django_sitemaps_plus.models.exclusions import label_of

    try:
        with contained():
            texts = Exclusion.objects.keys(model=label_of(model))
    except Error as error:
        if is_outage(error):
            raise
        return []  # before the first migration of our tables
    return as_keys(model, [text for (text,) in texts])


class Moment(NamedTuple):
    """A comparison of a date or time of rows with what is none of theirs."""

    key: str  # the same at each build of a version
    lhs: Any  # the side that reads the column
    values: list[Any]  # of the other side
    is_indexed: bool  # whether an index finds the column by its values
    is_present: bool  # whether the other side is the present time, or made of it


def moments(rows: QuerySet[Any]) -> list[Moment]:
    """Return what a query compares dates and times of rows with; expressions as such.

    A row comes or goes by itself only where its own comparison turns: when the other
    side passes its value. That holds in ``and``, ``or``, ``not`` and ``Case`` alike.
    A value that never moves is among them. Left out is what reads other rows or two
    columns: inner queries, aggregates, and a column on each side.
    """
    moments_by_key: dict[str, Moment] = {}
    compiler = rows.query.get_compiler(rows.db)
    for lookup in _lookups(_parts(rows.query)):
        lhs, values = _sides(lookup) or (None, [])
        parts = [getattr(it, "microsecond", 0) for it in _times([lhs])]
        # A constant that is written has no microseconds, or all.
        if lhs is None or _is_of_present([lhs]) or not {0, 999_999}.issuperset(parts):
            continue
        text = f"{lookup.lookup_name} {compiler.compile(lhs)}"
        same = [it for key, it in moments_by_key.items() if key.startswith(text)]
        if all(it.values != values for it in same):
            key, is_now = f"{text} {len(same)}", _is_of_present(values)
            moment = Moment(key, lhs, values, _is_indexed(lhs), is_now)
            moments_by_key[key] = moment
    return [
        it._replace(key=hashlib.sha256(key.encode()).hexdigest()[:16])
        for key, it in moments_by_key.items()
    ]


def evaluated(rows: QuerySet[Any], moment: Moment) -> list[Any] | None:
    """Return the values by now, expressions by the database; None without any row."""
    named = {
        f"moment_{number}": ExpressionWrapper(it, moment.lhs.output_field)
        for number, it in enumerate(moment.values)
        if hasattr(it, "as_sql")
    }
    if not named:
        return moment.values
    every = rows.model._base_manager.using(rows.db).order_by()
    asked = every.annotate(**named).values(*named)[:1]
    for known in asked:
        return [
            known.get(f"moment_{number}", it) for number, it in enumerate(moment.values)
        ]
    return None


def turned(
    rows: QuerySet[Any], moment: Moment, before: Sequence[str], now: Sequence[Any]
) -> QuerySet[Any]:
    """Return the rows, listed or not, whose comparison has turned since it was kept.

    The comparison is of the listed rows; ``before`` has texts of its values then.
    """
    condition, field = WhereNode(connector=OR), moment.lhs.output_field
    for old, new in zip(before, now, strict=True):
        low, high = sorted([field.to_python(old), field.to_python(new)])
        within: Any = [GreaterThanOrEqual(moment.lhs, low)]
        within.append(LessThanOrEqual(moment.lhs, high))
        condition.add(WhereNode(within), OR)
    alone = plain(rows).order_by()
    alone.query.where = condition
    alone.query.promote_joins(list(alone.query.alias_map))
    return alone


def unfollowed(rows: QuerySet[Any], before: QuerySet[Any]) -> list[str]:
    """Return the columns that are compared with the present time in another way.

    A time that the same query did not have just before is taken from the present one.
    Raw SQL that reads it, or is compared with it, stands for the columns in it.
    """
    parts, names = _parts(rows.query), dict[str, None]()
    queries = [_lookups(_parts(it.query), is_deep=True) for it in (rows, before)]
    moving = {*_times(queries[0])}.difference(_times(queries[1]))
    sided = [(it, _sides(it)) for it in _lookups(parts)]
    followed = [k for k, it in sided if it and not _is_of_present([it[0]], (), moving)]
    tables = rows.query.alias_map.values()
    joins = [getattr(it, "filtered_relation", None) for it in tables]
    parts += [it.resolved_condition for it in joins if it is not None]
    for node in _lookups(parts, is_deep=True):
        sides = [node]
        if isinstance(node, Lookup):
            sides = [node.lhs, *_as_list(node.rhs)]
        if node not in followed and _is_of_present(sides, followed, moving):
            columns = [it for side in sides for it in columns_in(side, is_deep=True)]
            timed = list(filter(_is_timed, columns)) or columns
            names |= dict.fromkeys(
                it.target.name if isinstance(it, Col) else f"raw SQL '{_sql(it)[:100]}'"
                for it in timed
            )
    return [*names]


def is_present(moment: Any) -> bool:
    """Return whether a value is the time at which it is asked, or the day.

    That is the day in ``TIME_ZONE``, or in UTC, as ``timezone.now().date()`` has it.
    """
    now = timezone.now()
    if isinstance(moment, datetime):
        is_alike = timezone.is_aware(moment) == timezone.is_aware(now)
        return is_alike and abs(moment - now) < PRESENT
    days = {now.date()}
    if timezone.is_aware(now):
        zone = timezone.get_default_timezone()  # as sources are read
        days.add(timezone.localdate(now, zone))
    return isinstance(moment, date) and moment in days


def _is_of_present(nodes: Iterable[Any], but: Any = (), moving: Any = ()) -> bool:
    """Return whether they move with the clock, but for comparisons that are followed.

    Missed are other days than today, and times that are rounded, but for midnight.
    """
    times = _times(nodes, but)
    return any(isinstance(it, Now) or it in moving or is_present(it) for it in times)


def _times(nodes: Iterable[Any], but: Sequence[Any] = ()) -> Iterator[Any]:
    """Yield the dates and times in expressions, and ``Now()``; midnights as days."""
    for node in nodes:
        if isinstance(node, datetime) and node.time() == time.min:
            yield node.date()
        elif isinstance(node, Now | date | time):
            yield node
        elif node is not None and node not in but:
            parts = [*_as_list(getattr(node, "rhs", None))]
            parts.append(getattr(node, "value", None))
            if isinstance(node, RawSQL | ExtraWhere):
                parts += [Now()] if _NOW.search(_sql(node)) else node.params or ()
            parts += getattr(node, "get_source_expressions", list)()
            yield from _times([it for it in parts if it is not node], but)


def _parts(query: Query) -> list[Any]:
    return [query.where, *query.annotations.values()]


def _sql(raw: Any) -> str:
    return " AND ".join(getattr(raw, "sqls", None) or [raw.sql])


def _lookups(nodes: Iterable[Any], *, is_deep: bool = False) -> Iterator[Any]:
    """Yield the comparisons in expressions; on demand raw ones and of other rows."""
    for node in nodes:
        if isinstance(node, Lookup) or (is_deep and isinstance(node, ExtraWhere)):
            yield node
        if isinstance(node, Query) and is_deep:
            yield from _lookups(_parts(node), is_deep=is_deep)
        elif is_deep or not isinstance(node, _OTHERS):
            parts: list[Any] = getattr(node, "get_source_expressions", list)()
            yield from _lookups(parts, is_deep=is_deep)


def _sides(lookup: Lookup[Any]) -> tuple[Any, list[Any]] | None:
    """Return the side that reads a date or time, and others that read nothing."""
    sides = [lookup.lhs, *_as_list(lookup.rhs)]
    reading = [side for side in sides if columns_in(side)]
    if len(reading) != 1 or not isinstance(lookup, _COMPARISONS):
        return None
    columns = columns_in(reading[0])
    is_plain = all(isinstance(it, Col) for it in columns)
    if not any(map(_is_timed, columns)) or not is_plain:
        return None
    others = [side for side in sides if side is not reading[0]]
    return reading[0], [it.value if isinstance(it, Value) else it for it in others]


def columns_in(node: Any, *, is_deep: bool = False) -> list[Any]:
    """Return the columns that an expression reads, and raw SQL in it.

    Queries and the like are returned as such, or on demand what they select.
    """
    is_whole = not is_deep and isinstance(node, _OTHERS)
    if is_whole or isinstance(node, Col | RawSQL | ExtraWhere):
        return [node]
    parts: list[Any] = getattr(node, "get_source_expressions", list)()
    if isinstance(node, Query):
        parts = [*node.select, *node.annotation_select.values()]
    parts = [it for it in parts if it is not None]
    return [it for part in parts for it in columns_in(part, is_deep=is_deep)]


def _is_timed(column: Any) -> bool:
    return isinstance(getattr(column, "target", None), DateField | TimeField)


def _as_list(value: Any) -> list[Any]:
    return [*value] if isinstance(value, list | tuple) else [value]


def _is_indexed(lhs: Any) -> bool:
    if not isinstance(lhs, Col):
        return False
    field: Any = lhs.target
    meta = field.model._meta
    found: list[Any] = [*meta.indexes, *meta.total_unique_constraints]
    named = [it.fields for it in found if it.fields and not it.condition]
    first = [fields[0].removeprefix("-") for fields in named]
    return field.db_index or field.unique or field.name in first
