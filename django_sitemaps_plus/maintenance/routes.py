"""Routes: which one can replace a method, and which rows a URL leads to."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, islice, product
from typing import Any
from urllib.parse import unquote, urlsplit

from django.core.exceptions import FieldError, ValidationError
from django.db.models import Model, QuerySet
from django.urls import Resolver404, get_script_prefix, resolve
from django.utils import translation
from django.utils.functional import Promise

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.core.key_ranges import KeyRange
from django_sitemaps_plus.sources import ModelSource, Route, Source, reader_of
from django_sitemaps_plus.sources.columns import attempt
from django_sitemaps_plus.sources.contrib import SitemapReader
from django_sitemaps_plus.sources.declarations import declarations_of, is_method
from django_sitemaps_plus.sources.languages import in_language, languages_of
from django_sitemaps_plus.sources.lines import CHUNK_ROWS
from django_sitemaps_plus.sources.querysets import tuples
from django_sitemaps_plus.sources.rows import every_row, rows_in

# Rows that show the route of a method.
_SHOWING_ROWS = 100


def with_route(source: Source, sample: KeyRange) -> ModelSource | None:
    """Return a copy of a source whose location is a route that fits the sample.

    None where the location is not a method, or its URLs are not those of one route; the
    first URL without a route raises Resolver404. The caller compares the URLs.
    """
    copied, locate = _copied(source)
    if copied is None:
        return None
    copied.location = _find_route(rows_in(copied, sample), locate)
    return copied if copied.location is not None else None


def as_model_source(source: Source) -> ModelSource | None:
    """Return a source of the same rows; None for what is not paged by their keys."""
    return source if isinstance(source, ModelSource) else _copied(source)[0]


def rows_at(
    source: Source, rows: ModelSource, urls: Iterable[str], site: Site
) -> list[Any]:
    """Return the rows, listed or not, of the first URL that leads to any; at most ten.

    The route of a method is what the first rows show.
    """
    location = rows.location
    if location is None or is_method(location):
        keys = islice(reader_of(source).first_keys(_SHOWING_ROWS, site), 1, 2)
        with suppress(Resolver404):
            routed = with_route(source, KeyRange(None, *keys))
            location = routed and routed.location
    codes = languages_of(rows)
    versions = [in_language(location, code) for code in codes] or [location]
    for url, version in product(urls, versions):
        with suppress(Resolver404, ValueError, ValidationError, FieldError):
            values = _values(version, url)
            if values and (found := list(every_row(rows).filter(**values)[:10])):
                return found
    return []


def _values(location: Any, url: str) -> dict[str, Any]:
    """Return what the fields of a row hold whose location is a URL."""
    path = urlsplit(url).path
    if isinstance(location, str):
        return {f"{location}__in": [url, path, unquote(path)]}
    view, arguments = match_of(url) or ("", {})
    if not isinstance(location, Route):
        return arguments  # of a method whose route is unknown: names of fields, perhaps
    if view != location.name:
        return {}
    fields = location.arguments.items()
    return {it: arguments[name] for name, it in fields if isinstance(it, str)}


def _copied(source: Source) -> tuple[ModelSource | None, Callable[[Any], Any]]:
    """Return a copy that may get a route, and what gives a row's location today."""
    if isinstance(source, ModelSource):
        locate = declarations_of(source)["location"]
        may_get_one = is_method(locate) and not source.languages
        return (copy.copy(source) if may_get_one else None), locate
    reader = reader_of(source)
    if not isinstance(reader, SitemapReader) or reader.key_space() is None:
        return None, str
    return _Rows(reader.sitemap), reader.sitemap._location


class _Rows(ModelSource):
    """The rows of a contrib class, and its methods for all but the location."""

    def __init__(self, sitemap: Any) -> None:
        self.sitemap, self.model = sitemap, sitemap.items().model
        for name in ("lastmod", "changefreq", "priority"):
            if callable(method := getattr(sitemap, name, None)):
                setattr(self, name, method)

    def get_queryset(self) -> QuerySet[Any]:
        queryset: QuerySet[Any] = self.sitemap.items()
        return queryset


def _find_route(rows: QuerySet[Any], locate: Callable[[Any], Any]) -> Route | None:
    locations = [attempt(locate, row) for row in rows.iterator(CHUNK_ROWS)]
    matches = list(map(match_of, locations))
    patterns = {(view, *arguments) for view, arguments in filter(None, matches)}
    if len(patterns) != 1:
        return None
    view, *names = patterns.pop()
    arguments = {}
    for name in names:
        wanted = [str(match[1][name]) if match else None for match in matches]
        path = _path(rows, name, wanted)
        if path is None:
            return None
        arguments[name] = path
    return Route(view, **arguments)


def match_of(location: Any) -> tuple[str, dict[str, Any]] | None:
    """Return the name and arguments of a location; None of what is not listed."""
    if not isinstance(location, str | Promise):
        return None
    path = unquote(urlsplit(str(location)).path)
    path = "/" + path.removeprefix(get_script_prefix())
    language = translation.get_language_from_path(path) or translation.get_language()
    with translation.override(language):
        match: Any = resolve(path)
    # What an include() captured is in kwargs alone, among what patterns give.
    given = {k: v for k, v in match.kwargs.items() if k not in match.extra_kwargs}
    return match.view_name, given | match.captured_kwargs


def _path(
    rows: QuerySet[Any], argument: str, wanted: Sequence[str | None]
) -> str | None:
    """Return the best field path that holds these values; None without a sure one."""
    paths = sorted(
        _paths(rows.model, argument),
        key=lambda path: (path.replace("__", "_") != argument, "__" in path),
    )
    # A few rows first: all values of a long text would fill the memory.
    few = (path for path in paths if _fits(rows[:20], path, wanted))
    fitting = (path for path in few if _fits(rows, path, wanted))
    found = next(fitting, None)
    if len({*wanted} - {None}) < 2 and next(fitting, None) is not None:
        return None  # one value, which several fields have by chance
    return found


def _paths(model: type[Model], argument: str) -> Iterator[str]:
    """Yield the paths of a model's fields, and of those behind its foreign keys."""
    fields: Iterable[Any] = model._meta.concrete_fields
    for field in fields:
        is_pk = field.primary_key and field.name != argument
        yield "pk" if is_pk else field.attname
        if field.is_relation:
            for other in field.related_model._meta.concrete_fields:
                if other != field.target_field:  # its value is the field's own
                    yield f"{field.name}__{other.attname}"


def _fits(rows: QuerySet[Any], path: str, wanted: Sequence[str | None]) -> bool:
    values = chain.from_iterable(tuples(QuerySet.values_list(rows, path)))
    return all(
        text is None or text == str(value)
        for (value,), text in zip(values, wanted, strict=False)
    )
