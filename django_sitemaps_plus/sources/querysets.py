"""Querysets and sequences: narrowed, cut into ranges, and read many rows at a time."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from inspect import getattr_static, signature
from itertools import chain, islice
from types import NoneType
from typing import Any, TypeGuard, TypeVar

from django.core.exceptions import EmptyResultSet, FullResultSet
from django.db import router
from django.db.models import BooleanField, Exists, Func, Model, OuterRef, Q, QuerySet
from django.db.models.base import ModelState
from django.db.models.expressions import Col
from django.db.models.fields.files import FileDescriptor, ImageFileDescriptor
from django.db.models.fields.related_descriptors import ForeignKeyDeferredAttribute
from django.db.models.query import ModelIterable
from django.db.models.query_utils import DeferredAttribute
from django.db.models.signals import post_init, pre_init

from django_sitemaps_plus.core.key_ranges import KeyRange
from django_sitemaps_plus.exceptions import (
    ConfigurationError,
    SourceError,
    StalePlanError,
)
from django_sitemaps_plus.sites import sample_site

from .base import ModelSource
from .keys import KeySpace, own_field
from .lines import CHUNK_ROWS

try:
    from django.db.models import FETCH_ONE
except ImportError:  # before Django 6.1
    FETCH_ONE = None  # type: ignore[assignment]

R = TypeVar("R")

#: Rows of a source that is paged by position; a generator without end has more.
MAX_POSITIONS = 10_000_000

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

# To ask takes longer than to run a query.
_signature = lru_cache(1_000)(signature)

#: Parts of SQL that matter here: quoted texts, parentheses, queries within.
_PARTS = re.compile(
    r"""'[^']*'|"[^"]*"|`[^`]*`|\(\s*SELECT\b|[()]|\bOVER\b""", re.IGNORECASE
)


def queryset_of(source: ModelSource) -> QuerySet[Any]:
    """Return the rows that a source lists on the site in force."""
    site = sample_site()
    given = {"site": site} if takes_site(source) else {}
    rows = source.get_queryset(**given)
    if source.site_path is None:
        return rows
    on_site = Q(**{source.site_path: site.name})
    if has_windows(rows):  # a join would repeat the rows that they see
        listed = source.model._base_manager.filter(on_site, pk=OuterRef("pk"))
        on_site = Q(Exists(listed))
    return narrowed(rows, on_site)


def takes_site(source: ModelSource) -> bool:
    """Return whether ``get_queryset()`` takes the site that is read for."""
    method: Any = source.get_queryset
    return "site" in _signature(getattr(method, "__func__", method)).parameters


def pages_by_key(queryset: object) -> TypeGuard[QuerySet[Any]]:
    """Return whether the rows of a queryset can be read by key range."""
    if not isinstance(queryset, QuerySet):
        return False
    query = queryset.query
    return (
        issubclass(queryset._iterable_class, ModelIterable)
        and not query.is_sliced
        and not query.combinator
        and not query.distinct_fields
    )


def on_write_database(queryset: QuerySet[Any], using: str | None) -> QuerySet[Any]:
    """Return the queryset on the database that is written to: replicas may lag."""
    has_own = getattr(queryset, "_db", None) is not None
    if using is None and not has_own:
        using = router.db_for_write(queryset.model)
    return queryset if using is None else queryset.using(using)


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
    if has_windows(queryset):
        return QuerySet.filter(queryset, _Outside(condition))
    narrow = QuerySet.filter(queryset, condition)
    # SQLite searches by the first bound of a key alone, and the project may have one.
    where, own = narrow.query.where, len(condition)
    where.children = where.children[-own:] + where.children[:-own]
    return narrow


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
    selected = query.annotation_select.values()
    if expressions := [it for it in selected if not isinstance(it, Col)]:
        compiler = query.get_compiler(queryset.db)
        for expression in expressions:
            with suppress(EmptyResultSet, FullResultSet):  # a constant
                texts.append(compiler.compile(expression)[0])
    for sql in texts:
        are_queries: list[bool] = []  # of the open parentheses
        for match in _PARTS.finditer(sql):
            part = match[0].upper()
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


