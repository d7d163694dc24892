"""Readers: how pages are cut and read, and the queries by which rows are."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import nullcontext, suppress
from dataclasses import replace
from datetime import datetime
from functools import cached_property, partial, singledispatch
from itertools import chain
from operator import attrgetter
from typing import Any, Generic, TypeVar

from django.db.models import DateTimeField, Max, Model, Q, QuerySet

from django_sitemaps_plus.core.key_ranges import EVERYTHING, KeyRange, most_entries
from django_sitemaps_plus.core.limits import MAX_ENTRIES, MAX_NEWS, LimitExceededError
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.sites import get_site, sample_site, site_in

from . import compiling
from .base import DeclaredSource, ModelSource, Source, ViewSource
from .columns import Failed, Getter, Values, called, constant
from .conditions import without_excluded
from .dates import as_stored
from .dependencies import dependence, many_joins
from .fields import COLUMNS, NAMESPACE_OF, Titles, location_column
from .keys import KeySpace
from .languages import language_lines, languages_of
from .lines import CHUNK_ROWS, Lines, Tally, lines_of
from .querysets import (
    Selected,
    at_positions,
    batches,
    by_key,
    few_keys,
    first_keys,
    in_range,
    instances,
    keys_of,
    limited,
    listing,
    narrowed,
    on_write_database,
    pages_by_key,
    plain,
    positions,
    queryset_of,
    tuples,
)

S = TypeVar("S", bound=Source)
D = TypeVar("D", bound=DeclaredSource)


class Reader(Generic[S]):
    """Reads a source that yields entries; pages are positions among them."""

    #: Whether the code of the source decides what is on a page; its pages never merge.
    has_own_paging: bool = False
    #: Whether rows that editors exclude are read as well, to be explained.
    has_excluded: bool = False
    #: The field that pages are cut by, where they are ranges of keys.
    key: str = "pk"
    #: The models whose saves concern the rows.
    tracked_models: tuple[type[Model], ...] = ()
    #: A language, where lines have a title in the place of all fields but the location.
    titles_in: str | None = None
    #: Whether the query says that a change of one row may concern other rows.
    rows_depend: bool = False
    #: Entries that a row may have; they share a page, whatever its limit.
    _languages: int = 1
    #: Fields that are read with the first keys; and both of all rows, if these are few.
    _beside_keys: Collection[str] = ()
    _few: list[Any] | None = None

    def __init__(self, source: S) -> None:
        self.source = source

    @property
    def extensions(self) -> Collection[str]:
        """Kinds of extension element that entries may have."""
        return self.source.extensions

    @property
    def has_titles(self) -> bool:
        """Whether entries may have titles."""
        return self.source.title is not None

    @property
    def rows_per_page(self) -> int:
        """Rows that fill a page."""
        return max(1, self.source.limit // self._languages)

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
        most = max(most_entries(self.source.limit), self._languages)
        return min(most, self.hard_limit)

    @property
    def hard_limit(self) -> int:
        """Entries that no page may have more of."""
        may_have_news = self.source.limit <= MAX_NEWS and "news" in self.extensions
        return MAX_NEWS if may_have_news else MAX_ENTRIES

    def key_space(self) -> KeySpace | None:
        """Return what orders the keys; None where pages are positions."""
        return None

    def queries(self) -> list[QuerySet[Any]]:
        """Return the query of the listed rows, where pages are ranges of keys."""
        rows = self._rows()
        return [rows] if pages_by_key(rows) else []

    @cached_property
    def first(self) -> Selected | None:
        """The query of the first keys, and what goes with them; None without keys."""
        queries = self.queries()
        return few_keys(queries[0], self.key, *self._beside_keys) if queries else None

    def first_keys(self, step: int, key_range: KeyRange = EVERYTHING) -> Iterator[str]:
        """Yield the key of each ``step``-th row of a range, from the first, as text."""
        rows = self._rows()
        if not pages_by_key(rows):
            return positions(rows, step, key_range)
        if key_range == EVERYTHING:
            return first_keys(rows, self.key, step, self._few_keys)
        return first_keys(in_range(rows, self.key, key_range), self.key, step)

    def count(self, key_range: KeyRange) -> int:
        """Return how many rows a range has."""
        rows = self._rows()
        if pages_by_key(rows):
            return in_range(plain(rows), self.key, key_range).order_by().count()
        return sum(1 for _ in at_positions(rows, key_range))

    def chunks(self, key_range: KeyRange, tally: Tally) -> Iterator[str]:
        """Yield the lines of a page, many at a time, and count them in the tally."""
        page = self._page(key_range)
        render = partial(self._writer().render, tally=tally)
        return map(render, batches(page))

    def lines_by_key(
        self, keys: Collection[Any], tally: Tally
    ) -> Iterator[tuple[str, str]]:
        """Yield each listed row of some keys: its key, as text, and its lines."""
        return iter(())

    def newest_keys(self, most: int) -> list[Any] | None:
        """Return the keys of rows with the latest lastmod; None without an index."""
        return None

    def latest_lastmod(self, until: datetime) -> Any:
        """Return the latest lastmod up to a moment, if one query finds it, else None.

        The code of a contrib class may give anything.
        """
        return None

    def _few_keys(self, rows: QuerySet[Any]) -> list[Any]:
        """Read what goes with the first keys too, and keep it if no row has another."""
        with suppress(Exception) if self._beside_keys else nullcontext():
            found = [*chain(*self.first.batches())] if self.first else []
            self._few = found if len(found) <= CHUNK_ROWS else None
            return [key for key, *_ in found]
        return few_keys(rows, self.key).keys()  # Python cannot hold some dates

    def _written(self, rows: QuerySet[Any]) -> QuerySet[Any]:
        return rows if self.has_excluded else without_excluded(rows)

    def _rows(self) -> Iterable[Any]:
        return listing(self.source.entries(get_site().origin), "entries()")

    def _page(self, key_range: KeyRange) -> Iterable[Any]:
        return at_positions(self._rows(), key_range)

    def _writer(self) -> Lines:
        getters = {name: called(attrgetter(name)) for name in COLUMNS}
        getters["location"] = called(attrgetter("loc"))
        getters["title"] = _declared(self.source.title)
        for name, kind in NAMESPACE_OF.items():
            if kind not in self.extensions:
                getters[name] = _refused(name)
        return self._lines(getters, get_site().origin)

    def _lines(self, getters: Mapping[str, Getter], origin: str | None) -> Lines:
        if self.titles_in is not None:
            location = Values(getters["location"], location_column(origin))
            titles = Titles(getters["title"], language=self.titles_in)
            return Lines({"": location}, [titles], raises=False)
        raises, is_mobile = self.source.on_error == "raise", self.source.mobile
        return lines_of(getters, origin, raises, is_mobile=is_mobile)


def _refused(name: str) -> Getter:
    """Return what takes no values of a field whose namespace pages do not declare."""
    refused = Failed(ValueError(f"its source's extensions lack {NAMESPACE_OF[name]!r}"))
    return lambda rows: [refused if getattr(it, name, None) else None for it in rows]


class _DeclaredReader(Reader[D]):
    """Reads a source whose attributes declare what an entry has."""

    @property
    def extensions(self) -> Collection[str]:
        declared = {name for name in NAMESPACE_OF if getattr(self.source, name)}
        if self.source.languages:
            declared.add("alternates")
        return [NAMESPACE_OF[name] for name in NAMESPACE_OF if name in declared]

    @property
    def _languages(self) -> int:  # type: ignore[override]
        return max(1, len(languages_of(self.source)))


class ViewReader(_DeclaredReader[ViewSource]):
    """Reads named views; pages are positions in their list."""

    def _rows(self) -> Iterable[Any]:
        return listing(self.source.views, "views")

    def _writer(self) -> Lines:
        site = get_site()
        declared = compiling.declarations_of(self.source).items()
        getters = {name: _declared(value) for name, value in declared}
        getters["title"] = _declared(self.source.title)
        lines = self._lines(getters, site.origin)
        if not (languages := languages_of(self.source)):
            return lines
        location, offered = getters["location"], _declared(self.source.get_languages)
        versions = {
            code: Values(location, location_column(site_in(code, site).origin))
            for code in languages
        }
        found = language_lines(self.source, versions, offered, lines.fields, site)
        return replace(found, raises=lines.raises)


def _declared(declared: Any) -> Getter:
    return called(declared) if callable(declared) else constant(declared)


class ModelReader(_DeclaredReader[ModelSource]):
    """Reads the rows of a model by key range."""

    @property
    def tracked_models(self) -> tuple[type[Model], ...]:  # type: ignore[override]
        return (self.source.model,) if self.source.model else ()

    @property
    def key(self) -> str:  # type: ignore[override]
        return self.source.key

    @property
    def has_titles(self) -> bool:
        return super().has_titles or bool(compiling.declared_methods(self.source))

    @property
    def rows_depend(self) -> bool:  # type: ignore[override]
        return bool(dependence(listed_rows(self.source), page_query(self.source)))

    def newest_keys(self, most: int) -> list[Any] | None:
        field = compiling.indexed_lastmod(self.source)
        if field is None:
            return None
        is_dated = Q((f"{field.name}__isnull", False))
        keys = keys_of(narrowed(listed_rows(self.source), is_dated), self.key)
        orders = [f"-{name}" for name in (field.name, *keys.query.order_by)]
        return list(dict.fromkeys(keys.order_by(*orders)[:most]))

    def latest_lastmod(self, until: datetime) -> Any:
        field = compiling.indexed_lastmod(self.source)
        if field is None:
            return None
        is_moment = isinstance(field, DateTimeField)
        bound = as_stored(until) if is_moment else until.date()
        if self._few is not None:
            dated = [it for _, it in self._few if it is not None]
            return max([it for it in dated if it <= bound], default=None)
        rows = narrowed(self._listed, Q((f"{field.name}__lte", bound)))
        [latest] = plain(rows).aggregate(Max(field.name)).values()
        return latest

    @property
    def _beside_keys(self) -> Collection[str]:  # type: ignore[override]
        field = compiling.indexed_lastmod(self.source)
        return [] if field is None else [field.name]

    def key_space(self) -> KeySpace:
        return KeySpace(self._listed.model, self.key, self._listed.db)

    @cached_property
    def _listed(self) -> QuerySet[Any]:
        return listed_rows(self.source)

    def _rows(self) -> QuerySet[Any]:
        return self._listed

    def chunks(self, key_range: KeyRange, tally: Tally) -> Iterator[str]:
        source, rows = self.source, listed_rows(self.source)
        narrow = partial(in_range, key=source.key, key_range=key_range)
        columns, lines = compiling.compile_lines(
            source, rows, get_site(), narrow, self.titles_in
        )
        query = self._written(narrow(compiling.select(rows, columns)))
        name = compiling.names_of(query, columns, self.max_entries)
        lines, first = without_repeated(lines, query), 0
        # Lines are in memory, and grow with the square of the languages.
        size = CHUNK_ROWS * 4 // max(4, len(languages_of(source)))
        for batch in read(query, columns, self.max_entries, size):
            yield lines.render(batch, tally, partial(name, first))
            first += len(batch)

    def lines_by_key(
        self, keys: Collection[Any], tally: Tally
    ) -> Iterator[tuple[str, str]]:
        source, rows = self.source, listed_rows(self.source)

        def narrow(among: QuerySet[Any]) -> QuerySet[Any]:
            return by_key(narrowed(among, Q((f"{source.key}__in", keys))), source.key)

        columns, lines = compiling.compile_lines(source, rows, get_site(), narrow)
        key = columns.add(source.key)
        query = self._written(narrow(compiling.select(rows, columns)))
        lines = without_repeated(lines, query)
        # A join may show a row more than once.
        most = max(self.max_entries, 10 * len(keys))
        for row in chain.from_iterable(read(query, columns, most)):
            yield str(key(row)), lines.render([row], tally)


@singledispatch
def reader_of(source: Source) -> Reader[Any]:
    """Return what reads the pages of a source."""
    return Reader(source)


reader_of.register(ModelSource, ModelReader)
reader_of.register(ViewSource, ViewReader)


def listed_rows(source: ModelSource) -> QuerySet[Any]:
    """Return the rows of a source on the database they are read from, in no order."""
    queryset = queryset_of(source)
    if not pages_by_key(listing(queryset, "get_queryset()")):
        raise ConfigurationError(
            f"{source!r}.get_queryset() must return a queryset of model instances "
            "that is not sliced, combined or distinct on fields, since its pages "
            "are key ranges. Use Source for anything else."
        )
    return on_write_database(queryset, source.using)


def every_row(source: ModelSource) -> QuerySet[Any]:
    """Return all rows of the model, listed or not, on the same database."""
    return plain(source.model._base_manager.using(listed_rows(source).db))


def page_query(source: ModelSource) -> QuerySet[Any]:
    """Return the query that reads a page, not yet run, for the rows of all pages."""
    rows = listed_rows(source)
    columns, _ = compiling.compile_lines(source, rows, sample_site())
    return by_key(compiling.select(rows, columns), source.key)


def without_repeated(lines: Lines, queryset: QuerySet[Any]) -> Lines:
    """Return what writes each location once, where a query may repeat rows."""
    return replace(lines, seen=set()) if many_joins(queryset.query) else lines


def read(
    query: Any, columns: compiling.Columns, limit: int, size: int = CHUNK_ROWS
) -> Iterator[list[Any]]:
    """Yield the rows of a query, many at a time; raise where they exceed a page."""
    query, rows = limited(query, limit + 1), 0
    if columns.of_instances:
        chunks = batches(instances(query), size)
    else:
        chunks = tuples(query, size)
    for batch in chunks:
        rows += len(batch)
        if rows > limit:
            raise LimitExceededError(f"more than {limit:,} entries in one file")
        yield batch
