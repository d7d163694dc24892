"""Recording changes: one row in the object's own transaction, whatever happens."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

from django.db import connections, transaction
from django.db.models import Model, QuerySet

from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.models import Change, Page
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.sources.keyset import by_key, first_keys, on_write_database

from .watching import Watched, concrete

logger = logging.getLogger(__name__)

#: Rows up to which notify_changed() records each key; beyond, it records ranges.
SINGLE_KEYS = 1_000

#: Rows of a range that notify_changed() records.
RANGE_KEYS = 500

Row = tuple[str, str, str, str]  # section, kind, low, high

#: Sections that have a plan, as far as this process knows; a plan never goes.
_planned: set[str] = set()


def record(
    watchers: Sequence[Watched],
    instance: Model,
    using: str,
    *,
    update_fields: Iterable[str] | None = None,
    deleted: bool = False,
) -> None:
    """Record that an object was saved or deleted; never raise.

    Args:
        watchers: who is concerned with objects of its model.
        instance: the object.
        using: alias of its database, where the change is recorded too.
        update_fields: what the save was limited to.
        deleted: whether it is gone.
    """

    def rows() -> Iterable[Row]:
        names = None if update_fields is None else _fields(instance, update_fields)
        return [
            _row(watched, instance, deleted)
            for watched in watchers
            if names is None or watched.depends_on(names)
        ]

    _record(instance, using, rows)


def record_unlinked(
    watchers: Sequence[Watched], instance: Model, using: str, pks: set[Any] | None
) -> None:
    """Record that rows refer to an object no longer; never raise.

    Args:
        watchers: who is concerned with the rows.
        instance: the object; a reader would not find the rows by it any more.
        using: alias of its database.
        pks: primary keys of the rows; None where nobody knows which.
    """

    def rows() -> Iterator[Row]:
        for watched in watchers:
            if pks is not None and getattr(watched.source, "key", "pk") == "pk":
                for pk in pks:
                    yield watched.section, Change.Kind.KEY, str(pk), ""
            else:
                yield watched.section, Change.Kind.AUDIT, "", ""

    _record(instance, using, rows)


def _record(instance: Model, using: str, rows: Callable[[], Iterable[Row]]) -> None:
    try:
        if get_settings().track:
            insert(using, rows())
    except Exception:
        logger.exception(
            "A change of %s was not recorded; an audit will find it",
            type(instance)._meta.label,
            extra={"action": "change_lost"},
        )


def _fields(instance: Model, names: Iterable[str]) -> frozenset[str]:
    """Return the names of fields that a save may also give by their columns."""
    return frozenset([instance._meta.get_field(name).name for name in names])


def _row(watched: Watched, instance: Model, deleted: bool) -> Row:
    if not watched.path:
        key = _key(watched, instance)
        return watched.section, Change.Kind.KEY, str(key), ""
    if deleted:
        return watched.section, Change.Kind.AUDIT, "", ""
    return watched.section, Change.Kind.RELATED, str(instance.pk), watched.path


def _key(watched: Watched, instance: Model) -> Any:
    key = getattr(instance, watched.key_attribute)
    if key is None:  # a child in a fixture has nothing but the link to its parent
        parent: Any = watched.source.tracked_model
        link: Any = instance._meta.get_ancestor_link(parent)
        key = getattr(instance, link.attname)
    return key


def insert(using: str, rows: Iterable[Row]) -> None:
    """Insert changes of sections that have a plan; of others nobody would read them.

    In a transaction this is a savepoint, so that an error of ours leaves the user's
    own work alone; in autocommit it is a statement of its own.
    """
    rows = [row for row in rows if is_planned(row[0])]
    if not rows:
        return
    connection = connections[using]
    if connection.in_atomic_block:
        with transaction.atomic(using=using):
            _execute(connection, rows)
    else:
        _execute(connection, rows)


def _execute(connection: Any, rows: Sequence[Row]) -> None:
    # By hand: an ORM insert takes longer than the save that it belongs to may cost.
    quote = connection.ops.quote_name
    columns = ", ".join([quote(name) for name in ("section", "kind", "low", "high")])
    places = ", ".join(["(%s, %s, %s, %s)"] * len(rows))
    table = quote(Change._meta.db_table)
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {table} ({columns}) VALUES {places}",  # noqa: S608 - our names
            [value for row in rows for value in row],
        )


def is_planned(section: str) -> bool:
    """Return whether pages of a section exist, so that its changes matter."""
    if section not in _planned and _has_pages(section):
        _planned.add(section)
    return section in _planned


def _has_pages(section: str) -> bool:
    pages = Page.objects.filter(section__name=section)
    if not connections[pages.db].in_atomic_block:
        return pages.exists()
    with transaction.atomic(using=pages.db):  # for the same reason as in insert()
        return pages.exists()


def notify_changed(queryset: QuerySet[Any]) -> int:
    """Record that rows were changed in a way that sends no signals.

    That is what ``update()``, ``bulk_create()``, ``bulk_update()`` and raw SQL do. Call
    it with the rows as they are found afterwards, in the same transaction.

    Args:
        queryset: rows of a model that some section lists.

    Returns:
        How many changes were recorded: one a row, or one for each range of many.
    """
    if not get_settings().track:
        return 0
    queryset = on_write_database(queryset, None)
    total = 0
    for name, source in registry.items():
        space = source.key_space()
        if space is None or concrete(space.model) is not concrete(queryset.model):
            continue
        rows = list(_change_rows(name, space.key, queryset))
        insert(queryset.db, rows)
        total += len(rows)
    return total


def _change_rows(section: str, key: str, queryset: QuerySet[Any]) -> Iterable[Row]:
    keys = by_key(queryset, key).values_list(key, flat=True)
    found = list(keys[: SINGLE_KEYS + 1])
    if len(found) <= SINGLE_KEYS:
        return [(section, Change.Kind.KEY, str(value), "") for value in found]
    cuts = [*first_keys(queryset, key, RANGE_KEYS), str(keys.last())]
    return [(section, Change.Kind.RANGE, *bounds) for bounds in pairwise(cuts)]
