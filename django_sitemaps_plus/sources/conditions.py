"""Conditions of a queryset that leave a row out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.core.exceptions import EmptyResultSet
from django.db.models import Q, QuerySet
from django.db.models.sql.where import AND, WhereNode
from django.utils.translation import gettext as _

from .fetching import narrowed


def unmet(rows: QuerySet[Any], row: Any) -> Iterator[str]:
    """Yield each condition that a row does not meet, in words; none for a listed one.

    Each is tried alone, and rows without a related one stay for it to be tried on.
    """
    own = Q(pk=row.pk)
    if narrowed(rows, own).exists():
        return
    where, is_found = rows.query.where, False
    is_list = where.connector == AND and not where.negated
    for condition in where.children if is_list else [where]:
        alone = rows.all()
        alone.query.where = WhereNode([condition])
        alone.query.promote_joins(list(alone.query.alias_map))
        if not narrowed(alone, own).exists():
            is_found = True
            yield _words(rows, condition, row)
    if not is_found:
        yield _("no row meets all conditions of the queryset together")


def _words(rows: QuerySet[Any], condition: Any, row: Any) -> str:
    compiler = rows.query.get_compiler(rows.db)
    try:
        sql, values = compiler.compile(condition)
    except EmptyResultSet:
        return _("the condition is one that no row meets, such as none()")
    words: str = _("the condition %s") % (sql % tuple(map(repr, values)))
    column = getattr(getattr(condition, "lhs", None), "target", None)
    if column is not None and isinstance(row, column.model):
        found = {"name": column.name, "value": column.value_from_object(row)}
        words += _("; its %(name)s is %(value)r") % found
    return words
