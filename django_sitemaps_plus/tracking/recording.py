"""Recording changes: one row in the object's own transaction, whatever happens."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

from django.db import Error, connections, transaction
from django.db.models import Model, QuerySet

from django_sitemaps_plus.conf import get_settings, tells_engines
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.executors.base import Executor, get_executor
from django_sitemaps_plus.models import Change, Page
from django_sitemaps_plus.models.transactions import contained
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.sources.keyset import by_key, first_keys, on_write_database

from .databases import savepoint
from .parents import concrete, path_to_parent
from .watching import Watched

logger = logging.getLogger(__name__)

#: Rows up to which notify_changed() records each key; beyond, it records ranges.
SINGLE_KEYS = 1_000

#: Rows of a range that notify_changed() records.
RANGE_KEYS = 500

#: Changes of one statement; databases limit its values, the strictest to 999.
ROWS_PER_INSERT = 200

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
    """Record that others refer to an object no longer; never raise.

    Args:
        watchers: who is concerned with the others: rows, or what leads to rows.
        instance: the object; a reader would not find the others by it any more.
        using: alias of its database.
        pks: primary keys of the others; None where nobody knows which.
    """

    def rows() -> Iterator[Row]:
        for watched in watchers:
            others = [None] if pks is None else pks
            yield from dict.fromkeys(_row_at_end(watched, pk) for pk in others)

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


def _row_at_end(watched: Watched, pk: Any) -> Row:
    """Return the change of the object at the end of the path, as far as it is known."""
    if pk is None or not (watched.path or watched.key_is_pk):
        return watched.section, Change.Kind.AUDIT, "", ""
    kind = Change.Kind.RELATED if watched.path else Change.Kind.KEY
    return watched.section, kind, str(pk), watched.path


def _row_between(watched: Watched, link: Any, instance: Model, deleted: bool) -> Row:
    """Return the change of the object to which a row of a model between refers.

    Unlike other related rows one that is deleted still says whom it concerned.
    """
    is_pk = link.target_field.primary_key
    row = _row_at_end(watched, getattr(instance, link.attname) if is_pk else None)
    if row[1] != Change.Kind.AUDIT or watched.path or deleted:
        return row
    # The reader asks for the key that a row between does not hold.
    path = f"{link.model._meta.label}:{link.name}"
    return watched.section, Change.Kind.RELATED, str(instance.pk), path


def _row(watched: Watched, instance: Model, deleted: bool) -> Row:
    if watched.link is not None:
        return _row_between(watched, watched.link, instance, deleted)
    if not watched.path:
        key = _key(watched, instance)
        return watched.section, Change.Kind.KEY, str(key), ""
    if deleted:
        return watched.section, Change.Kind.AUDIT, "", ""
    pk = _related_key(watched, instance)
    return watched.section, Change.Kind.RELATED, str(pk), watched.path


def _key(watched: Watched, instance: Model) -> Any:
    key = getattr(instance, watched.key_attribute)
    return _linked(instance, watched.source.tracked_model) if key is None else key


def _related_key(watched: Watched, instance: Model) -> Any:
    if watched.parent is None:
        return instance.pk
    pk: Any = watched.parent._meta.pk
    key = getattr(instance, pk.attname)
    return _linked(instance, watched.parent) if key is None else key


def _linked(instance: Model, parent: Any) -> Any:
    # A child in a fixture has nothing but the link to its parent.
    link: Any = instance._meta.get_ancestor_link(parent)
    return getattr(instance, link.attname)


def insert(using: str, rows: Iterable[Row]) -> None:
    """Insert changes of sections that have a plan, or all if engines are told of them.

    In a transaction this is a savepoint, so that an error of ours leaves the user's
    own work alone; in autocommit it is a statement of its own, or some if many.
    """
    rows = list(rows)
    read = {section for section in {row[0] for row in rows} if _is_read(section)}
    rows = [row for row in rows if row[0] in read]
    if not rows:
        return
    with savepoint(using):
        _execute(connections[using], rows)
    _wake(using, rows)


def _wake(using: str, rows: Sequence[Row]) -> None:
    try:
        executor = get_executor()
    except ConfigurationError as error:  # a check says so; the changes are recorded
        logger.error("Nobody is woken: %s", error, extra={"action": "wake_failed"})
        return
    if executor.is_listening:
        for section in {row[0] for row in rows}:
            transaction.on_commit(_waking(executor, section), using=using, robust=True)


def _waking(executor: Executor, section: str) -> Callable[[], None]:
    # No partial: Django tells of a robust one that raises by its __qualname__, which a
    # partial has not, and so would raise itself.
    def wake() -> None:
        executor.wake(section)

    return wake


def _execute(connection: Any, rows: Sequence[Row]) -> None:
    # By hand: an ORM insert takes longer than the save that it belongs to may cost.
    quote = connection.ops.quote_name
    columns = ", ".join([quote(name) for name in ("section", "kind", "low", "high")])
    into = f"INSERT INTO {quote(Change._meta.db_table)} ({columns}) VALUES "  # noqa: S608 - our names
    with connection.cursor() as cursor:
        for first in range(0, len(rows), ROWS_PER_INSERT):
            part = rows[first : first + ROWS_PER_INSERT]
            cursor.execute(
                into + ", ".join(["(%s, %s, %s, %s)"] * len(part)),
                [value for row in part for value in row],
            )


def _is_read(section: str) -> bool:
    return section in _planned or _tells_engines() or is_planned(section)


def _tells_engines() -> bool:
    """Return whether engines are told; where nobody can say now, they may be."""
    try:
        with contained():  # contrib.sites may have to be asked for the origin
            return tells_engines()
    except Error:
        return True


def is_planned(section: str) -> bool:
    """Return whether pages of a section exist, so that its changes matter."""
    if section not in _planned and _has_pages(section):
        _planned.add(section)
    return section in _planned


def _has_pages(section: str) -> bool:
    pages = Page.objects.filter(section__name=section)
    with savepoint(pages.db):  # for the same reason as in insert()
        return pages.exists()


def notify_changed(queryset: QuerySet[Any]) -> int:
    """Do what :func:`django_sitemaps_plus.notify_changed` says."""
    if not get_settings().track:
        return 0
    queryset = on_write_database(queryset, None)
    total = 0
    for name, source in registry.items():
        space = source.key_space()
        listed = None if space is None else _listed(space.model, queryset)
        if space is None or listed is None:
            continue
        rows = list(_change_rows(name, space.key, listed))
        insert(queryset.db, rows)
        total += len(rows)
    return total


def _listed(model: type[Model], queryset: QuerySet[Any]) -> QuerySet[Any] | None:
    """Return the rows as those of a model; None if they are of another.

    A row of a parent belongs to a child with a table of its own, where that has one.
    """
    own, told = concrete(model), concrete(queryset.model)
    if issubclass(told, own):
        return queryset
    if not issubclass(own, told):
        return None
    rows = own._base_manager.using(queryset.db)
    path = path_to_parent(own, told)
    return rows.filter(**{f"{path}__in": queryset.values("pk")})


def _change_rows(section: str, key: str, queryset: QuerySet[Any]) -> Iterable[Row]:
    keys = by_key(queryset, key).values_list(key, flat=True)
    found = list(keys[: SINGLE_KEYS + 1])
    if len(found) <= SINGLE_KEYS:
        return [(section, Change.Kind.KEY, str(value), "") for value in found]
    cuts = [*first_keys(queryset, key, RANGE_KEYS), str(keys.last())]
    return [(section, Change.Kind.RANGE, *bounds) for bounds in pairwise(cuts)]
