"""Rows that statements examine, as PostgreSQL says in their plans."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection

_EXPLAINED = ("SELECT", "UPDATE", "DELETE", "INSERT", "WITH")
_ROWS = ("Actual Rows", "Rows Removed by Filter", "Rows Removed by Index Recheck")


@contextmanager
def examining() -> Iterator[dict[str, int]]:
    """Give the most rows that each statement examines, by its text.

    Each is run for that first, and undone.
    """
    found: dict[str, int] = {}

    def note(
        execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any
    ) -> Any:
        if sql.startswith(_EXPLAINED):
            rows = _examined(_plan(sql, params))
            found[sql] = max(rows, found.get(sql, 0))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(note):
        yield found


def _plan(sql: str, params: Any) -> Any:
    is_alone = connection.get_autocommit()
    with connection.connection.cursor() as cursor:
        cursor.execute("BEGIN" if is_alone else "SAVEPOINT examined")
        cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}", params)
        [(plans,)] = cursor.fetchall()
        cursor.execute("ROLLBACK" if is_alone else "ROLLBACK TO SAVEPOINT examined")
    [found] = json.loads(plans) if isinstance(plans, str) else plans
    return found["Plan"]


def _examined(node: dict[str, Any]) -> int:
    """Return the rows and entries of indexes that the scans of a plan have read."""
    total = sum(map(_examined, node.get("Plans", ())))
    if node["Node Type"].endswith("Scan"):
        rows = sum([node.get(name, 0) for name in _ROWS])
        total += round(rows * node["Actual Loops"])
    return total
