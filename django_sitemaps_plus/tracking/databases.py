"""The databases of changes: each change is on the database of its object."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from django.db import connections, router, transaction

from django_sitemaps_plus.models import Change, own_alias

logger = logging.getLogger(__name__)

T = TypeVar("T")

#: Seconds for which a database that could not be read is left alone.
PAUSE = 60

# Connections that failed, and until when they are left alone by the monotonic clock.
_paused: WeakKeyDictionary[Any, float] = WeakKeyDictionary()


def databases() -> list[str]:
    """Return the databases with our tables: ``save(using="other")`` asks no router."""
    own = own_alias()
    others = [alias for alias in connections if alias != own]
    return [own, *filter(may_hold_changes, others)]


def may_hold_changes(alias: str) -> bool:
    """Return whether our tables are migrated to a database that is not a replica."""
    is_replica = connections.settings[alias]["TEST"]["MIRROR"] is not None
    return not is_replica and bool(router.allow_migrate_model(alias, Change))


def attempt(alias: str, step: Callable[[], T]) -> T | None:
    """Do something with the changes of a database; return None if that failed.

    Only the database of the pages must work; another that fails is left alone for a
    while, since each section would wait for it.
    """
    if alias == own_alias():
        return step()
    connection = connections[alias]
    if _paused.get(connection, 0) > time.monotonic():
        return None
    try:
        with savepoint(alias):
            return step()
    except Exception:
        logger.warning(
            "Changes on the database %r cannot be taken. Is it up, and sitemaps_plus "
            "migrated to it? Of a replica, let TEST['MIRROR'] name the primary",
            alias,
            exc_info=True,
            extra={"action": "changes_out_of_reach"},
        )
        _paused[connection] = time.monotonic() + PAUSE
        return None


def savepoint(alias: str) -> AbstractContextManager[Any]:
    """Return what keeps an error of ours from breaking a transaction that is open."""
    connection = connections[alias]
    if connection.in_atomic_block or not connection.get_autocommit():
        return transaction.atomic(using=alias)
    return nullcontext()


def execute(alias: str, sql: str, values: Sequence[Any]) -> None:
    """Run a statement whose error does not break a transaction that is open.

    Only where the database undoes all of it, as SQLite may on a full disk and MariaDB
    for a deadlock, the transaction has to be rolled back.
    """
    connection = connections[alias]
    if connection.vendor != "sqlite":
        with savepoint(alias), connection.cursor() as cursor:
            cursor.execute(sql, values)
        return
    # SQLite undoes a statement that fails; a savepoint would take a save two more.
    with connection.cursor() as cursor:
        try:
            cursor.execute(sql, values)
        except Exception:
            if connection.in_atomic_block and not connection.connection.in_transaction:
                transaction.set_rollback(True, using=alias)
            raise
