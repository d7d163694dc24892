"""A join as other libraries make it: only what Django's compiler asks for."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.db.models.sql.constants import INNER


class Joined:
    """A table of so many rows that is joined to each row of a model."""

    join_type = INNER
    filtered_relation = None
    nullable = False

    def __init__(self, parent_alias: str, rows: int) -> None:
        self.parent_alias, self.rows = parent_alias, rows
        self.table_name = self.table_alias = "joined"

    @property
    def identity(self) -> Any:
        return type(self), self.parent_alias, self.rows

    def __eq__(self, other: object) -> bool:
        return getattr(other, "identity", None) == self.identity

    def __hash__(self) -> int:
        return hash(self.identity)

    def equals(self, other: object) -> bool:
        return self == other

    def relabeled_clone(self, change_map: dict[str, str]) -> Joined:
        return type(self)(change_map.get(self.parent_alias, "joined"), self.rows)

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, list[Any]]:
        rows = " UNION ALL ".join([f"SELECT {n} AS n" for n in range(self.rows)])
        return f"INNER JOIN ({rows}) joined ON 1 = 1", []


def joined(queryset: QuerySet[Any], rows: int = 1) -> QuerySet[Any]:
    """Return each row of a queryset so many times, by a join of another library."""
    queryset = queryset.all()
    query: Any = queryset.query
    query.join(Joined(query.get_initial_alias(), rows))
    return queryset
