"""Collecting: read recorded changes, and find the keys that they concern."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from itertools import chain, islice
from typing import Any, NamedTuple

from django.apps import apps
from django.core.exceptions import FieldDoesNotExist, FieldError
from django.db.models.functions import Now

from django_sitemaps_plus.conf import get_settings, notifies_engines
from django_sitemaps_plus.exceptions import ConfigurationError, StalePlanError
from django_sitemaps_plus.models import Change, Publication, Section
from django_sitemaps_plus.models.transactions import atomic, lock, retried
from django_sitemaps_plus.sources import Source, reader_of
from django_sitemaps_plus.sources.keys import KeySpace

from .databases import attempt, databases
from .locating import delete_changes, mark_all, mark_keys
from .relations import path_model

#: Changes that are read, located and deleted together.
BATCH_CHANGES = 1_000

#: Rows of related objects that are located one by one; more make all pages dirty. They
#: are held in memory, and spread over a section they would reach most pages anyway.
MAX_RELATED = 30_000

# The key or the relation that a change names was another before a deploy.
_OTHER_PLAN = (
    StalePlanError,
    ConfigurationError,
    FieldDoesNotExist,
    FieldError,
    LookupError,
    ValueError,
)


def take_changes(section: Section, source: Source) -> Collection[Any]:
    """Make the pages of recorded changes dirty; return the keys of the last batch."""
    keys: Collection[Any] = ()
    for alias in databases():
        while batch := _read(section, source, alias):
            keys = _take(section, source, batch)
            if len(batch) < BATCH_CHANGES:
                break
    return frozenset(keys)


def count_changes(section: str) -> int:
    """Return how many changes of a section wait, as far as they can be read."""
    rows = Change.objects.filter(section=section)
    return sum(attempt(alias, rows.using(alias).count) or 0 for alias in databases())


def _read(section: Section, source: Source, alias: str) -> list[Change]:
    rows = Change.objects.using(alias).filter(section=section.name).order_by("id")
    found = attempt(alias, lambda: list(rows[:BATCH_CHANGES])) or []
    if found and _database_read(source) not in (None, alias):
        # A replica may not have yet what its primary recorded.
        lag = timedelta(seconds=get_settings().replica_lag_seconds)
        settled = rows.filter(at__lte=Now() - lag)
        found = attempt(alias, lambda: list(settled[:BATCH_CHANGES])) or []
    return found


def _database_read(source: Source) -> str | None:
    """Return the alias that pages are read from; None where it is unknown."""
    space = reader_of(source).key_space()
    return source.using if space is None else space.alias


def _take(section: Section, source: Source, changes: list[Change]) -> Collection[Any]:
    space = reader_of(source).key_space()
    if space is None:
        # Positions: pages are built once they are old, however many saves there are.
        delete_changes(changes)
        return ()
    try:
        named = _named(space, changes)
    except _OTHER_PLAN:
        named = _Named([], [], True)
    if getattr(source, "announce_saves", False):
        _note(section, space, named, changes)
    if named.is_all:
        mark_all(section)
        delete_changes(changes)
        return ()
    mark_keys(section, space, named.keys, named.ranges, changes=changes)
    return named.keys


class _Named(NamedTuple):
    """What changes name."""

    keys: list[Any]
    ranges: list[tuple[Any, Any]]  # both ends included
    is_all: bool  # whether there are other rows, unknown or too many


def _named(space: KeySpace, changes: Iterable[Change]) -> _Named:
    keys, ranges, is_all = list[Any](), list[tuple[Any, Any]](), False
    related: dict[str, set[str]] = {}
    for change in changes:
        match change.kind:
            case Change.Kind.KEY:
                keys.append(space.value(change.low))
            case Change.Kind.RANGE:
                ranges.append((space.value(change.low), space.value(change.high)))
            case Change.Kind.RELATED:
                related.setdefault(change.high, set()).add(change.low)
            case _:
                is_all = True
    rows = (_keys_by_way(space, way, values) for way, values in related.items())
    found = list(islice(chain.from_iterable(rows), MAX_RELATED + 1))
    if len(found) > MAX_RELATED:
        return _Named(keys, ranges, True)
    return _Named(keys + found, ranges, is_all)


def _keys_by_way(space: KeySpace, way: str, values: Collection[str]) -> Iterator[Any]:
    """Yield the keys of the rows to which saved objects lead, up to one too many."""
    label, to_rows, to_saved = way.split(":")
    model = apps.get_model(label)
    # A path may end at a parent of the row, whose key has another name.
    end = path_model(model, to_rows) if to_rows else model
    attribute = replace(space, model=end).attribute
    key = f"{to_rows}__{attribute}" if to_rows else attribute
    # All in one call, which is about the same row of a relation to many.
    rows = model._base_manager.filter(
        **{f"{to_saved}__in": values, f"{key}__isnull": False}
    )
    # Some databases send all rows at once, so the query itself must end. In no order:
    # the rows would all have to be sorted first.
    keys = rows.using(space.alias).values_list(key, flat=True).order_by().distinct()
    yield from keys[: MAX_RELATED + 1].iterator(2_000)


def _note(
    section: Section, space: KeySpace, named: _Named, changes: list[Change]
) -> None:
    """Note rows whose URLs engines are notified of, whatever became of their pages."""
    if notifies_engines():
        keys = chain(named.keys, _between(space, named.ranges))
        Publication.objects.note_saves(section, map(str, keys), changes[0].at)


def _between(space: KeySpace, ranges: Iterable[tuple[Any, Any]]) -> Iterator[Any]:
    """Yield the keys of the rows in ranges; both ends of a range are included."""
    rows = space.model._base_manager.using(space.alias)
    for bounds in ranges:
        between = rows.filter(**{f"{space.key}__range": bounds})
        yield from between.values_list(space.key, flat=True).iterator(BATCH_CHANGES)


def take_saves(section: Section, source: Source) -> None:
    """Note the rows of recorded changes of a section without pages, as far as known."""
    space = reader_of(source).key_space()
    for alias in databases():
        while batch := _read(section, source, alias):
            with suppress(*_OTHER_PLAN):
                if space is not None:
                    _note(section, space, _named(space, batch), batch)
            if not _delete_unplanned(section, batch):
                return  # a build is to see them


@retried
def _delete_unplanned(section: Section, changes: list[Change]) -> bool:
    """Delete changes, unless the section got its first plan meanwhile."""
    with atomic():
        lock([section.pk])  # a plan that is about to be stored comes after it
        if not Section.objects.filter(pk=section.pk, next_number=1).exists():
            return False
        delete_changes(changes)
    return True
