"""Recording: write a change in the transaction of a save, and never break the save."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from itertools import chain, pairwise
from typing import Any

from django.db import connections, router, transaction
from django.db.models import Model, QuerySet

from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.executors.base import get_executor
from django_sitemaps_plus.models import Change
from django_sitemaps_plus.models.base import contained
from django_sitemaps_plus.models.clock import now_sql
from django_sitemaps_plus.outages import ends_work
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.sources import querysets, reader_of

from .databases import execute
from .known import is_read
from .relations import rows_of
from .watching import NewChange, Watched

logger = logging.getLogger(__name__)

#: Rows up to which notify_changed() records each key; beyond, it records ranges.
SINGLE_KEYS = 1_000

#: Rows of a range that notify_changed() records.
RANGE_KEYS = 500

#: Changes of one statement; databases limit its values, the strictest to 999.
ROWS_PER_INSERT = 200


def _harmless(receive: Callable[..., None]) -> Callable[..., None]:
    """Let errors of a receiver end here: the save goes on.

    A transaction that the database has undone ends with them: nothing of it is saved.
    """

    @wraps(receive)
    def call(watched: Sequence[Watched], instance: Model, **kwargs: Any) -> None:
        try:
            receive(watched, instance, **kwargs)
        except Exception:
            alias = kwargs.get("using") or instance._state.db
            if alias and connections[alias].needs_rollback:
                raise
            logger.exception(
                "A change of %s was not recorded; an audit will find it",
                type(instance)._meta.label,
                extra={"action": "change_lost"},
            )

    return call


@_harmless
def record(
    watchers: Sequence[Watched],
    instance: Model,
    using: str | None = None,
    update_fields: Iterable[str] | None = None,
    **kwargs: Any,
) -> None:
    """Receive ``post_save`` and ``post_delete``: record a change; never raise.

    Fixtures (`raw`) are recorded as well: their rows are listed like any other. Code
    that sends these signals by hand may leave out all but the instance.
    """
    using = using or _database(instance)
    watchers = [it for it in watchers if is_read(it.section, using)]
    if watchers and update_fields is not None:  # which may be names of columns, too
        fields = [instance._meta.get_field(name).name for name in update_fields]
        names = frozenset(fields)
        watchers = [it for it in watchers if it.depends_on(names)]
    insert(using, _rows(watchers, instance))


@_harmless
def record_relations(
    relations: Sequence[Watched],
    instance: Model,
    action: str,
    model: type[Model],
    using: str | None = None,
    pk_set: set[Any] | None = None,
    **kwargs: Any,
) -> None:
    """Receive ``m2m_changed``, as :func:`record` does.

    Objects of ``model`` were related to the instance, or no longer are: those of
    ``pk_set``, or all that were.
    """
    if not action.startswith("post_"):
        return
    using = using or _database(instance)
    rows: list[NewChange] = []
    for watched in relations:  # one of a model with itself may begin at both ends
        if not is_read(watched.section, using):
            continue
        if watched.is_of(type(instance)):
            rows += _rows([watched], instance)
        if not watched.is_of(model):
            continue
        if pk_set is None:
            rows.append((watched.section, Change.Kind.UNKNOWN, "", ""))
        else:
            rows += [watched.row(pk) for pk in pk_set]
    insert(using, list(dict.fromkeys(rows)))


def _database(instance: Model) -> str:
    return instance._state.db or router.db_for_write(type(instance), instance=instance)


def _rows(watchers: Iterable[Watched], instance: Model) -> list[NewChange]:
    values = [(it, getattr(instance, it.attribute)) for it in watchers]
    # A child in a fixture has only the link to its parent, whose row is saved as well.
    return [watched.row(value) for watched, value in values if value is not None]


def insert(using: str, rows: Sequence[NewChange]) -> None:
    """Insert changes of sections that are read."""
    if not rows:
        return
    # SQL by hand: the ORM takes longer than the save that it belongs to may cost.
    connection, table = connections[using], Change._meta.db_table
    into = f"INSERT INTO {table} (section, kind, low, high, at) VALUES "  # noqa: S608 - ours
    for first in range(0, len(rows), ROWS_PER_INSERT):
        part = rows[first : first + ROWS_PER_INSERT]
        places = ", ".join([f"(%s, %s, %s, %s, {now_sql(connection)})"] * len(part))
        execute(using, into + places, list(chain.from_iterable(part)))

    try:
        executor = get_executor()
    except ConfigurationError as error:  # a check says so; the changes are recorded
        logger.error("No worker is woken: %s", error, extra={"action": "wake_failed"})
        return
    is_told = connection.in_atomic_block or connection.get_autocommit()
    if not executor.is_listening or not is_told:  # whether and when it commits
        return  # a worker that looks by itself finds them

    sections = {row[0] for row in rows}

    def wake() -> None:  # no partial: Django logs one that fails by its __qualname__
        for section in sections:
            executor.wake(section)

    transaction.on_commit(wake, using=using, robust=True)


def notify_changed(queryset: QuerySet[Any]) -> int:
    """Do what :func:`django_sitemaps_plus.notify_changed` says."""
    queryset = querysets.on_write_database(queryset, None)
    kind, total = Change.Kind, 0
    for name, source in registry.items():
        if not is_read(name, queryset.db):
            continue
        changes: list[NewChange] = [(name, kind.UNKNOWN, "", "")]
        space = listed = None
        try:
            with contained():
                reader = reader_of(source)
                space = reader.key_space()
                models = reader.tracked_models if space is None else [space.model]
        except Exception as error:  # the source's: it keeps back no other
            if ends_work(error):
                raise
            words = "All pages of section %s are compared: its source cannot be read"
            logger.exception(words, name, extra={"action": "source_failed"})
        else:
            by_model = [rows_of(model, queryset) for model in models]
            listed = next((rows for rows in by_model if rows is not None), None)
            if listed is None:
                continue
        if space is not None and listed is not None:
            keys = querysets.keys_of(listed, space.key)
            few = list(keys[: SINGLE_KEYS + 1])
            changes = [(name, kind.KEY, str(value), "") for value in few]
            if len(few) > SINGLE_KEYS:
                cuts = [
                    *querysets.first_keys(listed, space.key, RANGE_KEYS),
                    str(keys.last()),
                ]
                changes = [(name, kind.RANGE, *bounds) for bounds in pairwise(cuts)]
        insert(queryset.db, changes)
        total += len(changes)
    return total
