"""``ModelSource``: the rows of a model, read by key range."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import partial
from typing import Any

from django.db.models import Model, QuerySet

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.core.limits import LimitExceededError
from django_sitemaps_plus.core.plan import KeyRange
from django_sitemaps_plus.exceptions import ConfigurationError

from .base import Source
from .compiling import compile_renderer
from .declarations import Columns, is_method
from .keyset import first_keys, in_range, on_write_database, pages_by_key
from .reading import instances, tuples
from .rows import FIELDS, NAMESPACE_OF
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
    """

    model: type[Model]
    key: str = "pk"
    using: str | None = None

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

    def first_keys(self, step: int, site: Site) -> Iterator[str]:
        """Yield the key of each ``step``-th row, from the first, as text."""
        return first_keys(self.queryset(), self.key, step)

    def is_larger_than(self, rows: int, site: Site) -> bool:
        """Return whether it has more rows, by one bounded query."""
        keys = self.queryset().order_by(self.key).values_list(self.key)
        return bool(keys[rows : rows + 1])

    def chunks(self, key_range: KeyRange, site: Site, tally: Tally) -> Iterator[str]:
        """Yield the lines of a page, many at a time, and count them in the tally.

        Raises:
            LimitExceededError: the range holds more rows than the page may.
        """
        queryset = in_range(self.queryset(), self.key, key_range)
        columns, renderer = compile_renderer(self, queryset.db, site)
        query = _select(queryset, columns)[: self.max_entries + 1]
        rows = instances(query) if columns.of_instances else tuples(query)
        render = partial(renderer.render, tally=tally)
        return map(render, _at_most(rows, self.max_entries))

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


def get_absolute_url(obj: Any) -> Any:
    """Return where an object says that it is found."""
    return obj.get_absolute_url()


def _at_most(batches: Iterable[list[Any]], limit: int) -> Iterator[list[Any]]:
    count = 0
    for batch in batches:
        count += len(batch)
        if count > limit:
            raise LimitExceededError(limit, "entries")
        yield batch
