"""Declarations: which columns a source selects, and how its rows are rendered."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from operator import attrgetter, itemgetter
from typing import Any

from django.core.exceptions import FieldDoesNotExist, FieldError
from django.db.models import DateField, F, Field, Model, QuerySet
from django.db.models.expressions import Combinable
from django.db.models.sql.constants import LOUTER
from django.db.models.sql.datastructures import Join

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.core.entries import CHANGEFREQS
from django_sitemaps_plus.core.limits import MAX_URL_LENGTH, MIN_URL_LENGTH
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.sites import site_in

from . import related
from .base import DeclaredSource, ModelSource
from .columns import (
    Column,
    Getter,
    NoLocationError,
    RouteValues,
    Values,
    called,
    constant,
    selected,
)
from .dates import date_column
from .fields import FIELDS, MOBILE, Titles, columns_on, location_column
from .images import held_images
from .languages import language_lines, languages_of, surroundings_in
from .lines import Lines, RowName, describe, named
from .querysets import plain
from .route import Route, in_language

#: The prefix of columns of instances; no model field begins like this.
_ALIAS = "sitemaps_plus_"


def is_method(value: object) -> bool:
    """Return whether a declaration is code that takes the object."""
    return callable(value) and not isinstance(value, Route) and not is_expression(value)


def is_expression(value: object) -> bool:
    """Return whether a declaration is a Django expression."""
    return isinstance(value, Combinable) or hasattr(value, "resolve_expression")


def is_path(name: str, value: object) -> bool:
    """Return whether a declaration is a field path, rather than a constant."""
    if not isinstance(value, str):
        return False
    return name != "changefreq" or value not in CHANGEFREQS


def path_field(model: type[Model], path: str) -> Field[Any, Any] | None:
    """Return the field at a path, None for a lookup; raise FieldDoesNotExist."""
    *relations, last = path.split("__")
    for name in relations:
        related = model._meta.get_field(name).related_model
        if related is None or isinstance(related, str):
            return None
        model = related
    end: Any = model._meta.pk if last == "pk" else model._meta.get_field(last)
    return end if isinstance(end, Field) else None


def find_field(model: type[Model], path: str) -> Field[Any, Any] | None:
    """Return the field at a path, or None where there is none."""
    with suppress(FieldDoesNotExist):
        return path_field(model, path)
    return None


@dataclass(slots=True)
class Columns:
    """The columns that a query must select, in the order in which code asks."""

    of_instances: bool  # whether rows are model instances, else tuples
    expressions: list[Any] = field(default_factory=list)

    def add(self, expression: Any) -> Callable[[Any], Any]:
        """Select an expression or field path; return what takes it from a row."""
        if isinstance(expression, str):
            expression = F(expression)
        if expression not in self.expressions:
            self.expressions.append(expression)
        position = self.expressions.index(expression)
        if self.of_instances:
            return attrgetter(f"{_ALIAS}{position}")
        return itemgetter(position)


def declarations_of(source: DeclaredSource) -> dict[str, Any]:
    """Return what a source declares; for no location, the object's own method."""
    declared = {name: getattr(source, name) for name in FIELDS}
    if declared["location"] is None:
        declared["location"] = get_absolute_url
    return {name: value for name, value in declared.items() if value is not None}


def get_absolute_url(obj: Any) -> Any:
    """Return the URL that an object gives itself."""
    return obj.get_absolute_url()


def declared_methods(source: DeclaredSource) -> dict[str, Any]:
    """Return what a source declares by code, which makes rows model instances."""
    declared = declarations_of(source) | {"get_languages": source.get_languages}
    return {name: value for name, value in declared.items() if is_method(value)}


def compile_lines(
    source: ModelSource,
    queryset: QuerySet[Any],
    site: Site,
    narrow: related.Narrow = lambda rows: rows,
    titles_in: str | None = None,
) -> tuple[Columns, Lines]:
    """Return the columns to select, and what writes rows in a site's surroundings.

    The rows are those that ``narrow`` leaves of the queryset, by key. With a language,
    they have a title in the place of all fields but the location.
    """
    methods, of_titles = declared_methods(source), titles_in is not None
    columns = Columns(bool(methods) or (of_titles and is_method(source.title)))
    declared = declarations_of(source)
    locate = declared.pop("location")
    versions = {}
    for language in languages_of(source):
        own = site_in(language, site)
        with surroundings_in(language, own):
            located = in_language(locate, language)
            versions[language] = _location(located, columns, own.origin)
    location = None if versions else _location(locate, columns, site.origin)
    if titles_in is None:
        fields = _fields(source, declared, columns, queryset, site, narrow)
    else:
        title = in_language(source.title, titles_in)
        if title is None and columns.of_instances:
            title = str
        fields = [Titles(_getter("title", title, columns), language=titles_in)]
    offered = source.get_languages if versions else None
    getter = offered and _getter("get_languages", offered, columns)
    for expression in columns.expressions:
        if label := related.joined_many(queryset.query, expression):
            raise ConfigurationError(
                f"{expression!r} leads to many rows of {label} for one of "
                f"{queryset.model._meta.label}, which would be listed once for each. "
                'Name one value of them, such as Max("photos__taken").'
            )
    raises = titles_in is None and source.on_error == "raise"
    if location is not None:
        return columns, Lines({"": location}, fields, raises)
    lines = language_lines(source, versions, getter, fields, site)
    return columns, replace(lines, raises=raises)


