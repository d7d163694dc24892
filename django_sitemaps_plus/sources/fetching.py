"""Querysets of others, narrowed and read as a loop over them reads them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from inspect import getattr_static
from types import NoneType
from typing import Any

from django.core.exceptions import EmptyResultSet, FullResultSet
from django.db.models import BooleanField, Func, Model, Q, QuerySet
from django.db.models.base import ModelState
from django.db.models.expressions import Col
from django.db.models.fields.files import FileDescriptor, ImageFileDescriptor
from django.db.models.fields.related_descriptors import ForeignKeyDeferredAttribute
from django.db.models.query import ModelIterable
from django.db.models.query_utils import DeferredAttribute
from django.db.models.signals import post_init, pre_init

from .lines import CHUNK_ROWS

try:
    from django.db.models import FETCH_ONE
except ImportError:  # before Django 6.1
    FETCH_ONE = None  # type: ignore[assignment]

# Methods that take part in making an instance.
_MAKERS = {"__new__", "__init__", "__setattr__", "from_db"}
# Attributes whose value an instance keeps as it is given; or there is none yet.
_PLAIN = {
    DeferredAttribute,
    ForeignKeyDeferredAttribute,
    FileDescriptor,
    ImageFileDescriptor,
    NoneType,
}

#: Parts of SQL that matter here: quoted texts, parentheses, queries within.
_PARTS = re.compile(
    r"""'[^']*'|"[^"]*"|`[^`]*`|\(\s*SELECT\b|[()]|\bOVER\b""", re.IGNORECASE
)


def quickly_made(queryset: QuerySet[Any]) -> QuerySet[Any]:
    """Return a queryset whose instances take half as long to make, where that is safe.

    No code of the project may take part: neither a method or signal, nor a field whose
    attribute is its own. ``Model.__init__()`` then does no more than is done here.
    """
    if _is_plain(queryset):
        queryset = queryset.all()
        queryset._iterable_class = _PlainInstances
    return queryset


def _is_plain(queryset: QuerySet[Any]) -> bool:
    model, query = queryset.model, queryset.query
    names = [field.attname for field in model._meta.concrete_fields]
    names += query.annotation_select
    kinds = {type(getattr_static(model, name, None)) for name in names}
    return (
        queryset._iterable_class is ModelIterable
        and not query.select_related
        and not queryset._known_related_objects  # type: ignore[attr-defined]
        and getattr(queryset, "_fetch_mode", None) is FETCH_ONE
        and [it for it in model.__mro__ if _MAKERS & vars(it).keys()] == [Model, object]
        and not (pre_init.has_listeners(model) or post_init.has_listeners(model))
        and kinds <= _PLAIN
    )


class _PlainInstances(ModelIterable):  # type: ignore[type-arg]
    """Sets the attributes of each instance at once."""

    def __iter__(self) -> Iterator[Any]:
        queryset: Any = self.queryset
        model, db = queryset.model, queryset.db
        compiler = queryset.query.get_compiler(db)
        found = compiler.execute_sql(
            chunked_fetch=self.chunked_fetch, chunk_size=self.chunk_size
        )
        fields = compiler.klass_info["select_fields"]
        names = {compiler.select[it][0].target.attname: it for it in fields}
        names |= compiler.annotation_col_map
        ordered = sorted(names, key=names.__getitem__)
        new = model.__new__
        for row in compiler.results_iter(found):
            instance = new(model)
            state = instance._state = ModelState()
            state.db, state.adding = db, False
            instance.__dict__.update(zip(ordered, row, strict=True))
            yield instance


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

    Instances of a class that takes part in fetching them are in memory together.
    """
    if fetches(queryset):
        return list(queryset)
    # An iterator() of the project is not what a loop asks.
    return QuerySet.iterator(quickly_made(queryset), CHUNK_ROWS)


def fetches(queryset: QuerySet[Any]) -> bool:
    """Return whether the class of a queryset takes part in fetching its rows."""
    kind, names = type(queryset), ("_fetch_all", "__iter__")
    return any(getattr(kind, it) is not getattr(QuerySet, it) for it in names)
