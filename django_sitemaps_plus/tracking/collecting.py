"""Changes: read from every database that has any, located, and made dirty pages."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import timedelta
from itertools import chain
from typing import Any, NamedTuple

from django.db.models.functions import Now

from django_sitemaps_plus.conf import get_settings, tells_engines
from django_sitemaps_plus.exceptions import StalePlanError
from django_sitemaps_plus.models import Change, Publication, Section, own_alias
from django_sitemaps_plus.models.transactions import atomic, lock, retried
from django_sitemaps_plus.sources import Source
from django_sitemaps_plus.sources.keyset import KeySpace

from . import related
from .databases import attempt, databases
from .locating import delete_changes, mark_all, mark_keys

#: Changes that are read, located and deleted together.
BATCH_CHANGES = 1_000


def take_changes(section: Section, source: Source) -> Collection[Any]:
    """Make the pages of all recorded changes of a section dirty.

    Returns:
        Keys of rows whose pages have been marked: those of the last batch alone, for
        there may be any number of changes.
    """
    keys: Collection[Any] = ()
    for alias in databases():
        while batch := _read(section, source, alias):
            keys = _take(section, source, batch)
            if len(batch) < BATCH_CHANGES:
                break
    return frozenset(keys)


def _read(section: Section, source: Source, alias: str) -> list[Change]:
    rows = Change.objects.using(alias).filter(section=section.name).order_by("id")
    found = attempt(alias, lambda: list(rows[:BATCH_CHANGES])) or []
    if found and _database_read(source) not in (None, alias):
        # A replica may not have yet what its primary told us of.
        lag = timedelta(seconds=get_settings().replica_lag_seconds)
        settled = rows.filter(at__lte=Now() - lag)
        found = attempt(alias, lambda: list(settled[:BATCH_CHANGES])) or []
    return found


def _database_read(source: Source) -> str | None:
    """Return the alias that pages are read from; None where nobody can tell."""
    space = source.key_space()
    return source.using if space is None else space.alias


def count_changes(section: str) -> int:
    """Return how many changes of a section wait, as far as they can be read."""
    rows = Change.objects.filter(section=section)
    return sum(attempt(alias, rows.using(alias).count) or 0 for alias in databases())


def _take(section: Section, source: Source, changes: list[Change]) -> Collection[Any]:
    space = source.key_space()
    if space is None:
        # Positions: pages are built once they are old, however many saves there are.
        delete_changes(changes)
        return ()
    try:
        named = _named(space, changes)
    except _OTHER_PLAN:
        mark_all(section)
        delete_changes(changes)
        return ()
    if getattr(source, "announce_saves", False):
        _note(section, space, named, changes)
        if _are_taken(changes):
            return named.keys
    return _mark(section, space, named, changes)


def _mark(
    section: Section, space: KeySpace, named: _Named, changes: list[Change]
) -> Collection[Any]:
    if named.is_all:
        mark_all(section)
        delete_changes(changes)
        return ()
    mark_keys(section, space, named.keys, named.ranges, changes=changes)
    return named.keys


# The key or the relation that a change names was another before a deploy.
_OTHER_PLAN = (StalePlanError, *related.LEADS_NOWHERE)


def take_saves(section: Section, source: Source) -> None:
    """Note the rows of all recorded changes of a section that has no pages.

    What nobody can name a row of is left out: only pages tell what became of it.
    """
    space = source.key_space()
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


class _Named(NamedTuple):
    """What changes name.

    Attributes:
        keys: of rows.
        ranges: first and last key of ranges, both included.
        is_all: whether there are other rows, which nobody knows or which are too many.
    """

    keys: list[Any]
    ranges: list[tuple[Any, Any]]
    is_all: bool


def _named(space: KeySpace, changes: Sequence[Change]) -> _Named:
    by_kind: dict[str, list[Change]] = {}
    for change in changes:
        by_kind.setdefault(change.kind, []).append(change)
    keys = [space.value(change.low) for change in by_kind.get(Change.Kind.KEY, ())]
    ranges = [
        (space.value(change.low), space.value(change.high))
        for change in by_kind.get(Change.Kind.RANGE, ())
    ]
    by_path = related.by_path(by_kind.get(Change.Kind.RELATED, ()))
    found = related.some_keys(space, by_path)
    if found is None:
        return _Named(keys, ranges, True)
    return _Named(keys + found, ranges, Change.Kind.AUDIT in by_kind)


def _note(
    section: Section, space: KeySpace, named: _Named, changes: Sequence[Change]
) -> None:
    if tells_engines():
        keys = chain(named.keys, _between(space, named.ranges))
        Publication.objects.note_saves(section, map(str, keys), changes[0].at)


def _between(space: KeySpace, ranges: Iterable[tuple[Any, Any]]) -> Iterator[Any]:
    """Yield the keys of the rows in ranges; both ends of a range are included."""
    rows = space.model._base_manager.using(space.alias)
    for first, last in ranges:
        between = rows.filter(**{f"{space.key}__gte": first, f"{space.key}__lte": last})
        yield from between.values_list(space.key, flat=True).iterator(BATCH_CHANGES)


def _are_taken(changes: Sequence[Change]) -> bool:
    """Return whether another process has dealt with all of the changes meanwhile.

    Changes go last, so it has noted and marked whatever they name. Of those that are
    left in part nobody can tell which rows were dealt with.
    """
    alias = changes[0]._state.db or own_alias()
    rows = Change.objects.using(alias).filter(pk__in=[change.pk for change in changes])
    return attempt(alias, rows.exists) is False
