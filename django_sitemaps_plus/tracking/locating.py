"""Locating: find the pages that own changed keys, and mark them dirty."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import starmap
from typing import Any, NamedTuple

from django.db.models import F, IntegerField

from django_sitemaps_plus.core.key_ranges import (
    as_number,
    chain,
    in_plan_order,
    locate_integers,
)
from django_sitemaps_plus.exceptions import StalePlanError
from django_sitemaps_plus.models import Change, Page, Section, State, own_alias
from django_sitemaps_plus.models.page_queries import announced
from django_sitemaps_plus.models.transactions import atomic, lock, retried
from django_sitemaps_plus.sources import ModelSource, Source, reader_of
from django_sitemaps_plus.sources.keys import KeySpace

from .databases import attempt
from .relations import concrete, watched_ways

#: Bounds that are sorted together with keys in one query.
BOUNDS_PER_QUERY = 5_000

#: Integer keys up to which the database finds their pages.
FEW_KEYS = 8

#: Keys of rows that are located one by one; more make the whole section dirty.
MAX_KEYS = 10_000

#: Keys that are sorted in at once; databases limit the values of a query.
KEYS_PER_QUERY = 10_000


class Slot(NamedTuple):
    """A page as far as locating goes."""

    pk: int
    low: str | None
    high: str | None
    state: str


@dataclass(frozen=True, slots=True)
class Located:
    """The pages of some keys, by one version of the plan."""

    plan_version: int
    pages: frozenset[int]


def plans(section: Section) -> list[list[Slot]]:
    """Return the plan that is served, if any, and the next one while it is made."""
    rows = section.pages.planned().values_list("pk", "low", "high", "state")
    slots = list(starmap(Slot, rows))
    active = [slot for slot in slots if slot.state == State.ACTIVE]
    found = [in_plan_order(active)] if active else []
    if len(active) < len(slots):
        found.append(chain(sorted(slots, key=lambda slot: slot.state == State.NEXT)))
    return found


def locate(
    section: Section,
    space: KeySpace,
    keys: Sequence[Any],
    ranges: Sequence[tuple[Any, Any]] = (),
) -> Located:
    """Return the pages that own keys, in any order, and ranges, with both ends."""
    is_few = not ranges and 0 < len(keys) <= FEW_KEYS
    if is_few and isinstance(space.field, IntegerField):
        few = _locate_few(section, keys)
        if few is not None:
            return few
    [(version,)] = Section.objects.plan_versions(section=section.pk)
    asked = [*keys, *(key for bounds in ranges for key in bounds)]
    found: set[int] = set()
    for plan in plans(section):
        at = owners(space, [slot.low for slot in plan], asked)
        found |= {plan[number].pk for number in at[: len(keys)]}
        ends = at[len(keys) :]  # first and last, first and last, ...
        for first, last in zip(ends[::2], ends[1::2], strict=True):
            found |= {slot.pk for slot in plan[first : last + 1]}
    return Located(version, frozenset(found))


def _locate_few(section: Section, keys: Sequence[Any]) -> Located | None:
    """Return the pages of a few integers; None if there are other bounds or plans."""
    if any([as_number(str(key)) is None for key in keys]):
        return None
    found = []
    for key in keys:
        owner = Page.objects.owner(section.pk, int(key))
        if owner is None or owner[2]:
            return None
        found.append(owner)
    # That of the first: the plan may have changed before the others were asked for.
    return Located(found[0][1], frozenset([pk for pk, _, _ in found]))


def owners(
    space: KeySpace, lows: Sequence[str | None], keys: Sequence[Any]
) -> list[int]:
    """Return for each key the number of the range that owns it.

    Raises:
        StalePlanError: a bound is no value of the key, whose type has changed.
    """
    if isinstance(space.field, IntegerField):
        try:
            return locate_integers(lows, [int(key) for key in keys])
        except ValueError as error:
            raise StalePlanError(f"the plan has other keys: {error}") from error
    found: list[int] = []
    for first in range(0, len(keys), KEYS_PER_QUERY):
        found += _sorted_in(space, lows, keys[first : first + KEYS_PER_QUERY])
    return found


def _sorted_in(
    space: KeySpace, lows: Sequence[str | None], keys: Sequence[Any]
) -> list[int]:
    found = [0] * len(keys)
    for start in range(1, len(lows), BOUNDS_PER_QUERY):
        part = [str(low) for low in lows[start : start + BOUNDS_PER_QUERY]]
        for number, at in enumerate(space.sort_in(part, keys)):
            if at >= 0:
                found[number] = start + at
    return found


def mark_rows(
    section: Section,
    source: Source,
    keys: Sequence[Any],
    ranges: Sequence[tuple[Any, Any]] = (),
    *,
    changes: Sequence[Change] = (),
) -> None:
    """Mark the pages of rows that changed, and delete the changes that named these.

    All pages are marked where positions make them, and where rows depend on others and
    ``watch`` does not say on which.
    """
    reader = reader_of(source)
    space = reader.key_space()
    ways = watched_ways(source) if isinstance(source, ModelSource) else ()
    listed = {concrete(model) for model in reader.tracked_models}
    is_watched = any(concrete(way.model) in listed for way in ways)
    if space is None or (not is_watched and reader.rows_depend):
        mark_all(section)
        delete_changes(changes)
    else:
        mark_keys(section, space, keys, ranges, changes=changes)


def mark_keys(
    section: Section,
    space: KeySpace,
    keys: Sequence[Any],
    ranges: Sequence[tuple[Any, Any]] = (),
    *,
    changes: Sequence[Change] = (),
) -> None:
    """Mark the pages that own keys, and delete the changes that named these."""
    try:
        while not mark(section, locate(section, space, keys, ranges), changes=changes):
            pass  # a split has moved the bounds meanwhile
    except StalePlanError:  # of another key; the plan is about to be replaced
        mark_all(section)
        delete_changes(changes)


@retried
def mark(
    section: Section,
    located: Located,
    *,
    changes: Collection[Change] = (),
) -> bool:
    """Make located pages dirty and delete their changes; False if the plan changed."""
    version, own = located.plan_version, own_alias()
    with atomic():
        # The update locks the row: a split that is about to commit comes after it.
        if not Section.objects.locked_version(section=section.pk, version=version):
            return False
        since = min([change.at for change in changes], default=None)
        Page.objects.raise_wanted(True, pages=list(located.pages), since=since)
        delete_changes([change for change in changes if _database(change) == own])
    # Elsewhere they go last: a crash in between marks twice, and loses no change.
    delete_changes([change for change in changes if _database(change) != own])
    return True


@retried
def mark_all(section: Section, *, announce: bool = True) -> None:
    """Raise ``wanted`` of every page; a dirty one is announced for its own change."""
    pages = section.pages.planned()
    with atomic():
        lock([section.pk])
        if announce:
            pages.update(**announced())
        else:
            pages.filter(wanted=F("built")).update(announce=False)
            pages.update(wanted=F("wanted") + 1)


def delete_changes(changes: Iterable[Change]) -> None:
    """Delete changes whose pages are marked: by id, since others came in meanwhile."""
    by_database: dict[str, list[int]] = {}
    for change in changes:
        by_database.setdefault(_database(change), []).append(change.pk)
    for alias, ids in by_database.items():
        attempt(alias, partial(Change.objects.using(alias).remove, ids))


def _database(change: Change) -> str:
    return change._state.db or own_alias()