def in_range(queryset: QuerySet[Any], key: str, key_range: KeyRange) -> QuerySet[Any]:
    """Return the rows whose keys are in the range, ordered by key."""
    value = KeySpace(queryset.model, key, queryset.db).value
    bounds = {"gte": key_range.low, "lt": key_range.high}
    condition = [(f"{key}__{k}", value(v)) for k, v in bounds.items() if v is not None]
    return by_key(narrowed(queryset, Q(*condition)), key)


def by_key(queryset: QuerySet[Any], key: str) -> QuerySet[Any]:
    """Return the rows ordered by key, from the lowest, whatever their order was."""
    # A relation's name would order by the Meta.ordering of the model behind it.
    column = key if key == "pk" else own_field(queryset.model, key).attname
    ordered = QuerySet.order_by(queryset, column)  # whatever its class adds
    # reverse() outlasts order_by().
    ordered.query.standard_ordering = True
    return ordered


def keys_of(queryset: QuerySet[Any], key: str) -> QuerySet[Any]:
    """Return the keys of the rows, ascending."""
    return by_key(plain(queryset), key).values_list(key, flat=True)


def few_keys(queryset: QuerySet[Any], key: str, *beside: str) -> Selected:
    """Return the query of the first keys, with fields beside them."""
    keys = by_key(plain(queryset), key).values_list(key, *beside)
    return Selected(keys[: CHUNK_ROWS + 1])


def first_keys(
    queryset: QuerySet[Any],
    key: str,
    step: int,
    read: Callable[[QuerySet[Any]], Sequence[Any]] | None = None,
) -> Iterator[str]:
    """Yield the key of each ``step``-th row, as text, in hops along the index.

    The first query finds whether there are few rows; what reads its keys may be given.
    """
    keys, space = None, KeySpace(queryset.model, key, queryset.db)
    following = read(queryset) if read else few_keys(queryset, key).keys()
    if len(following) > min(step, CHUNK_ROWS):
        keys = keys_of(queryset, key)
    while following:
        last = following[0]
        yield space.text(last)
        if keys is None:
            return
        following = list(narrowed(keys, Q((f"{key}__gte", last)))[step : step + 1])
        if following == [last]:  # a join has made one row as many as fill a page
            following = list(narrowed(keys, Q((f"{key}__gt", last)))[:1])


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


def quickly_made(queryset: QuerySet[Any]) -> QuerySet[Any]:
    """Return a queryset whose instances take half as long to make, where that is safe.

    No code of the project may take part: neither a method or signal, nor a field whose
    attribute is its own. ``Model.__init__()`` then does no more than is done here.
    """
    model, query = queryset.model, queryset.query
    names = [field.attname for field in model._meta.concrete_fields]
    names += query.annotation_select
    kinds = {type(getattr_static(model, name, None)) for name in names}
    if (
        queryset._iterable_class is ModelIterable
        and not query.select_related
        and not queryset._known_related_objects  # type: ignore[attr-defined]
        and getattr(queryset, "_fetch_mode", None) is FETCH_ONE
        and [it for it in model.__mro__ if _MAKERS & vars(it).keys()] == [Model, object]
        and not (pre_init.has_listeners(model) or post_init.has_listeners(model))
        and kinds <= _PLAIN
    ):
        queryset = queryset.all()
        queryset._iterable_class = _PlainInstances
    return queryset


class _PlainInstances(ModelIterable):  # type: ignore[type-arg]
    """Sets the attributes of each instance at once."""

    def __iter__(self) -> Iterator[Any]:
        queryset: Any = self.queryset
        model, db = queryset.model, queryset.db
        compiler = queryset.query.get_compiler(db)
        results = compiler.execute_sql(
            chunked_fetch=self.chunked_fetch, chunk_size=self.chunk_size
        )
        fields = compiler.klass_info["select_fields"]
        names = {compiler.select[it][0].target.attname: it for it in fields}
        names |= compiler.annotation_col_map
        ordered = sorted(names, key=names.__getitem__)
        new = model.__new__
        for row in compiler.results_iter(results):
            instance = new(model)
            state = instance._state = ModelState()
            state.db, state.adding = db, False
            instance.__dict__.update(zip(ordered, row, strict=True))
            yield instance


