"""``ModelSource``: the rows of a model, read by key range."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from django.db.models import Model, QuerySet

from django_sitemaps_plus.core.limits import MAX_NEWS

from .base import DeclaredSource, Source
from .trees import Under

#: Of a saved object the rows that it concerns; see ``ModelSource.watch``.
Concerned = str | Callable[[Any], QuerySet[Any]] | Under


class ModelSource(DeclaredSource):
    """The rows of a model.

    Each of ``location``, ``lastmod``, ``changefreq``, ``priority``, ``images``,
    ``videos``, ``news`` and ``alternates`` is a declaration (a constant, a field path,
    a Django expression, for ``location`` also a :class:`Route`) or a method that takes
    the object. While all are declarations, rows are read as tuples and no model
    instance is ever made; one method switches the source to instances. Without
    ``location``, the object's ``get_absolute_url()`` is asked.

    With ``languages``, the location is asked for in each language. ``{language}`` in
    its paths stands for the code, as in the names of translated fields:
    ``Route("post", slug="slug_{language}")``. A version where a value is None is left
    out.

    Attributes:
        model: the model.
        key: a unique, not null, indexed field whose values never change; pages are
            ranges of it. Integers, UUIDs and strings will do.
        using: alias of the database to read; by default the one that the router
            names for writing the model.
        site_path: path of the field that says on which site a row is listed: it holds
            the name of the site, or relates to a row of ``django.contrib.sites``.
        starts, ends: field paths of the times at which a row enters and leaves the
            queryset, so that a build looks at its page then.
        watch: models whose saves concern other rows, each with the path that leads
            from it to them (``{Author: "book"}``), a function that takes the saved
            object and returns a queryset of them, or, in a tree, :func:`under`.
            Relations that declared paths cross are watched by themselves.
        announce_saves: whether each recorded save is submitted to search engines,
            even if the entry stays the same.
        track_deletes: whether deletions are noticed by signals, at the price of
            Django's fast delete.
    """

    model: type[Model]
    key: str = "pk"
    max_age: int | None = None
    site_path: str | None = None
    starts: str | None = None
    ends: str | None = None
    watch: Mapping[type[Model], Concerned] = MappingProxyType({})
    announce_saves: bool = False
    track_deletes: bool = True

    location: Any = None

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        own = cls.__mro__[: cls.__mro__.index(Source)]
        if cls.news is not None and not any("limit" in vars(it) for it in own):
            cls.limit = MAX_NEWS

    def get_queryset(self) -> QuerySet[Any]:
        """Return the rows to list; override it to filter, never to slice.

        An override that takes a ``site`` gets the ``conf.Site`` that is read for.
        """
        return self.model._default_manager.all()
