"""Conditions that leave rows out: those of a queryset, and what editors exclude."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from contextlib import suppress
from typing import Any, NamedTuple

from django.core.exceptions import EmptyResultSet, ValidationError
from django.db import Error
from django.db.models import Model, Q, QuerySet
from django.db.models.expressions import Col, RawSQL
from django.db.models.lookups import IsNull
from django.db.models.sql import Query
from django.db.models.sql.where import AND, WhereNode

from django_sitemaps_plus.outages import is_outage

from .keys import key_field
from .querysets import narrowed


class Condition(NamedTuple):
    """A part of the filter of a queryset."""

    sql: str  # "" of one that no row meets, such as none()
    fields: set[str]  # of the row, by name; "" stands for anything else
    lookup: Any  # the only comparison in it; None where there are others
    is_negated: bool  # whether rows must not meet the comparison


def unmet(rows: QuerySet[Any], row: Any) -> list[Condition] | None:
    """Return the conditions that a row does not meet; None for one that is listed.

    Each is tried alone, and rows without a related one stay for it to be tried on. None
    is found where the row meets each, but not all together.
    """
    own = Q(pk=row.pk)
    if narrowed(rows, own).exists():
        return None
    found, where = list[Condition](), rows.query.where
    own_aliases: set[str] = set()
    for alias, table in rows.query.alias_map.items():  # each after what it joins
        link = getattr(getattr(table, "join_field", None), "remote_field", None)
        is_parent = getattr(link, "parent_link", False)
        if table.parent_alias is None or (
            is_parent and table.parent_alias in own_aliases
        ):
            own_aliases.add(alias)
    is_list = where.connector == AND and not where.negated
    conditions: list[Any] = [*where.children] if is_list else [where]
    for condition in conditions:
        alone = rows.all()
        alone.query.where = WhereNode([condition])
        alone.query.promote_joins(list(alone.query.alias_map))
        if narrowed(alone, own).exists():
            continue
        sql, values = "", list[Any]()
        with suppress(EmptyResultSet):
            sql, values = rows.query.get_compiler(rows.db).compile(condition)
        is_negated = isinstance(condition, WhereNode) and condition.negated
        parts = condition.children if is_negated else [condition]
        # Django adds to a negation that its column may be null.
        if is_negated and len(parts) == 2 and isinstance(parts[1], IsNull):
            first, last = [getattr(it, "lhs", None) for it in parts]
            parts = parts[:1] if first == last and not parts[1].rhs else parts
        fields = _fields(condition, row, own_aliases)
        is_one = len(parts) == 1 and "" not in fields
        lookup = parts[0] if is_one else None
        told = sql % tuple(map(repr, values))
        found.append(Condition(told, fields, lookup, is_negated))
    return found


def _fields(expression: Any, row: Any, aliases: Collection[str]) -> set[str]:
    """Return the names of a row's fields in a condition; "" for anything else."""
    if isinstance(expression, Col):
        is_own = isinstance(row, expression.target.model)
        is_own &= expression.alias in aliases
        return {expression.target.name if is_own else ""}
    has_parts = hasattr(expression, "get_source_expressions")
    if isinstance(expression, RawSQL | Query) or not has_parts:
        return {""}
    parts = [it for it in expression.get_source_expressions() if it is not None]
    return set[str]().union(*[_fields(part, row, aliases) for part in parts])


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


def as_keys(model: type[Model], texts: Iterable[str]) -> list[Any]:
    """Return primary keys of their texts; one of another type is that of no row."""
    keys, field = [], key_field(model, "pk")
    for text in texts:
        with suppress(ValidationError, ValueError, TypeError):
            key = field.to_python(text)
            field.run_validators(key)  # the database may refuse a number too large
            keys.append(key)
    return keys
