"""What the attributes of a source declare, and what a query must select for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import attrgetter, itemgetter
from typing import Any

from django.core.exceptions import FieldDoesNotExist
from django.db.models import F, Field, Model
from django.db.models.expressions import Combinable

from django_sitemaps_plus.core.entries import CHANGEFREQS

from .lines import Getter
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
    """What the rows of a query must hold, in the order in which it was asked for.

    Attributes:
        of_instances: whether rows are model instances, else tuples.
    """

    of_instances: bool
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
