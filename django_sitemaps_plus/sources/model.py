"""``ModelSource``: the rows of a model, read by key range."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from django.db.models import Model, QuerySet

from .base import Source


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
            queryset, so that a build looks at its page then.
        watch: other models whose saves concern rows, each with the path that leads
            from it to them (``{Author: "book"}``). Relations that declared paths
            cross are watched by themselves.
        announce_saves: whether each recorded save is submitted to search engines,
            even if the entry stays the same.
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
