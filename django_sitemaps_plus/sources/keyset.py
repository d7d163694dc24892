"""Reading a queryset by key: from one key up to another, in the database's order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

from django.core.exceptions import FieldDoesNotExist, ValidationError
from django.db import connections, router
from django.db.models import Field, IntegerField, Model, QuerySet
from django.db.models.query import ModelIterable

from django_sitemaps_plus.core.key_ranges import KeyRange
from django_sitemaps_plus.exceptions import ConfigurationError, StalePlanError

#: Bounds that one query asks about alone; stock SQLite takes 32,766 values in one.
BOUNDS_AT_ONCE = 30_000

# Names of functions that make UUIDs of which a later one is the greater.
_ORDERED = {"uuid6", "uuid7"}


def key_field(model: type[Model], key: str) -> Field[Any, Any]:
    """Return the field that pages are cut by; of a relation, the field it holds.

    Raises:
        ConfigurationError: the model has no such field.
    """
    field = _own_field(model, key)
    while field.remote_field is not None:
        field = field.target_field
    return cast("Field[Any, Any]", field)


def _own_field(model: type[Model], key: str) -> Any:
    try:
        return model._meta.pk if key == "pk" else model._meta.get_field(key)
    except FieldDoesNotExist as error:
        raise ConfigurationError(
            f"key = {key!r}: {model._meta.label} has no such field. Name a unique, "
            "indexed field, or leave key out for the primary key."
        ) from error


def pages_by_key(queryset: object) -> bool:
    """Return whether the rows of a queryset can be read by key range."""
    if not isinstance(queryset, QuerySet):
        return False
    query = queryset.query
    return (
        issubclass(queryset._iterable_class, ModelIterable)
        and not query.is_sliced
        and not query.combinator
        and not query.distinct_fields
    )


def on_write_database(queryset: QuerySet[Any], using: str | None) -> QuerySet[Any]:
    """Return the queryset on the database that its rows are written to.

    A replica may lag behind a change that we were just told of.
    """
    has_own = getattr(queryset, "_db", None) is not None
    if using is None and not has_own:
        using = router.db_for_write(queryset.model)
    return queryset if using is None else queryset.using(using)


def in_range(queryset: QuerySet[Any], key: str, key_range: KeyRange) -> QuerySet[Any]:
    """Return the rows whose keys are in the range, ordered by key.

    Raises:
        StalePlanError: a bound is no value of the key, whose type has changed.
    """
    if key_range.low is not None:
        low = _value(queryset.model, key, key_range.low)
        queryset = queryset.filter(**{f"{key}__gte": low})
    if key_range.high is not None:
        high = _value(queryset.model, key, key_range.high)
        queryset = queryset.filter(**{f"{key}__lt": high})
    return by_key(queryset, key)


def by_key(queryset: QuerySet[Any], key: str) -> QuerySet[Any]:
    """Return the rows ordered by key, from the lowest, whatever their order was."""
    # A relation's name would order by the Meta.ordering of the model behind it.
    column = key if key == "pk" else _own_field(queryset.model, key).attname
    ordered = queryset.order_by(column)
    # reverse() outlasts order_by().
    ordered.query.standard_ordering = True
    return ordered


def first_keys(queryset: QuerySet[Any], key: str, step: int) -> Iterator[str]:
    """Yield the key of each ``step``-th row of a queryset, from the first, as text.

    Each is one query that skips along the key's index from the one before, so none
    takes longer for standing further back.
    """
    keys = by_key(queryset, key).values_list(key, flat=True)
    found = list(keys[:1])
    while found:
        last = found[0]
        yield str(last)
        found = list(keys.filter(**{f"{key}__gte": last})[step : step + 1])
        if found == [last]:  # a join has made one row as many as fill a page
            found = list(keys.filter(**{f"{key}__gt": last})[:1])


def _value(model: type[Model], key: str, text: str) -> Any:
    try:
        return key_field(model, key).to_python(text)
    except ValidationError as error:
        raise StalePlanError(
            f"{text!r} is no {key} of {model._meta.label}: the type of the key has "
            "changed since the plan was made"
        ) from error


def _makes_ordered(field: Field[Any, Any]) -> bool:
    """Return whether a default of the field makes UUIDs in the order of time."""
    defaults = (field.default, type(field.db_default))
    names = {getattr(default, "__name__", "").lower() for default in defaults}
    return not names.isdisjoint(_ORDERED)


@dataclass(frozen=True, slots=True)
class KeySpace:
    """The keys of a model in the order of its database.

    Attributes:
        model: the model.
        key: name of its key.
        alias: of the database.
    """

    model: type[Model]
    key: str
    alias: str

    @property
    def field(self) -> Field[Any, Any]:
        """The field that holds the key."""
        return key_field(self.model, self.key)

    @property
    def attribute(self) -> str:
        """The name of the key; of a relation that of the value which it holds.

        Rows cannot be ordered by the name of a relation: that is the order of the
        model behind it.
        """
        return str(_own_field(self.model, self.key).attname)

    @property
    def grows(self) -> bool:
        """Whether a new key is, as a rule, above all others.

        Integers are numbered, and a UUID may begin with the time at which it was made.
        Strings and other UUIDs fall anywhere.
        """
        return isinstance(self.field, IntegerField) or _makes_ordered(self.field)

    def value(self, text: str) -> Any:
        """Return the key of its text.

        Raises:
            StalePlanError: it is none.
        """
        return _value(self.model, self.key, text)

    def sort_in(self, bounds: Sequence[str], keys: Sequence[Any]) -> list[int]:
        """Return for each key the position of the last bound that is not above it.

        Bounds and keys are sorted together in one query. Its empty first half lends
        them the type and collation of the key's column, and ``kind`` puts a bound
        before an equal key.

        Args:
            bounds: texts of keys, ascending.
            keys: values, in any order.

        Returns:
            Positions; -1 for a key below all bounds.
        """
        found, at = [-1] * len(keys), -1
        for kind, number in self._sorted(bounds, keys):
            if kind:
                found[number] = at
            else:
                at = number
        return found

    def ascends(self, bounds: Sequence[str]) -> bool:
        """Return whether the database still sorts bounds as they were when planned."""
        if isinstance(self.field, IntegerField):
            values = [int(bound) for bound in bounds]
            return values == sorted(values)
        # The last bound of a part is the first of the next.
        firsts = range(0, len(bounds), BOUNDS_AT_ONCE)
        parts = (bounds[first : first + BOUNDS_AT_ONCE + 1] for first in firsts)
        return all(map(self._part_ascends, parts))

    def _part_ascends(self, bounds: Sequence[str]) -> bool:
        positions = [number for _, number in self._sorted(bounds, [])]
        return positions == list(range(len(bounds)))

    def _sorted(
        self, bounds: Sequence[str], keys: Sequence[Any]
    ) -> list[tuple[int, int]]:
        connection = connections[self.alias]
        field, quote = self.field, connection.ops.quote_name
        values = [self.value(bound) for bound in bounds] + list(keys)
        places = [(0, i) for i in range(len(bounds))] + [
            (1, i) for i in range(len(keys))
        ]
        if not values:
            return []
        row = "ROW(%s, {}, {})" if _needs_row(connection) else "(%s, {}, {})"
        column = quote(self._column())
        table = quote(field.model._meta.db_table)
        rows = ", ".join([row.format(*place) for place in places])
        empty = f"SELECT {column} AS k, 0 AS kind, 0 AS n FROM {table} WHERE 1 = 0"  # noqa: S608 - our own names
        sql = (
            f"SELECT kind, n FROM ({empty} UNION ALL VALUES {rows}) s ORDER BY k, kind"  # noqa: S608 - the same
        )
        prepared = [field.get_db_prep_value(value, connection) for value in values]
        with connection.cursor() as cursor:
            cursor.execute(sql, prepared)
            found: list[tuple[int, int]] = cursor.fetchall()
        return found

    def _column(self) -> str:
        return str(self.field.column)


def _needs_row(connection: Any) -> bool:
    # MySQL writes VALUES ROW(...), MariaDB and everybody else VALUES (...).
    return connection.vendor == "mysql" and not connection.mysql_is_mariadb
