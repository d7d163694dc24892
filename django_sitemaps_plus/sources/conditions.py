"""Conditions that leave rows out: those of a queryset, and what editors exclude."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from typing import Any

from django.core.exceptions import EmptyResultSet, ValidationError
from django.db import Error
from django.db.models import Model, Q, QuerySet
from django.db.models.expressions import Col, RawSQL
from django.db.models.sql import Query
from django.db.models.sql.where import AND, WhereNode
from django.utils.translation import gettext as _

from django_sitemaps_plus.outages import is_outage

from .keys import key_field
from .querysets import narrowed


def unmet(
    rows: QuerySet[Any], row: Any, shown: Collection[str] | None = None
) -> Iterator[str]:
    """Yield each condition that a row does not meet, in words; none for a listed one.

    Each is tried alone, and rows without a related one stay for it to be tried on. With
    names of fields that may be shown, a condition on others is told without values.
    """
    own = Q(pk=row.pk)
    if narrowed(rows, own).exists():
        return
    where, is_said = rows.query.where, False
    is_list = where.connector == AND and not where.negated
    for condition in where.children if is_list else [where]:
        alone = rows.all()
        alone.query.where = WhereNode([condition])
        alone.query.promote_joins(list(alone.query.alias_map))
        if narrowed(alone, own).exists():
            continue
        is_said = True
        try:
            sql, values = rows.query.get_compiler(rows.db).compile(condition)
        except EmptyResultSet:
            yield _("the condition is one that no row meets, such as none()")
            continue
        if shown is not None and (hidden := _columns(condition, row) - {*shown}):
            # "" stands for anything but a column of the row, such as a subquery.
            names = ", ".join(sorted(hidden - {""}))
            veiled = _("a condition on fields that you do not see here: %s")
            yield veiled % (names or _("those of other rows"))
            continue
        words: str = _("the condition %s") % (sql % tuple(map(repr, values)))
        column = getattr(getattr(condition, "lhs", None), "target", None)
        if column is not None and isinstance(row, column.model):
            field = {"name": column.name, "value": column.value_from_object(row)}
            words += _("; its %(name)s is %(value)r") % field
        yield words
    if not is_said:
        yield _("no row meets all conditions of the queryset together")


def _columns(expression: Any, row: Any) -> set[str]:
    """Return the names of a row's fields in a condition; "" for anything else."""
    if isinstance(expression, Col):
        is_own = isinstance(row, expression.target.model)
        return {expression.target.name if is_own else ""}
    has_parts = hasattr(expression, "get_source_expressions")
    if isinstance(expression, RawSQL | Query) or not has_parts:
        return {""}
    parts = [it for it in expression.get_source_expressions() if it is not None]
    return set[str]().union(*[_columns(part, row) for part in parts])


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
