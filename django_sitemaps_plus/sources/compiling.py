"""From what a model source declares to what its query selects and how rows render."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.core.entries import (
    check_changefreq,
    check_priority,
    format_priority,
)
from django_sitemaps_plus.core.limits import MIN_URL_LENGTH

from .dates import DateColumn, date_column
from .declarations import (
    Columns,
    constant,
    find_field,
    is_expression,
    is_method,
    is_path,
    route_getter,
)
from .fast import path_lines, route_lines
from .lines import FIELDS, NAMESPACE_OF, FastLines, Getter, RowRenderer
from .route import CompiledRoute, Route

if TYPE_CHECKING:
    from .model import ModelSource


def compile_renderer(
    source: ModelSource, alias: str, site: Site
) -> tuple[Columns, RowRenderer]:
    """Return the columns to select on a database, and what renders their rows.

    To be called, and the rows rendered, in the surroundings of a site.
    """
    columns = Columns(of_instances=source.uses_instances)
    declared = {name: source.declaration(name) for name in FIELDS}
    declared = {name: value for name, value in declared.items() if value is not None}
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
