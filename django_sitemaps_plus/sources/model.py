"""``ModelSource``: the rows of a model, read by key range."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import chain
from types import MappingProxyType
from typing import Any

from django.db.models import Model, QuerySet

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.core.key_ranges import EVERYTHING, KeyRange
from django_sitemaps_plus.core.limits import LimitExceededError
from django_sitemaps_plus.exceptions import ConfigurationError

from .base import Source
from .compiling import compile_renderer
from .declarations import Columns, is_method
from .keyset import (
    KeySpace,
    by_key,
    first_keys,
    in_range,
    on_write_database,
    pages_by_key,
)
from .lines import FIELDS, NAMESPACE_OF
from .reading import instances, tuples
from .tally import Tally


class ModelSource(Source):
    """The rows of a model.

    Each of ``location``, ``lastmod``, ``changefreq``, ``priority``, ``images``,
    ``videos``, ``news`` and ``alternates`` is a declaration (a constant, a field path,
    a Django expression, for ``location`` also a :class:`Route`) or a method that takes
    the object. While all are declarations, rows are read as tuples and no model
    instance is ever made; one method switches the source to instances. Without
    ``location``, the object's ``get_absolute_url()`` is asked.

    Attributes:
        model: the model.
        key: a unique, not null, indexed field whose values never change; pages are
            ranges of it. Integers, UUIDs and strings will do.
        using: alias of the database to read; by default the one that the router
            names for writing the model.
        starts, ends: field paths of the times at which a row enters and leaves the
            queryset, so that a refresh looks at its page then.
        watch: other models whose saves concern rows, each with the path that leads
            from it to them (``{Author: "book"}``). Relations that declared paths
            cross are watched by themselves.
        announce_saves: whether each recorded save is told to search engines, even if
            the entry stays the same.
        track_deletes: whether deletions are noticed by signals, at the price of
            Django's fast delete.
    """

    model: type[Model]
    key: str = "pk"
    max_age: int | None = None
    starts: str | None = None
    ends: str | None = None
    watch: Mapping[type[Model], str] = MappingProxyType({})
    announce_saves: bool = False
    track_deletes: bool = True

    location: Any = None
    lastmod: Any = None
    changefreq: Any = None
    priority: Any = None
    images: Any = None
    videos: Any = None
    news: Any = None
    alternates: Any = None

    def get_queryset(self) -> QuerySet[Any]:
        """Return the rows to list; override it to filter, never to slice."""
        return self.model._default_manager.all()

    @property
    def extensions(self) -> Collection[str]:  # type: ignore[override]
        """Kinds of extension element that entries may have."""
        return [NAMESPACE_OF[name] for name in NAMESPACE_OF if self._has(name)]

    def declaration(self, name: str) -> Any:
        """Return what the source says of a field; for no location, a method."""
        value = getattr(self, name)
        if name == "location" and value is None:
            return get_absolute_url
        return value

    @property
    def uses_instances(self) -> bool:
        """Whether a method makes rows model instances."""
        return any(is_method(self.declaration(name)) for name in FIELDS)

    def _has(self, name: str) -> bool:
        return self.declaration(name) is not None

    def queryset(self) -> QuerySet[Any]:
        """Return the rows on the database they are read from, in no order.

        Raises:
            ConfigurationError: ``get_queryset`` returns what has no key ranges.
        """
        queryset = self.get_queryset()
        if not pages_by_key(queryset):
            raise ConfigurationError(
                f"{self!r}.get_queryset() must return a queryset of model instances "
                "that is not sliced, combined or distinct on fields, since its pages "
                "are key ranges. Use Source for anything else."
            )
        return on_write_database(queryset, self.using)

    def every_row(self) -> QuerySet[Any]:
        """Return all rows of the model, listed or not, on the same database."""
        return self.model._base_manager.using(self.queryset().db)

    @property
    def tracked_model(self) -> type[Model] | None:
        """The model whose saves concern its rows."""
        return self.model

    def key_space(self) -> KeySpace | None:
        """Return what orders its keys."""
        return KeySpace(self.model, self.key, self.queryset().db)

    def first_keys(
        self, step: int, site: Site, key_range: KeyRange = EVERYTHING
    ) -> Iterator[str]:
        """Yield the key of each ``step``-th row of a range, from the first, as text."""
        rows = in_range(self.queryset(), self.key, key_range)
        return first_keys(rows, self.key, step)

    def count(self, key_range: KeyRange, site: Site) -> int:
        """Return how many rows a range has."""
        return in_range(self.queryset(), self.key, key_range).order_by().count()

    def chunks(self, key_range: KeyRange, site: Site, tally: Tally) -> Iterator[str]:
        """Yield the lines of a page, many at a time, and count them in the tally.

        Raises:
            LimitExceededError: the range holds more rows than the page may.
        """
        queryset = in_range(self.queryset(), self.key, key_range)
        columns, renderer = compile_renderer(self, queryset.db, site)
        rows = _read(queryset, columns, self.max_entries)
        return map(partial(renderer.render, tally=tally), rows)

    def lines_by_key(
        self, keys: Collection[Any], site: Site, tally: Tally
    ) -> Iterator[tuple[str, str]]:
        """Yield each row of some keys that is listed: its key, as text, and lines."""
        queryset = self.queryset().filter(**{f"{self.key}__in": keys})
        columns, renderer = compile_renderer(self, queryset.db, site)
        careful = replace(renderer, fast=None)  # the fast one takes no more columns
        key = columns.add(self.key)
        # A join may show a row more than once.
        rows = _read(by_key(queryset, self.key), columns, 10 * len(keys))
        for row in chain.from_iterable(rows):
            yield str(key(row)), careful.render([row], tally)

    def page_query(self, key_range: KeyRange, site: Site) -> QuerySet[Any]:
        """Return the query that reads a page, not yet run."""
        queryset = in_range(self.queryset(), self.key, key_range)
        columns, _ = compile_renderer(self, queryset.db, site)
        query: QuerySet[Any] = _select(queryset, columns)
        return query


def _select(queryset: QuerySet[Any], columns: Columns) -> Any:
    if columns.of_instances:
        return queryset.annotate(**columns.aliases())
    return queryset.values_list(*columns.expressions)


def _read(queryset: QuerySet[Any], columns: Columns, limit: int) -> Iterator[list[Any]]:
    query = _select(queryset, columns)[: limit + 1]
    rows = instances(query) if columns.of_instances else tuples(query)
    return _at_most(rows, limit)


def get_absolute_url(obj: Any) -> Any:
    """Return where an object says that it is found."""
    return obj.get_absolute_url()


def _at_most(batches: Iterable[list[Any]], limit: int) -> Iterator[list[Any]]:
    count = 0
    for batch in batches:
        count += len(batch)
        if count > limit:
            raise LimitExceededError(f"more than {limit:,} entries in one file")
        yield batch
