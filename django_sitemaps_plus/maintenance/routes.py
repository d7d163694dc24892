"""Routes: which one can replace a method, and which rows a URL leads to."""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import islice, product
from operator import attrgetter
from typing import Any
from urllib.parse import unquote, urlsplit

from django.core.exceptions import FieldError, ValidationError
from django.db.models import Model, QuerySet
from django.urls import Resolver404, get_script_prefix, resolve
from django.utils import translation
from django.utils.functional import Promise

from django_sitemaps_plus.core.key_ranges import KeyRange
from django_sitemaps_plus.sources import ModelSource, Route, Source, reader_of
from django_sitemaps_plus.sources.columns import attempt
from django_sitemaps_plus.sources.contrib import SitemapReader
from django_sitemaps_plus.sources.declarations import declarations_of, is_method
from django_sitemaps_plus.sources.languages import languages_of
from django_sitemaps_plus.sources.lines import CHUNK_ROWS
from django_sitemaps_plus.sources.route import in_language
from django_sitemaps_plus.sources.rows import every_row, rows_in

# Rows that show the route of a method.
_SHOWING_ROWS = 100


def with_route(source: Source, sample: KeyRange) -> ModelSource | None:
    """Return a copy of a source whose location is a route that fits the sample.

    None where the location is not a method, or its URLs are not those of one route; the
    first URL without a route raises Resolver404. The caller compares the URLs.
    """
    rows = as_model_source(source)
    if rows is None or rows.languages:
        return None
    locate = declarations_of(rows)["location"]
    if not is_method(locate):
        return None
    copied = copy.copy(rows)
    copied.location = _find_route(rows_in(rows, sample), locate)
    return copied if copied.location is not None else None


def as_model_source(source: Source) -> ModelSource | None:
    """Return a source of the same rows; None for what is not paged by their keys."""
    if isinstance(source, ModelSource):
        return source
    reader = reader_of(source)
    if not isinstance(reader, SitemapReader) or reader.key_space() is None:
        return None
    return _Rows(reader.sitemap)


def rows_at(source: Source, rows: ModelSource, urls: Iterable[str]) -> list[Any]:
    """Return the rows, listed or not, of the first URL that leads to any; at most ten.

    The route of a method is what the first rows show.
    """
    location = rows.location
    if location is None or is_method(location):
        keys = islice(reader_of(source).first_keys(_SHOWING_ROWS), 1, 2)
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


class _Rows(ModelSource):
    """The rows and methods of a contrib class."""

    def __init__(self, sitemap: Any) -> None:
        self.sitemap, self.model = sitemap, sitemap.items().model
        self.location = sitemap._location
        for name in ("lastmod", "changefreq", "priority"):
            if callable(method := getattr(sitemap, name, None)):
                setattr(self, name, method)

    def get_queryset(self) -> QuerySet[Any]:
        queryset: QuerySet[Any] = self.sitemap.items()
        return queryset


def _find_route(rows: QuerySet[Any], locate: Callable[[Any], Any]) -> Route | None:
    patterns = set[tuple[str, ...]]()
    paths: dict[str, list[str]] = {}  # that hold an argument in every row so far
    values = defaultdict[str, set[str]](set)
    for row in rows.iterator(CHUNK_ROWS):
        match = match_of(attempt(locate, row))
        if match is None:
            continue
        view, arguments = match
        patterns.add((view, *arguments))
        if len(patterns) > 1:
            return None
        for name, value in arguments.items():
            known = paths.get(name) or _paths(rows.model, name)
            paths[name] = [path for path in known if _has(row, path, str(value))]
            if not paths[name]:
                return None
            values[name].add(str(value))
    # One value may be in several fields by chance.
    if not patterns or any([len(paths[it]) > len(values[it]) == 1 for it in paths]):
        return None
    [[view, *names]] = patterns
    return Route(view, **{name: paths[name][0] for name in names})


def _has(row: Any, path: str, value: str) -> bool:
    found = attempt(attrgetter(path.replace("__", ".")), row)
    return str(found) == value


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


def _paths(model: type[Model], argument: str) -> list[str]:
    """Return paths of fields, also behind foreign keys; the best for a name first."""
    paths = []
    fields: Iterable[Any] = model._meta.concrete_fields
    for field in fields:
        is_pk = field.primary_key and field.name != argument
        paths.append("pk" if is_pk else field.attname)
        if field.is_relation:
            for other in field.related_model._meta.concrete_fields:
                if other != field.target_field:  # its value is the field's own
                    paths.append(f"{field.name}__{other.attname}")
    return sorted(paths, key=lambda it: (it.replace("__", "_") != argument, "__" in it))
