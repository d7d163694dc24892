"""Keys: the field that pages are cut by, and its order in the database."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast

from django.core.exceptions import FieldDoesNotExist, ValidationError
from django.db import connections, models

from django_sitemaps_plus.exceptions import (
    ConfigurationError,
    SourceError,
    StalePlanError,
)

#: Bounds that one query asks about alone; stock SQLite takes 32,766 values in one.
BOUNDS_AT_ONCE = 30_000

# Types of Django whose values, as text, do not give themselves back.
_WITHOUT_TEXT = (models.BinaryField, models.CompositePrimaryKey, models.JSONField)

# Methods by which a type converts its values.
_CONVERSIONS = {"to_python", "from_db_value", "get_prep_value", "get_db_prep_value"}

# Whether keys of other types give themselves back, once one was seen.
_give_back: dict[models.Field[Any, Any], bool] = {}

# Names of functions that make UUIDs of which a later one is the greater.
_ORDERED = {"uuid6", "uuid7"}


def key_field(model: type[models.Model], key: str) -> models.Field[Any, Any]:
    """Return the field that pages are cut by; of a relation, the field it holds."""
    field = own_field(model, key)
    while field.remote_field is not None:
        field = field.target_field
    return cast("models.Field[Any, Any]", field)


def own_field(model: type[models.Model], key: str) -> Any:
    """Return the field that a key names, which may be a relation."""
    try:
        return model._meta.pk if key == "pk" else model._meta.get_field(key)
    except FieldDoesNotExist as error:
        raise ConfigurationError(
            f"key = {key!r}: {model._meta.label} has no such field. Name a unique, "
            "indexed field, or leave key out for the primary key."
        ) from error


def has_text(field: models.Field[Any, Any], sample: Callable[[], Any]) -> bool:
    """Return whether a key can be a bound of pages, which are kept as text.

    Types of Django are known; for others a key is asked, None if there is none yet.
    """
    if isinstance(field, _WITHOUT_TEXT):
        return False
    if is_of_django(field, models.Field):
        return True
    if field not in _give_back:
        if (key := sample()) is None:
            return True
        _give_back[field] = _gives_back(field, key)
    return _give_back[field]


def is_of_django(field: models.Field[Any, Any], kind: Any) -> bool:
    """Return whether a field is of a kind, and Django itself converts its values."""
    first, *_ = [it for it in type(field).__mro__ if _CONVERSIONS & vars(it).keys()]
    return isinstance(field, kind) and first.__module__.startswith("django.db.models.")


def _gives_back(field: models.Field[Any, Any], key: Any) -> bool:
    with suppress(Exception):  # it may be the user's code
        return bool(field.to_python(str(key)) == key)
    return False


@dataclass(frozen=True, slots=True)
class KeySpace:
    """The keys of a model in the order of its database."""

    model: type[models.Model]
    key: str
    alias: str

    @property
    def field(self) -> models.Field[Any, Any]:
        """The field that holds the key."""
        return key_field(self.model, self.key)

    @property
    def attribute(self) -> str:
        """The name of the key; of a relation that of the value which it holds."""
        return str(own_field(self.model, self.key).attname)

    @property
    def grows(self) -> bool:
        """Whether a new key is above all others, as a rule."""
        if isinstance(self.field, models.IntegerField):
            return True
        defaults = (self.field.default, type(self.field.db_default))
        names = {getattr(default, "__name__", "").lower() for default in defaults}
        return not names.isdisjoint(_ORDERED)

    def text(self, key: Any) -> str:
        """Return a key as the text of a bound, or raise SourceError: it is no such."""
        if not _gives_back(self.field, key):
            raise SourceError(
                f"{key!r} cannot be a bound of pages: {self.model._meta.label}."
                f"{self.field.name} does not read its text, {str(key)!r}, as the same. "
                "Name another field as key; in a contrib class, return a list."
            )
        return str(key)

    def value(self, text: str) -> Any:
        """Return the key of its text, or raise StalePlanError: its type has changed."""
        try:
            return self.field.to_python(text)
        except ValidationError as error:
            raise StalePlanError(
                f"{text!r} is not a {self.key} of {self.model._meta.label}: the type "
                "of the key has changed since the plan was made"
            ) from error

    def sort_in(self, bounds: Sequence[str], keys: Sequence[Any]) -> list[int]:
        """Return for each key the position of the last bound not above it, or -1.

        Bounds are texts of keys, ascending.
        """
        positions, at = [-1] * len(keys), -1
        for kind, number in self._sorted(bounds, keys):
            if kind:
                positions[number] = at
            else:
                at = number
        return positions

    def ascends(self, bounds: Sequence[str]) -> bool:
        """Return whether the database still sorts bounds as they were when planned."""
        if is_of_django(self.field, models.IntegerField):
            values = [int(bound) for bound in bounds]
            return values == sorted(values)
        for first in range(0, len(bounds), BOUNDS_AT_ONCE):
            # The last bound of a part is the first of the next.
            part = bounds[first : first + BOUNDS_AT_ONCE + 1]
            if [place for _, place in self._sorted(part, [])] != [*range(len(part))]:
                return False
        return True

    def _sorted(
        self, bounds: Sequence[str], keys: Sequence[Any]
    ) -> list[tuple[int, int]]:
        """Sort bounds (0, position) and keys (1, position) as the key's column does.

        An empty SELECT lends them its type and collation.
        """
        connection: Any = connections[self.alias]
        field, quote = self.field, connection.ops.quote_name
        values = [*map(self.value, bounds), *keys]
        places = [(0, i) for i in range(len(bounds))]
        places += [(1, i) for i in range(len(keys))]
        if not values:
            return []
        # MySQL writes VALUES ROW(...); MariaDB and the others write VALUES (...).
        is_mysql = connection.vendor == "mysql" and not connection.mysql_is_mariadb
        row = "ROW(%s, {}, {})" if is_mysql else "(%s, {}, {})"
        if connection.vendor == "sqlite" and isinstance(field, models.DecimalField):
            row = "(CAST(%s AS NUMERIC), {}, {})"  # as the column has them, no text
        column = quote(str(field.column))
        table = quote(field.model._meta.db_table)
        rows = ", ".join([row.format(*place) for place in places])
        empty = f"SELECT {column} AS k, 0 AS kind, 0 AS n FROM {table} WHERE 1 = 0"  # noqa: S608 - our own names
        sql = (
            f"SELECT kind, n FROM ({empty} UNION ALL VALUES {rows}) s ORDER BY k, kind"  # noqa: S608 - the same
        )
        prepared = [field.get_db_prep_value(value, connection) for value in values]
        with connection.cursor() as cursor:
            cursor.execute(sql, prepared)
            ordered: list[tuple[int, int]] = cursor.fetchall()
        return ordered


def as_keys(model: type[models.Model], texts: Iterable[str]) -> list[Any]:
    """Return primary keys of their texts; one of another type is that of no row."""
    keys, field = [], key_field(model, "pk")
    for text in texts:
        with suppress(ValidationError, ValueError, TypeError):
            key = field.to_python(text)
            field.run_validators(key)  # the database may refuse a number too large
            keys.append(key)
    return keys
