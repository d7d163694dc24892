"""The classes that users subclass; ``reading`` reads their pages."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import reduce
from inspect import getattr_static
from operator import or_
from types import MappingProxyType
from typing import Any, ClassVar, Literal

from django.apps import apps
from django.core.exceptions import AppRegistryNotReady
from django.db.models import Model, Q, QuerySet
from django.urls import reverse

from django_sitemaps_plus.core.entries import Entry
from django_sitemaps_plus.core.limits import MAX_NEWS

#: Rows whose descendants one query finds.
ROWS_PER_QUERY = 100


class Source:
    """Says which entries a section has.

    A subclass yields them from :meth:`entries`, up to 10,000,000. Such a section is
    paged by position: page two begins where page one is full. :class:`ModelSource`
    pages by key instead, which costs less and keeps pages stable.

    An instance serves every request and build, so it keeps no state of either.
    A subclass may have methods and attributes of its own under any other name; a
    check reports those that look like a mistake.

    Attributes:
        limit: entries a page should hold, at most 50,000.
        on_error: ``"skip"`` leaves out what cannot be listed and counts it;
            ``"raise"`` lets the error stop the page.
        max_age: seconds after which a build renders its pages again unasked; None
            for never, where changes are noticed otherwise.
        using: alias of the database to read; None for the one that is written to.
        mobile: whether entries are marked as pages for feature phones, which search
            engines have stopped reading.
        sites: names of the sites of ``SITES`` that have this section; None for all.
        live: whether it is always rendered on request, and so are the indexes: no
            build makes pages of it, and the next removes those from before. A section
            of more than ``LIVE_MAX_ROWS`` rows is then absent, as the log says.
        title: what the HTML site map shows of an entry: a method that takes what the
            other methods take (of a plain source, the :class:`Entry`), of rows also a
            field path or an expression. None for ``str()`` of an instance, else for
            the last part of the URL. No sitemap has it.
    """

    limit: int = 10_000
    on_error: Literal["skip", "raise"] = "skip"
    max_age: int | None = 3_600
    using: str | None = None
    mobile: bool = False
    sites: Collection[str | int] | None = None
    live: bool = False
    title: Any = None

    #: Kinds of extension element that entries may have; see ``NAMESPACES``.
    extensions: ClassVar[Collection[str]] = ("image", "video", "news", "xhtml")

    def entries(self, origin: str) -> Iterable[Entry]:
        """Yield every entry, in an order that does not change by itself.

        Args:
            origin: scheme and host of the site, such as ``https://shop.example``.
        """
        raise NotImplementedError(
            f"{type(self).__qualname__} does not define its entries"
        )

    def __repr__(self) -> str:
        return f"<{type(self).__module__}.{type(self).__qualname__}>"


class DeclaredSource(Source):
    """Says by attributes what an entry has.

    With ``languages``, each row or view is listed once for each language, and
    each of these entries names all versions.

    Attributes:
        languages: codes of languages, or ``"all"`` for those of ``LANGUAGES``.
        x_default: whether the entries name the URL of ``LANGUAGE_CODE``, without its
            prefix, for all other languages.
        get_languages: the languages of a row or view, where not each has all: a method
            that takes it; of rows, the path of a field that holds a list of codes.
    """

    languages: Sequence[str] | Literal["all"] = ()
    x_default: bool = False
    get_languages: Any = None

    lastmod: Any = None
    changefreq: Any = None
    priority: Any = None
    images: Any = None
    videos: Any = None
    news: Any = None
    alternates: Any = None


View = str | tuple[str, dict[str, Any]]


class ViewSource(DeclaredSource):
    """Pages that are views of their own: home, about, contact.

    ``lastmod``, ``changefreq``, ``priority``, ``images``, ``videos``, ``news`` and
    ``alternates`` are each a constant or a method that takes the view as listed.

    Attributes:
        views: names of URL patterns, or pairs of a name and its keyword arguments.
    """

    views: Sequence[View] = ()

    def location(self, view: View) -> str:
        """Return the path of a view."""
        if isinstance(view, str):
            return reverse(view)
        name, arguments = view
        return reverse(name, kwargs=arguments)


@dataclass(frozen=True)
class Under:
    """The callable that :func:`under` returns."""

    fields: tuple[str, ...]

    def __repr__(self) -> str:
        return f"under({', '.join(map(repr, self.fields))})"

    def rows(
        self, changed: QuerySet[Any], every: QuerySet[Any]
    ) -> Iterator[QuerySet[Any]]:
        """Yield the changed rows, and those below them."""
        # The present place of a moved row is enough: it took the same rows along, and
        # what is below its old place did not change.
        places = changed.order_by().values_list(*self.fields)
        topmost: list[tuple[Any, ...]] = []
        for place in sorted({place for place in places if None not in place}):
            above = topmost[-1] if topmost else None
            if above is None:
                is_below = False
            elif len(place) == 1:
                is_below = place[0].startswith(above[0])
            else:
                is_below = place[0] == above[0] and place[2] <= above[2]
            if not is_below:
                topmost.append(place)

        if len(self.fields) == 1:
            names = [f"{self.fields[0]}__startswith"]
        else:
            tree, left, right = self.fields
            names = [tree, f"{left}__gte", f"{right}__lte"]
        below = [Q(*zip(names, place, strict=True)) for place in topmost]
        for start in range(0, len(below), ROWS_PER_QUERY):
            yield every.filter(reduce(or_, below[start : start + ROWS_PER_QUERY]))


def under(*fields: str) -> Under:
    """Return a value for ``watch``: the rows at and below a saved row of a tree.

    Args:
        fields: ``"path"``, the field of a materialised path, whose text begins with
            that of the row above; or the three of nested sets: ``"tree_id"``,
            ``"lft"``, ``"rght"``. The section's model has them too.

    Raises:
        TypeError: there are neither one nor three fields.
    """
    if len(fields) not in (1, 3):
        raise TypeError(
            f"under() takes the field of a path, or the three of nested sets, as in "
            f'under("path") and under("tree_id", "lft", "rght"), not {fields!r}'
        )
    return Under(fields)


#: The rows that a saved object concerns; see ``ModelSource.watch``.
Concerned = str | Callable[[Any], QuerySet[Any]] | Under


@dataclass(frozen=True)
class _Named:
    """Looks up the models that a class names by label, such as ``"shop.Product"``.

    A label that no model has stays as it is, for a check to name.
    """

    given: Any

    def __get__(self, source: object, owner: type) -> Any:
        if isinstance(self.given, str):
            return _model(self.given)
        return {_model(model): rows for model, rows in self.given.items()}


def _model(label: Any) -> Any:
    with suppress(LookupError, ValueError, AppRegistryNotReady):
        return apps.get_model(label) if isinstance(label, str) else label
    return label


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
        model: the model, or its label, such as ``"shop.Product"``.
        key: a unique, not null, indexed field whose values never change; pages are
            ranges of it. Integers, UUIDs and strings will do.
        using: alias of the database to read; by default the one that the router
            names for writing the model.
        site_path: path of the field that says on which site a row is listed: it holds
            the name of the site, or relates to a row of ``django.contrib.sites``.
        starts, ends: field paths of the times at which a row appears and disappears.
            They do not filter: filter in :meth:`get_queryset` too.
        watch: models, or their labels, whose saves concern other rows, each with the
            path that leads from it to them (``{Author: "book"}``), a function that
            takes the saved object and returns a queryset of them, or, in a tree,
            :func:`under`.
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
        for name in ("model", "watch"):
            given = getattr_static(cls, name, None)
            names = given if isinstance(given, Mapping) else [given]
            if any([isinstance(it, str) for it in names]):
                setattr(cls, name, _Named(given))
        own = cls.__mro__[: cls.__mro__.index(Source)]
        if cls.news is not None and not any("limit" in vars(it) for it in own):
            cls.limit = MAX_NEWS

    def get_queryset(self) -> QuerySet[Any]:
        """Return the rows to list; override it to filter, never to slice.

        An override that takes a ``site`` gets the ``conf.Site`` that is read for.
        """
        return self.model._default_manager.all()
