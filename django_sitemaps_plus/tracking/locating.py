"""Locating: find the pages that own changed keys, and mark them dirty."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, starmap
from typing import Any, NamedTuple

from django.db.models import F, IntegerField

from django_sitemaps_plus.conf import in_force
from django_sitemaps_plus.core import key_ranges
from django_sitemaps_plus.exceptions import StalePlanError
from django_sitemaps_plus.models import (
    Change,
    Page,
    Publication,
    Section,
    State,
    own_alias,
)
from django_sitemaps_plus.models.base import atomic, retried
from django_sitemaps_plus.models.clock import Now
from django_sitemaps_plus.models.publications import BATCH_KEYS
from django_sitemaps_plus.sites import notifies_engines
from django_sitemaps_plus.sources import ModelSource, Reader
from django_sitemaps_plus.sources.keys import KeySpace, is_of_django
from django_sitemaps_plus.sources.querysets import plain

from .databases import attempt
from .relations import concrete, watched_ways

#: Bounds that are sorted together with keys in one query.
BOUNDS_PER_QUERY = 5_000

#: Integers and UUIDs up to which the database finds their pages.
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
    announce: bool
    built: int

    @property
    def is_deployed(self) -> bool:
        """Whether a deploy has marked it, to be built unannounced."""
        return not self.announce and self.built > 0 and self.state == State.ACTIVE


@dataclass(frozen=True, slots=True)
class Located:
    """The pages of some keys, by one version of the plan."""

    plan_version: int
    pages: frozenset[int]
    #: The keys and ranges among them whose pages a deploy has marked.
    keys: Sequence[Any] = ()
    ranges: Sequence[tuple[Any, Any]] = ()


def plans(section: Section) -> list[list[Slot]]:
    """Return the plan that is served, if any, and the next one while it is made."""
    rows = section.pages.planned().values_list(*Slot._fields)
    slots = list(starmap(Slot, rows))
    active = [slot for slot in slots if slot.state == State.ACTIVE]
    if len(active) == len(slots):
        return [key_ranges.in_plan_order(active)] if active else []
    by_state = sorted(slots, key=lambda slot: slot.state == State.NEXT)
    # The next plan has each key, also where pages of the one that is served are lost.
    return [it for it in map(key_ranges.chain, (active, by_state)) if it]


def locate(
    section: Section,
    space: KeySpace,
    keys: Sequence[Any],
    ranges: Sequence[tuple[Any, Any]] = (),
) -> Located:
    """Return the pages that own keys, in any order, and ranges, with both ends."""
    if not ranges and 0 < len(keys) <= FEW_KEYS:
        few = _locate_few(section, space, keys)
        if few is not None:
            return few
    [(version,)] = Section.objects.plan_versions(section=section.pk)
    asked = [*keys, *(key for bounds in ranges for key in bounds)]
    pages, deployed = set[int](), list[Any]()
    deployed_ranges = list[tuple[Any, Any]]()
    for plan in plans(section):
        at = owners(space, [slot.low for slot in plan], asked)
        for key, number in zip(keys, at, strict=False):
            pages.add(plan[number].pk)
            if plan[number].is_deployed:
                deployed.append(key)
        ends = at[len(keys) :]  # first and last, first and last, ...
        for bounds, first, last in zip(ranges, ends[::2], ends[1::2], strict=True):
            between = plan[first : last + 1]
            pages |= {slot.pk for slot in between}
            if any([slot.is_deployed for slot in between]):
                deployed_ranges.append(bounds)
    return Located(version, frozenset(pages), deployed, deployed_ranges)


def _locate_few(
    section: Section, space: KeySpace, keys: Sequence[Any]
) -> Located | None:
    """Return the pages of a few integers or UUIDs.

    None if there are other bounds or plans, or if numbers do not tell pages apart.
    """
    known = [key_ranges.as_number(str(key)) for key in keys]
    numbers = [number for number in known if number is not None]
    if len(numbers) < len(keys):
        return None
    rows = []
    for key, number in zip(keys, numbers, strict=True):
        row = Page.objects.owner(section.pk, number)
        if row is None or row.has_next:
            return None
        bounds = [bound for bound in (row.low, row.high) if bound is not None]
        if owners(space, [None, *bounds], [key]) != [int(row.low is not None)]:
            return None
        rows.append(row)
    # The first version: the plan may have changed before the others were asked for.
    version, pages = rows[0].plan_version, frozenset([row.page for row in rows])
    deployed = [key for key, row in zip(keys, rows, strict=True) if row.is_deployed]
    return Located(version, pages, deployed)


def owners(
    space: KeySpace, lows: Sequence[str | None], keys: Sequence[Any]
) -> list[int]:
    """Return for each key the number of the range that owns it.

    Raises:
        StalePlanError: a bound is no value of the key, whose type has changed.
    """
    if is_of_django(space.field, IntegerField):
        try:
            return key_ranges.locate_integers(lows, [int(key) for key in keys])
        except ValueError as error:
            raise StalePlanError(f"the plan has other keys: {error}") from error
    numbers = [0] * len(keys)
    for first in range(0, len(keys), KEYS_PER_QUERY):
        part = keys[first : first + KEYS_PER_QUERY]
        for start in range(1, len(lows), BOUNDS_PER_QUERY):
            bounds = [str(low) for low in lows[start : start + BOUNDS_PER_QUERY]]
            for i, at in enumerate(space.sort_in(bounds, part), first):
                if at >= 0:
                    numbers[i] = start + at
    return numbers


def mark_rows(
    section: Section,
    reader: Reader[Any],
    keys: Sequence[Any],
    ranges: Sequence[tuple[Any, Any]] = (),
    *,
    changes: Sequence[Change] = (),
) -> None:
    """Mark the pages of rows that changed, and delete the changes that named these.

    All pages are marked where positions make them, and where rows depend on others and
    ``watch`` does not say on which. The rows are still announced by their keys then.
    """
    source, space = reader.source, reader.key_space()
    if space is None:
        mark_all(section)
        delete_changes(changes)
        return
    ways = watched_ways(source) if isinstance(source, ModelSource) else ()
    listed = {concrete(model) for model in reader.tracked_models}
    is_watched = any(concrete(way.model) in listed for way in ways)
    if not is_watched and reader.rows_depend:
        mark_all(section, is_named=True)
    mark_keys(section, space, keys, ranges, changes=changes)


def mark_keys(
    section: Section,
    space: KeySpace,
    keys: Sequence[Any],
    ranges: Sequence[tuple[Any, Any]] = (),
    *,
    changes: Sequence[Change] = (),
) -> None:
    """Mark the pages that own keys, and delete the changes that named these.

    Where a deploy has marked a page too, engines are notified of the keys.
    """
    at = min([change.at for change in changes], default=Now())
    try:
        while True:
            located = locate(section, space, keys, ranges)
            note_saved(section, space, located.keys, located.ranges, at)
            if mark(section, located, changes=changes):
                return
            # A split has moved the bounds meanwhile, or a deploy was noted.
    except StalePlanError:  # of another key; the plan is about to be replaced
        mark_all(section)
        delete_changes(changes)


@retried
def mark(
    section: Section, located: Located, *, changes: Collection[Change] = ()
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
def mark_all(
    section: Section, *, announce: bool = True, is_named: bool = False
) -> None:
    """Raise ``wanted`` of every page; an edited one is announced for its own change.

    If the rows that changed are named, pages that a deploy marked stay unannounced.
    """
    pages = section.pages.planned()
    with atomic():
        Section.objects.lock([section.pk])
        if announce:
            whole = {} if is_named else {"announce": True}
            pages.filter(built__gt=0).update(is_edited=True, **whole)
        else:
            pages.filter(is_edited=False).update(announce=False)
        pages.update(wanted=F("wanted") + 1)


def compare_all(section: Section) -> None:
    """Have every page rendered; what differs is announced, unless a deploy did it."""
    section.pages.planned().update_locked([section.pk], wanted=F("wanted") + 1)


def note_saved(
    section: Section,
    space: KeySpace,
    keys: Sequence[Any],
    ranges: Sequence[tuple[Any, Any]],
    at: Any,
) -> None:
    """Note rows whose URLs engines are notified of, whatever became of their pages."""
    if (keys or ranges) and is_notified():
        rows = plain(space.model._base_manager.using(space.alias))
        within = (
            rows.filter(**{f"{space.key}__range": bounds})  # both ends included
            .values_list(space.key, flat=True)
            .iterator(BATCH_KEYS)
            for bounds in ranges
        )
        listed = chain(keys, chain.from_iterable(within))
        Publication.objects.note_saves(section, map(str, listed), at)


def is_notified() -> bool:
    """Return whether engines of any site are notified."""
    with in_force(None):
        return notifies_engines()


def delete_changes(changes: Iterable[Change]) -> None:
    """Delete changes whose pages are marked: by id, since others came in meanwhile."""
    by_database: dict[str, list[int]] = {}
    for change in changes:
        by_database.setdefault(_database(change), []).append(change.pk)
    for alias, ids in by_database.items():
        attempt(alias, partial(Change.objects.using(alias).remove, ids))


def _database(change: Change) -> str:
    return change._state.db or own_alias()
