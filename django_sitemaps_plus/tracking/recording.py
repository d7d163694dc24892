"""Recording: write a change in the transaction of a save, and never break the save."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from itertools import chain, pairwise
from typing import Any

from django.db import Error, connections, transaction
from django.db.models import Model, QuerySet

from django_sitemaps_plus.conf import get_settings, notifies_engines
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.executors.base import get_executor
from django_sitemaps_plus.models import Change, Page
from django_sitemaps_plus.models.transactions import contained
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.sources import reader_of
from django_sitemaps_plus.sources.querysets import (
    by_key,
    first_keys,
    on_write_database,
)

from .databases import savepoint
from .relations import concrete
from .watching import Row, Watched

logger = logging.getLogger(__name__)

#: Rows up to which notify_changed() records each key; beyond, it records ranges.
SINGLE_KEYS = 1_000

#: Rows of a range that notify_changed() records.
RANGE_KEYS = 500

#: Changes of one statement; databases limit its values, the strictest to 999.
ROWS_PER_INSERT = 200

#: Sections that have a plan, as far as this process knows; a plan never goes.
_planned: set[str] = set()


def record(
    watchers: Sequence[Watched],
    instance: Model,
    using: str,
    update_fields: Iterable[str] | None = None,
    **kwargs: Any,
) -> None:
    """Receive ``post_save`` and ``post_delete``: record a change; never raise.

    Fixtures (`raw`) are recorded as well: their rows are listed like any other.
    """
    with _harmless(instance):
        if update_fields is not None:  # which may be names of columns, too
            found = [instance._meta.get_field(name).name for name in update_fields]
            names = frozenset(found)
            watchers = [it for it in watchers if it.depends_on(names)]
        insert(using, _rows(watchers, instance))


def record_relations(
    relations: Sequence[Watched],
    instance: Model,
    using: str,
    action: str,
    model: type[Model],
    pk_set: set[Any] | None = None,
    **kwargs: Any,
) -> None:
    """Receive ``m2m_changed``, as :func:`record` does.

    Objects of ``model`` were related to the instance, or no longer are: those of
    ``pk_set``, or all that were.
    """
    if not action.startswith("post_"):
        return
    with _harmless(instance):
        rows: list[Row] = []
        for watched in relations:  # one of a model with itself may begin at both ends
            if watched.is_of(type(instance)):
                rows += _rows([watched], instance)
            if not watched.is_of(model):
                continue
            if pk_set is None:
                rows.append((watched.section, Change.Kind.AUDIT, "", ""))
            else:
                rows += [watched.row(pk) for pk in pk_set]
        insert(using, list(dict.fromkeys(rows)))


@contextmanager
def _harmless(instance: Model) -> Iterator[None]:
    try:
        yield
    except Exception:
        logger.exception(
            "A change of %s was not recorded; an audit will find it",
            type(instance)._meta.label,
            extra={"action": "change_lost"},
        )


def _rows(watchers: Iterable[Watched], instance: Model) -> list[Row]:
    found = [(it, getattr(instance, it.attribute)) for it in watchers]
    # A child in a fixture has only the link to its parent, whose row is saved as well.
    return [watched.row(value) for watched, value in found if value is not None]


def insert(using: str, rows: Sequence[Row]) -> None:
    """Insert changes of sections that have a plan, or all if engines are notified.

    In a transaction all of it is one savepoint, so that an error of ours leaves the
    user's own work alone.
    """
    if not rows or not get_settings().track:
        return
    sections = {row[0] for row in rows}
    with savepoint(using):
        if not sections <= _planned:
            sections = {name for name in sections if _is_read(name, using)}
            rows = [row for row in rows if row[0] in sections]
        if rows:
            _execute(connections[using], rows)
    _wake(using, sections)


def _is_read(section: str, using: str) -> bool:
    if section in _planned:
        return True
    pages = Page.objects.filter(section__name=section)
    with nullcontext() if pages.db == using else savepoint(pages.db):
        if pages.exists():
            _planned.add(section)
            return True
    if get_settings().base_url is not None:
        return notifies_engines()
    try:
        with contained():  # contrib.sites may be asked for the origin
            return notifies_engines()
    except Error:
        return True


def _execute(connection: Any, rows: Sequence[Row]) -> None:
    # By hand: an ORM insert takes longer than the save that it belongs to may cost.
    quote = connection.ops.quote_name
    columns = ", ".join(map(quote, ("section", "kind", "low", "high")))
    into = f"INSERT INTO {quote(Change._meta.db_table)} ({columns}) VALUES "  # noqa: S608 - our names
    with connection.cursor() as cursor:
        for first in range(0, len(rows), ROWS_PER_INSERT):
            part = rows[first : first + ROWS_PER_INSERT]
            places = ", ".join(["(%s, %s, %s, %s)"] * len(part))
            cursor.execute(into + places, list(chain.from_iterable(part)))


def _wake(using: str, sections: Collection[str]) -> None:
    try:
        executor = get_executor()
    except ConfigurationError as error:  # a check says so; the changes are recorded
        logger.error("No worker is woken: %s", error, extra={"action": "wake_failed"})
        return
    if not sections or not executor.is_listening:
        return

    def wake() -> None:  # no partial: Django logs one that fails by its __qualname__
        for section in sections:
            executor.wake(section)

    transaction.on_commit(wake, using=using, robust=True)


def notify_changed(queryset: QuerySet[Any]) -> int:
    """Do what :func:`django_sitemaps_plus.notify_changed` says."""
    if not get_settings().track:
        return 0
    queryset = on_write_database(queryset, None)
    total = 0
    for name, source in registry.items():
        space = reader_of(source).key_space()
        listed = None if space is None else _listed(space.model, queryset)
        if space is not None and listed is not None:
            rows = list(_change_rows(name, space.key, listed))
            insert(queryset.db, rows)
            total += len(rows)
    return total


def _listed(model: type[Model], queryset: QuerySet[Any]) -> QuerySet[Any] | None:
    """Return the rows as those of a model; None if they are of another.

    A row of a parent belongs to a child with a table of its own, where that has one.
    """
    own, given = concrete(model), concrete(queryset.model)
    if issubclass(given, own):
        return queryset
    if not issubclass(own, given):
        return None
    rows = own._base_manager.using(queryset.db)
    return rows.filter(**{f"{given._meta.pk.name}__in": queryset.values("pk")})


def _change_rows(section: str, key: str, queryset: QuerySet[Any]) -> Iterable[Row]:
    keys = by_key(queryset, key).values_list(key, flat=True)
    found = list(keys[: SINGLE_KEYS + 1])
    if len(found) <= SINGLE_KEYS:
        return [(section, Change.Kind.KEY, str(value), "") for value in found]
    cuts = [*first_keys(queryset, key, RANGE_KEYS), str(keys.last())]
    return [(section, Change.Kind.RANGE, *bounds) for bounds in pairwise(cuts)]
