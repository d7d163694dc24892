"""Readers: how the pages of each kind of source are cut and read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cached_property, partial, singledispatch
from itertools import chain
from operator import attrgetter
from typing import Any, Generic, TypeVar

from django.db.models import Model, QuerySet

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.core.key_ranges import EVERYTHING, KeyRange, most_entries
from django_sitemaps_plus.core.limits import LimitExceededError
from django_sitemaps_plus.exceptions import ConfigurationError

from .base import Source
from .columns import Getter, called, constant
from .declarations import Columns, compile_lines, declarations_of
from .elements import COLUMNS, NAMESPACE_OF
from .keys import KeySpace
from .lines import CHUNK_ROWS, Tally, lines_of
from .model import ModelSource
from .positions import at_positions, positions
from .querysets import (
    batches,
    by_key,
    first_keys,
    in_range,
    on_write_database,
    pages_by_key,
    tuples,
)
from .views import ViewSource

S = TypeVar("S", bound=Source)

#: What makes lines of rows.
Render = Callable[[list[Any]], str]


class Reader(Generic[S]):
    """Reads a source that yields entries; pages are positions among them."""

    #: Whether the code of the source decides what is on a page; its pages never merge.
    has_own_paging: bool = False
    #: The field that pages are cut by, where they are ranges of keys.
    key: str = "pk"
    #: The model whose saves concern the rows.
    tracked_model: type[Model] | None = None

    def __init__(self, source: S) -> None:
        self.source = source

    @property
    def extensions(self) -> Collection[str]:
        """Kinds of extension element that entries may have."""
        return self.source.extensions

    @property
    def rows_per_page(self) -> int:
        """Rows that fill a page."""
        return self.source.limit

    @property
    def planned_rows(self) -> int:
        """Rows that a first plan gives a page; where rows come in anywhere, fewer."""
        space = self.key_space()
        if space is None or space.grows:
            return self.rows_per_page
        return max(1, self.rows_per_page * 4 // 5)

    @cached_property
    def max_entries(self) -> int:
        """Entries above which a page is too full; growth up to it needs no new plan."""
        return most_entries(self.source.limit)

    def key_space(self) -> KeySpace | None:
        """Return what orders the keys; None where pages are positions."""
        rows = self._queryset()
        return None if rows is None else KeySpace(rows.model, self.key, rows.db)

    def first_keys(
        self, step: int, site: Site, key_range: KeyRange = EVERYTHING
    ) -> Iterator[str]:
        """Yield the key of each ``step``-th row of a range, from the first, as text."""
        rows = self._queryset()
        if rows is None:
            return positions(self._rows(site), step, key_range)
        return first_keys(in_range(rows, self.key, key_range), self.key, step)

    def count(self, key_range: KeyRange, site: Site) -> int:
        """Return how many rows a range has."""
        rows = self._queryset()
        if rows is None:
            return sum(1 for _ in at_positions(self._rows(site), key_range))
        return in_range(rows, self.key, key_range).order_by().count()

    def chunks(self, key_range: KeyRange, site: Site, tally: Tally) -> Iterator[str]:
        """Yield the lines of a page, many at a time, and count them in the tally."""
        return map(self._renderer(site, tally), batches(self._page(key_range, site)))

    def lines_by_key(
        self, keys: Collection[Any], site: Site, tally: Tally
    ) -> Iterator[tuple[str, str]]:
        """Yield each listed row of some keys: its key, as text, and its lines."""
        return iter(())

    def _queryset(self) -> QuerySet[Any] | None:
        """Return the listed rows, in no order, where pages are ranges of keys."""
        return None

    def _rows(self, site: Site) -> Iterable[Any]:
        """Return the listed rows, where pages are positions."""
        return self.source.entries(site.origin)

    def _page(self, key_range: KeyRange, site: Site) -> Iterable[Any]:
        return at_positions(self._rows(site), key_range)

    def _renderer(self, site: Site, tally: Tally) -> Render:
        names = {name: name for name in COLUMNS} | {"location": "loc"}
        getters = {name: called(attrgetter(names[name])) for name in names}
        return self._renderer_of(getters, site.origin, tally)

    def _renderer_of(
        self, getters: Mapping[str, Getter], origin: str | None, tally: Tally
    ) -> Render:
        lines = lines_of(getters, origin, self.source.on_error == "raise")
        return partial(lines.render, tally=tally)


class _DeclaredReader(Reader[S]):
    """Reads a source whose attributes declare what an entry has."""

    @property
    def extensions(self) -> Collection[str]:
        return [NAMESPACE_OF[n] for n in NAMESPACE_OF if getattr(self.source, n)]


class ViewReader(_DeclaredReader[ViewSource]):
    """Reads named views; pages are positions in their list."""

    def _rows(self, site: Site) -> Iterable[Any]:
        return self.source.views

    def _renderer(self, site: Site, tally: Tally) -> Render:
        getters = {
            name: called(value) if callable(value) else constant(value)
            for name, value in declarations_of(self.source).items()
        }
        return self._renderer_of(getters, site.origin, tally)


class ModelReader(_DeclaredReader[ModelSource]):
    """Reads the rows of a model by key range."""

    @property
    def tracked_model(self) -> type[Model] | None:  # type: ignore[override]
        return self.source.model

    @property
    def key(self) -> str:  # type: ignore[override]
        return self.source.key

    def _queryset(self) -> QuerySet[Any]:
        return listed_rows(self.source)

    def chunks(self, key_range: KeyRange, site: Site, tally: Tally) -> Iterator[str]:
        queryset = rows_in(self.source, key_range)
        columns, lines = compile_lines(self.source, queryset.db, site)
        rows = _read(queryset, columns, self.max_entries)
        return map(partial(lines.render, tally=tally), rows)

    def lines_by_key(
        self, keys: Collection[Any], site: Site, tally: Tally
    ) -> Iterator[tuple[str, str]]:
        source = self.source
        queryset = listed_rows(source).filter(**{f"{source.key}__in": keys})
        columns, lines = compile_lines(source, queryset.db, site)
        key = columns.add(source.key)
        # A join may show a row more than once.
        rows = _read(by_key(queryset, source.key), columns, 10 * len(keys))
        for row in chain.from_iterable(rows):
            yield str(key(row)), lines.render([row], tally)


@singledispatch
def reader_of(source: Source) -> Reader[Any]:
    """Return what reads the pages of a source."""
    return Reader(source)


reader_of.register(ModelSource, ModelReader)
reader_of.register(ViewSource, ViewReader)


def listed_rows(source: ModelSource) -> QuerySet[Any]:
    """Return the rows of a source on the database they are read from, in no order."""
    queryset = source.get_queryset()
    if not pages_by_key(queryset):
        raise ConfigurationError(
            f"{source!r}.get_queryset() must return a queryset of model instances "
            "that is not sliced, combined or distinct on fields, since its pages "
            "are key ranges. Use Source for anything else."
        )
    return on_write_database(queryset, source.using)


def every_row(source: ModelSource) -> QuerySet[Any]:
    """Return all rows of the model, listed or not, on the same database."""
    return source.model._base_manager.using(listed_rows(source).db)


def rows_in(source: ModelSource, key_range: KeyRange) -> QuerySet[Any]:
    """Return the listed rows of a key range, in the order of the key."""
    return in_range(listed_rows(source), source.key, key_range)


def page_query(source: ModelSource, key_range: KeyRange, site: Site) -> QuerySet[Any]:
    """Return the query that reads a page, not yet run."""
    queryset = rows_in(source, key_range)
    columns, _ = compile_lines(source, queryset.db, site)
    query: QuerySet[Any] = _select(queryset, columns)
    return query


def _select(queryset: QuerySet[Any], columns: Columns) -> Any:
    if columns.of_instances:
        return queryset.annotate(**columns.aliases())
    return queryset.values_list(*columns.expressions)


def _read(queryset: QuerySet[Any], columns: Columns, limit: int) -> Iterator[list[Any]]:
    query = _select(queryset, columns)[: limit + 1]
    rows = 0
    found = query.iterator(CHUNK_ROWS)
    for batch in batches(found) if columns.of_instances else tuples(query):
        rows += len(batch)
        if rows > limit:
            raise LimitExceededError(f"more than {limit:,} entries in one file")
        yield batch
