"""Querysets and sequences, read by key range or by position, many rows at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from inspect import signature
from itertools import chain, islice
from typing import Any, TypeGuard

from django.core.exceptions import EmptyResultSet
from django.db import router
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.query import ModelIterable

from django_sitemaps_plus.conf import sample_site
from django_sitemaps_plus.core.key_ranges import EVERYTHING, KeyRange
from django_sitemaps_plus.exceptions import SourceError, StalePlanError

from .base import ModelSource
from .fetching import has_windows, narrowed, plain
from .keys import KeySpace, own_field
from .lines import CHUNK_ROWS

#: Rows of a source that is paged by position; a generator without end has more.
MAX_POSITIONS = 10_000_000


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
    return "site" in signature(source.get_queryset).parameters


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


def first_keys(queryset: QuerySet[Any], key: str, step: int) -> Iterator[str]:
    """Yield the key of each ``step``-th row, as text, in hops along the index."""
    keys, space = keys_of(queryset, key), KeySpace(queryset.model, key, queryset.db)
    found = list(keys[:1])
    while found:
        last = found[0]
        yield space.text(last)
        found = list(narrowed(keys, Q((f"{key}__gte", last)))[step : step + 1])
        if found == [last]:  # a join has made one row as many as fill a page
            found = list(narrowed(keys, Q((f"{key}__gt", last)))[:1])


def batches(rows: Iterable[Any], size: int = CHUNK_ROWS) -> Iterator[list[Any]]:
    """Yield rows, many at a time."""
    iterator = iter(rows)
    while batch := list(islice(iterator, size)):
        yield batch


def tuples(queryset: QuerySet[Any], size: int = CHUNK_ROWS) -> Iterator[list[Any]]:
    """Yield the rows of a ``values_list()``."""
    # iterator() takes half as long again: it handles each row by itself, by a cursor on
    # the server, where PostgreSQL outside a transaction copies the result aside first.
    # Nor is it execute_sql(CURSOR), of which caches of the ORM keep a list of rows.
    compiler = queryset.query.get_compiler(queryset.db)
    try:
        sql, params = compiler.as_sql()
    except EmptyResultSet:
        return
    with compiler.connection.cursor() as cursor:
        cursor.execute(sql, params)
        while rows := cursor.fetchmany(size):
            if compiler.has_extra_select:  # of DISTINCT, to order by
                rows = [row[: compiler.col_count] for row in rows]
            yield list(compiler.results_iter([rows]))


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


def positions(
    rows: Iterable[Any], step: int, key_range: KeyRange = EVERYTHING
) -> Iterator[str]:
    """Yield the position of each ``step``-th row of a range, as text."""
    first = position(key_range.low or "0")
    for number, _ in enumerate(at_positions(rows, key_range)):
        if number % step == 0:
            yield str(first + number)
