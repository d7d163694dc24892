"""Paths to many: what a row is related to, read by one more query a page."""

from __future__ import annotations

from bisect import bisect
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import accumulate, chain, islice, pairwise, takewhile
from typing import Any

from django.core.exceptions import FieldDoesNotExist, FieldError
from django.db.models import Aggregate, F, Model, QuerySet, Window
from django.db.models.expressions import Col
from django.db.models.sql.query import Query

from django_sitemaps_plus.core.limits import MAX_IMAGES

from .base import ModelSource
from .columns import CodedColumn, Column, Problem
from .querysets import by_key, fetches, has_windows, plain, tuples

#: Fields that may be of several related rows, and what messages call one value.
SEVERAL = {"images": "an image", "videos": "a video", "alternates": "an alternate"}

#: Returns those rows of a queryset that are read, such as the rows of a page.
Narrow = Callable[[QuerySet[Any]], QuerySet[Any]]


def many(model: type[Model], path: str) -> str:
    """Return a path up to its last relation to many; "" where it crosses none."""
    to_many, names = "", path.split("__")
    with suppress(FieldDoesNotExist):  # the rest is a lookup, or an annotation
        for depth, name in enumerate(names, 1):
            relation: Any = model._meta.get_field(name)
            if relation.related_model is None:
                break
            if any(it.m2m for it in relation.path_infos):
                to_many = "__".join(names[:depth])
            model = relation.related_model
    return to_many


def path_model(model: type[Model], path: str) -> type[Model]:
    """Return the model at the end of a path of relations.

    Raises:
        FieldDoesNotExist: the path leads nowhere.
    """
    for name in path.split("__"):
        related: Any = model._meta.get_field(name).related_model
        if related is None:
            raise FieldDoesNotExist(f"{model._meta.label}.{name} is not a relation")
        model = related
    return model


def path_to_many(model: type[Model], name: str, value: object) -> str:
    """Return the path of a declaration that is read by a query of its own, or ""."""
    path = value.name if type(value) is F else value  # type: ignore[attr-defined]
    if name in SEVERAL and isinstance(path, str) and many(model, path):
        return path
    return ""


def related_values(rows: QuerySet[Any], key: str, path: str) -> QuerySet[Any]:
    """Return pairs of the key of a row, and a value to which a path leads from it.

    Rows come in the order of their key, their values in that of the related model.
    Without such values a row has one pair, whose value is None.
    """
    relation, rows = many(rows.model, path), by_key(rows, key)
    orders = (*rows.query.order_by, relation, f"{relation}__pk")
    return rows.order_by(*orders).values_list(F(key), F(path))


def ordering_paths(model: type[Model], path: str) -> Iterator[str]:
    """Yield the paths by which the values at the end of a path to many are ordered."""
    waiting, seen = [many(model, path)], set[str]()
    while waiting:
        relation = waiting.pop()
        with suppress(FieldDoesNotExist):  # a column has no order of its own
            meta = path_model(model, relation)._meta
            if meta.label not in seen:
                seen.add(meta.label)
                named = chain.from_iterable(map(_named_in, meta.ordering or ()))
                paths = [f"{relation}__{path}" for path in named]
                waiting += paths
                yield from paths


def _named_in(ordering: Any) -> Iterator[str]:
    if isinstance(ordering, str):
        yield ordering.removeprefix("-")
    elif isinstance(ordering, F):
        yield ordering.name  # type: ignore[attr-defined]  # not in the stubs
    else:
        for part in filter(None, ordering.get_source_expressions()):
            yield from _named_in(part)


def related_queries(
    source: ModelSource, queryset: QuerySet[Any]
) -> Iterator[QuerySet[Any]]:
    """Yield the query of each path to many that a source declares, for all rows."""
    for name in SEVERAL:
        if path := path_to_many(source.model, name, getattr(source, name)):
            rows: QuerySet[Any] = QuerySet(queryset.model, using=queryset.db)
            yield related_values(rows, source.key, path)


class Related:
    """Takes the values of a path to many from rows of a queryset, as they come."""

    def __init__(
        self,
        queryset: QuerySet[Any],
        narrow: Narrow,  # leaves the rows that come
        key: str,
        path: str,
        take: Callable[[Any], Any],  # takes the key from a row
    ) -> None:
        rows = related_rows(queryset, narrow, key)
        self._pairs = tuples(related_values(rows, key, path))
        self._take = take
        # A class that takes part in fetching rows may order them anew.
        self._in_order = not fetches(queryset)
        # Values that were read, by key, of rows that may be still to come.
        self._ahead = defaultdict[Any, list[Any]](list)

    def __call__(self, rows: Sequence[Any]) -> Sequence[Any]:
        keys, ahead = [*map(self._take, rows)], self._ahead
        last = keys[-1]
        # Keys are compared for equality alone: their order is that of the database.
        while not self._in_order or last not in ahead or next(reversed(ahead)) == last:
            batch = next(self._pairs, None)
            if batch is None:
                break
            for key, value in batch:
                if value:
                    ahead[key].append(value)
                else:
                    ahead[key]  # is known to have none, so far
        values = [ahead.get(key, ()) for key in keys]
        # A row that came in between the two queries is not among them.
        if self._in_order and last in ahead:
            for key in [*takewhile(last.__ne__, ahead)]:
                del ahead[key]
        return values