def batches(rows: Iterable[Any], size: int = CHUNK_ROWS) -> Iterator[list[Any]]:
    """Yield rows, many at a time."""
    iterator = iter(rows)
    while batch := list(islice(iterator, size)):
        yield batch


class Selected:
    """A ``values_list()`` that is compiled once."""

    def __init__(self, queryset: QuerySet[Any]) -> None:
        self._compiler = queryset.query.get_compiler(queryset.db)
        #: SQL and values; None for a query that has no rows.
        self._statement: tuple[str, tuple[Any, ...]] | None = None
        with suppress(EmptyResultSet):
            self._statement = self._compiler.as_sql()

    def identity(self) -> tuple[Any, ...]:
        """Return what tells its rows from those of others; empty without rows."""
        if self._statement is None:
            return ()
        sql, values = self._statement
        return self._compiler.using, sql, *values, *map(type, values)

    def keys(self) -> list[Any]:
        """Return the first value of each row."""
        return [key for batch in self.batches() for key, *_ in batch]

    def batches(self, size: int = CHUNK_ROWS) -> Iterator[list[Any]]:
        """Yield the rows, many at a time."""
        # iterator() takes half as long again: it handles each row by itself, by a
        # cursor on the server, where PostgreSQL outside a transaction copies the result
        # aside first. Nor is it execute_sql(CURSOR), of which caches of the ORM keep a
        # list of rows.
        compiler = self._compiler
        if self._statement is None:
            return
        with compiler.connection.cursor() as cursor:
            cursor.execute(*self._statement)
            while rows := cursor.fetchmany(size):
                if compiler.has_extra_select:  # of DISTINCT, to order by
                    rows = [row[: compiler.col_count] for row in rows]
                yield list(compiler.results_iter([rows]))


def tuples(queryset: QuerySet[Any], size: int = CHUNK_ROWS) -> Iterator[list[Any]]:
    """Yield the rows of a ``values_list()``."""
    yield from Selected(queryset).batches(size)


def listing(rows: R, method: str) -> R:
    """Return what a method of the user lists; raise if that is nothing to read."""
    if not hasattr(rows, "__iter__") and not hasattr(rows, "__getitem__"):
        hint = "Return a list or a queryset."
        if rows is None or hasattr(rows, "get_queryset"):
            hint = "Does it lack a return?" if rows is None else "Add .all() to it."
        raise ConfigurationError(
            f"{method} returned {rows!r}, which has no rows. {hint}"
        )
    return rows


def at_positions(rows: Iterable[Any], key_range: KeyRange) -> Iterator[Any]:
    """Return the rows whose positions are in the range; raise if there is no end."""
    low = position(key_range.low or "0")
    if key_range.high is not None:
        return islice(rows, low, position(key_range.high))
    remaining = iter(rows)
    most = max(low, MAX_POSITIONS)
    return chain(islice(remaining, low, most), _end_of(remaining))


def _end_of(rows: Iterator[Any]) -> Iterator[Any]:
    """Yield nothing, and raise if there are more rows."""
    for _ in rows:
        raise SourceError(
            f"there are more than {MAX_POSITIONS:,} rows without keys. Does the "
            "generator end? So many rows need a model and its key."
        )
    yield from ()


def position(bound: str) -> int:
    """Return the position that a bound of a plan names."""
    if not (bound.isascii() and bound.isdecimal()):
        raise StalePlanError(
            f"{bound!r} is not a position: the section was paged by key when the plan "
            "was made"
        )
    return int(bound)


def positions(rows: Iterable[Any], step: int, key_range: KeyRange) -> Iterator[str]:
    """Yield the position of each ``step``-th row of a range, as text."""
    first = position(key_range.low or "0")
    for number, _ in enumerate(at_positions(rows, key_range)):
        if number % step == 0:
            yield str(first + number)