def select(queryset: QuerySet[Any], columns: Columns) -> QuerySet[Any]:
    """Return the query that reads columns, as instances or as tuples.

    The query is narrowed later, since a window function sees all rows.
    """
    if columns.of_instances:
        aliases = {f"{_ALIAS}{i}": e for i, e in enumerate(columns.expressions)}
        selected: QuerySet[Any] = queryset.annotate(**aliases)
    else:
        # The method of a subclass may order columns anew, and undo it in its loop.
        selected = plain(QuerySet.values_list(queryset, *columns.expressions))
    # Let no row go for a column behind a FilteredRelation whose condition it misses:
    # Django joins one of a foreign key that is not null as it joins the key itself.
    joins, known = selected.query.alias_map, {*queryset.query.alias_map}
    for alias, join in joins.items():
        if alias in known or type(join) is not Join:
            continue
        parent = joins[join.parent_alias]
        if join.filtered_relation or getattr(parent, "join_type", None) == LOUTER:
            joins[alias] = join.promote()
    return selected


def _fields(
    source: ModelSource,
    declared: Mapping[str, Any],
    columns: Columns,
    queryset: QuerySet[Any],
    site: Site,
    narrow: related.Narrow,
) -> list[Values]:
    fields = []
    own = columns_on(site.origin)
    if column := images_of(source, queryset, site.origin, narrow):
        own["images"] = column
    for name, value in declared.items():
        if path := related.path_to_many(source.model, name, value):
            take = columns.add(source.key)
            values = related.Related(queryset, narrow, source.key, path, take)
            fields.append(Values(values, related.several_column(own[name])))
            continue
        dates = None
        if name == "lastmod" and isinstance(value, str):
            dates = date_column(value, find_field(source.model, value), queryset.db)
        getter = _getter(name, dates.expression if dates else value, columns)
        fields.append(Values(getter, dates or own[name]))
    if source.mobile:
        fields.append(MOBILE)
    return fields


def images_of(
    source: ModelSource,
    queryset: QuerySet[Any],
    origin: str,
    narrow: related.Narrow = lambda rows: rows,
) -> Column | None:
    """Return what writes the images that a field holds; None of any other values."""
    images = F(source.images) if isinstance(source.images, str) else source.images
    if not is_expression(images):
        return None

    def rows() -> QuerySet[Any]:
        if related.path_to_many(source.model, "images", images):
            return related.related_rows(queryset, narrow, source.key)
        return narrow(queryset)

    with suppress(FieldError):  # the query says what is wrong
        resolved = images.resolve_expression(queryset.query.clone())
        return held_images(resolved, rows, images, origin)
    return None


def _location(declared: Any, columns: Columns, origin: str) -> Values | RouteValues:
    if not isinstance(declared, Route):
        getter = _getter("location", declared, columns)
        return Values(getter, location_column(origin))
    takes = [columns.add(path) for path in declared.arguments.values()]
    route = declared.compile()

    def path(values: Sequence[Any]) -> str:
        if None in values:  # reverse() would write it into the URL
            name = route.arguments[values.index(None)]
            raise NoLocationError(f"{name} of its URL is None")
        return route(values)

    if route.plain is not None:
        length = sum(map(len, (origin, *route.plain.pieces)))
        if MIN_URL_LENGTH <= length <= MAX_URL_LENGTH:
            getters = tuple(map(selected, takes))
            return RouteValues(getters, route.plain, location_column(origin, path))
    getter = called(lambda row: path([take(row) for take in takes]))
    return Values(getter, location_column(origin))


def _getter(name: str, value: Any, columns: Columns) -> Getter:
    if is_path(name, value) or is_expression(value):
        return selected(columns.add(value))
    return called(value) if is_method(value) else constant(value)


def names_of(
    query: QuerySet[Any], columns: Columns, limit: int
) -> Callable[[int, Sequence[Any], int], RowName]:
    """Return what names a row of a batch, given how many rows came before the batch.

    Tuples have no key: one query looks up those of the page when the first is named.
    """

    @cache
    def keyed() -> list[Any]:
        return list(query.values_list("pk", *columns.expressions)[:limit])

    def name(first: int, rows: Sequence[Any], row: int) -> RowName:
        if columns.of_instances:
            return describe(rows[row])
        for pk, *values in keyed()[first + row : first + row + 1]:
            # A list where a column is converted; another row if rows have come or gone.
            if values == list(rows[row]):
                return named(query.model, pk)
        return RowName(f"{query.model.__name__}, {describe(rows[row])}")

    return name


def indexed_lastmod(source: ModelSource) -> DateField[Any, Any] | None:
    """Return the date field of the model that ``lastmod`` names, if it has an index."""
    path = source.lastmod
    if not isinstance(path, str) or "__" in path:
        return None
    field = find_field(source.model, path)
    return field if isinstance(field, DateField) and is_indexed(field) else None


def is_unique(field: Field[Any, Any]) -> bool:
    """Return whether no two rows may have the same value."""
    constraints = field.model._meta.total_unique_constraints
    return field.unique or (field.name,) in [tuple(c.fields) for c in constraints]


def is_indexed(field: Any) -> bool:
    """Return whether some index begins with the field."""
    meta = field.model._meta
    indexes = [it.fields for it in (*meta.indexes, *meta.total_unique_constraints)]
    firsts = {names[0] for names in (*indexes, *meta.unique_together) if names}
    is_first = not firsts.isdisjoint((field.name, f"-{field.name}"))
    return field.db_index or is_unique(field) or is_first
