"""Declarations: which columns a source selects, and how its rows are rendered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import attrgetter, itemgetter
from typing import Any

from django.core.exceptions import FieldDoesNotExist
from django.db.models import F, Field, Model
from django.db.models.expressions import Combinable

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.core.entries import (
    CHANGEFREQS,
    check_changefreq,
    check_priority,
    format_priority,
)
from django_sitemaps_plus.core.limits import MIN_URL_LENGTH

from .base import Source
from .dates import DateColumn, date_column
from .fast import path_lines, route_lines
from .lines import FIELDS, NAMESPACE_OF, FastLines, Getter, RowRenderer
from .model import ModelSource
from .route import CompiledRoute, Route

#: What columns of instances are called; no model field begins like this.
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
    """Return the field at a path, or None where it is an annotation or a lookup.

    Raises:
        FieldDoesNotExist: the model has no field of the path's first name.
    """
    *relations, last = path.split("__")
    for name in relations:
        related = model._meta.get_field(name).related_model
        if related is None or isinstance(related, str):
            return None
        model = related
    found: Any = model._meta.pk if last == "pk" else model._meta.get_field(last)
    return found if isinstance(found, Field) else None


def find_field(model: type[Model], path: str) -> Field[Any, Any] | None:
    """Return the field at a path, or None where there is none to be found."""
    try:
        return path_field(model, path)
    except FieldDoesNotExist:
        return None


@dataclass(slots=True)
class Columns:
    """What the rows of a query must hold, in the order in which it was asked for."""

    of_instances: bool  # whether rows are model instances, else tuples
    expressions: list[Any] = field(default_factory=list)

    def add(self, expression: Any) -> Getter:
        """Select an expression or field path; return what takes it from a row."""
        position = len(self.expressions)
        if isinstance(expression, str):
            expression = F(expression)
        self.expressions.append(expression)
        if self.of_instances:
            return attrgetter(f"{_ALIAS}{position}")
        return itemgetter(position)

    def aliases(self) -> dict[str, Any]:
        """Return the expressions by the name that they have on instances."""
        return {f"{_ALIAS}{i}": e for i, e in enumerate(self.expressions)}


def declarations_of(source: Source) -> dict[str, Any]:
    """Return what a source declares; for no location, the object's own method."""
    found = {name: getattr(source, name) for name in FIELDS}
    if found["location"] is None:
        found["location"] = get_absolute_url
    return {name: value for name, value in found.items() if value is not None}


def get_absolute_url(obj: Any) -> Any:
    """Return where an object says that it is found."""
    return obj.get_absolute_url()


def uses_instances(source: Source) -> bool:
    """Return whether a method makes rows model instances."""
    return any(map(is_method, declarations_of(source).values()))


def compile_renderer(
    source: ModelSource, alias: str, site: Site
) -> tuple[Columns, RowRenderer]:
    """Return the columns to select on a database, and what renders their rows.

    To be called, and the rows rendered, in the surroundings of a site.
    """
    columns = Columns(of_instances=uses_instances(source))
    declared = declarations_of(source)
    location = declared["location"]
    route = location.compile() if isinstance(location, Route) else None
    getters = {"location": _location(location, route, columns)}
    dates = _date_column(source, declared, alias)
    if dates is not None:
        getters["lastmod"] = _date_getter(dates, columns)
    for name, value in declared.items():
        if name not in getters:
            getters[name] = _getter(name, value, columns)
    fast = None
    # Without a column to name, the query selects all of them.
    if columns.expressions and not columns.of_instances:
        fast = _fast(declared, route, dates, site.origin)
    return columns, RowRenderer(getters, site.origin, source.on_error == "raise", fast)


def _location(location: Any, route: CompiledRoute | None, columns: Columns) -> Getter:
    if route is None:
        return _getter("location", location, columns)
    taken: dict[int, Getter] = {}
    # The fast way takes the columns in the order of the URL.
    order = [i for i, _ in route.fast.checks] if route.fast else ()
    paths = list(location.arguments.values())
    for position in order or range(len(paths)):
        taken[position] = columns.add(paths[position])
    return route_getter(route, [taken[i] for i in range(len(paths))])


def _date_column(
    source: ModelSource, declared: dict[str, Any], alias: str
) -> DateColumn | None:
    """Return how the lastmod is read as text, if it is."""
    lastmod = declared.get("lastmod")
    if not isinstance(lastmod, str):
        return None
    return date_column(lastmod, find_field(source.model, lastmod), alias)


def _date_getter(dates: DateColumn, columns: Columns) -> Getter:
    value = columns.add(dates.expression)
    return lambda row: dates.text(value(row))


def _getter(name: str, value: Any, columns: Columns) -> Getter:
    if is_path(name, value) or is_expression(value):
        return columns.add(value)
    return value if is_method(value) else constant(value)


def _fast(
    declared: dict[str, Any],
    route: CompiledRoute | None,
    dates: DateColumn | None,
    origin: str,
) -> FastLines | None:
    if not NAMESPACE_OF.keys().isdisjoint(declared):
        return None
    if "lastmod" in declared and dates is None:
        return None
    if len(f"{origin}/") < MIN_URL_LENGTH:  # a URL of it may be too short
        return None
    try:
        constants = _constants(declared)
    except ValueError:
        return None
    if route is None:
        return path_lines(origin, dates, **constants)
    if route.fast is None:
        return None
    return route_lines(route.fast, origin, dates, **constants)


def _constants(declared: dict[str, Any]) -> dict[str, str | None]:
    """Return changefreq and priority as text.

    Raises:
        ValueError: one is a column or a bad value, which needs a look at each row.
    """
    changefreq, priority = declared.get("changefreq"), declared.get("priority")
    if isinstance(priority, str) or is_expression(priority):
        raise ValueError("a column")
    return {
        "changefreq": None if changefreq is None else check_changefreq(changefreq),
        "priority": None
        if priority is None
        else format_priority(check_priority(priority)),
    }


def constant(value: Any) -> Getter:
    """Return what gives the value for any row."""
    return lambda row: value


def route_getter(route: CompiledRoute, columns: Sequence[Getter]) -> Getter:
    """Return what gives the path of a row.

    A row without one of the values has no URL: ``reverse()`` would write "None".
    """

    def path(row: Any) -> str:
        values = [column(row) for column in columns]
        if None in values:
            name = route.arguments[values.index(None)]
            raise ValueError(f"{name} of its URL is None")
        return route(values)

    return path


def is_unique(field: Field[Any, Any]) -> bool:
    """Return whether no two rows may have the same value."""
    constraints = field.model._meta.total_unique_constraints
    return field.unique or (field.name,) in [tuple(c.fields) for c in constraints]


def is_indexed(field: Any) -> bool:
    """Return whether some index begins with the field."""
    if field.db_index or is_unique(field):
        return True
    firsts = [index.fields[:1] for index in field.model._meta.indexes]
    firsts += [list(c.fields[:1]) for c in field.model._meta.total_unique_constraints]
    firsts += [list(names[:1]) for names in field.model._meta.unique_together]
    return [field.name] in firsts or [f"-{field.name}"] in firsts