def related_rows(queryset: QuerySet[Any], narrow: Narrow, key: str) -> QuerySet[Any]:
    """Return those rows of a queryset, with all to which they are related."""
    # All values of a row count, whatever joins and conditions have made it listed.
    rows = narrow(QuerySet(queryset.model, using=queryset.db))
    # A query with windows would read all of its rows once more.
    if queryset.query.where and not has_windows(queryset):
        listed = plain(narrow(queryset)).values(key)
        rows = rows.filter(**{f"{key}__in": listed})
    return rows


@dataclass(frozen=True, kw_only=True)
class SeveralColumn(Column):
    """Writes several values of each row, each once.

    A bad one is left out, and the others stay.
    """

    one: Column

    def texts(self, values: Sequence[Any], problems: list[Problem]) -> list[str]:

        def listed(value: Any) -> Sequence[Any]:
            """Return the values of one related row: a list may have several."""
            if not isinstance(value, list | tuple) or not value:
                return [value]
            # A pair of hreflang and URL is one value, as JSON has it.
            is_pair = self.name == "alternates" and isinstance(value[0], str)
            return [value] if is_pair else value

        flat = [*chain.from_iterable(values)]
        if {*map(type, flat)} - {str}:
            values = [[it for some in row for it in listed(some)] for row in values]
            flat = [*chain.from_iterable(values)]
        between, ends = self.after + self.before, [*accumulate(map(len, values))]
        bounds = [*pairwise([0, *ends])]
        bad: list[Problem] = []
        texts = self.one.texts(flat, bad) if flat else []
        most = max(map(len, values))
        if not bad and len({*texts}) == len(texts) and most <= MAX_IMAGES:
            return [between.join(texts[first:end]) for first, end in bounds]
        name = SEVERAL[self.name]
        problems += [(bisect(ends, at), name, error) for at, _, error in bad]
        unique = [dict.fromkeys(filter(None, texts[a:b])) for a, b in bounds]
        for row, each in enumerate(unique):
            if (count := len(each)) > MAX_IMAGES:
                words = f"{count:,} values: the first {MAX_IMAGES:,} are listed"
                problems.append((row, name, ValueError(words)))
        return [between.join(islice(each, MAX_IMAGES)) for each in unique]


def several_column(one: Column) -> SeveralColumn:
    """Return what writes several values as a column writes one."""
    if one.name == "alternates":  # whose column takes the list of a row
        one = CodedColumn(name=one.name, write=one.write)
    text = {"before": one.before, "after": one.after}
    return SeveralColumn(name=one.name, write=one.write, one=one, **text)


def joined_many(query: Query, expression: Any) -> str:
    """Return the model of which an expression would join many rows to one, or "".

    Aggregates may: they make one row of them. A join of the query itself is its own,
    as is that of a FilteredRelation, whose condition may leave one row.
    """
    columns: Any = query.model._meta.concrete_fields  # type: ignore[union-attr]
    if type(expression) is F and expression.name in [it.name for it in columns]:  # type: ignore[attr-defined]
        return ""  # the usual case, for which nothing need be resolved
    joined = query.clone()
    try:
        resolved = expression.resolve_expression(joined)
    except FieldError:  # the query says what is wrong
        return ""
    for column in _columns(resolved):
        alias = column.alias
        while not query.alias_refcount.get(alias):
            join: Any = joined.alias_map.get(alias)
            relation = getattr(join, "join_field", None)  # None for the model's table
            if relation is None or getattr(join, "filtered_relation", None):
                break
            if getattr(relation, "multiple", False) and not relation.field.unique:
                return str(relation.related_model._meta.label)
            alias = join.parent_alias
    return ""


def _columns(node: Any, *, is_over: bool = False) -> Iterator[Col]:
    """Yield the columns that an expression names outside of aggregates."""
    if isinstance(node, Col):
        yield node
    elif hasattr(node, "get_external_cols"):  # a query of its own
        yield from node.get_external_cols()
    # An aggregate makes one row of several, but not over a window.
    elif is_over or not isinstance(node, Aggregate):
        for part in getattr(node, "get_source_expressions", tuple)():
            yield from _columns(part, is_over=isinstance(node, Window))
