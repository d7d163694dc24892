"""Collecting: read recorded changes, and find the keys that they concern."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.apps import apps
from django.core.exceptions import FieldDoesNotExist, FieldError
from django.db import connections
from django.db.models import Count, Min, QuerySet

from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.exceptions import ConfigurationError, StalePlanError
from django_sitemaps_plus.models import Change, Page, Section
from django_sitemaps_plus.models.base import contained
from django_sitemaps_plus.models.clock import Now
from django_sitemaps_plus.outages import ends_work, is_outage
from django_sitemaps_plus.section import OpenSection
from django_sitemaps_plus.sources import Reader, Source, Under
from django_sitemaps_plus.sources.keys import KeySpace
from django_sitemaps_plus.sources.querysets import plain
from django_sitemaps_plus.sources.related import path_model

from . import locating
from .databases import attempt, databases
from .relations import BY_CODE, rows_of

logger = logging.getLogger(__name__)


#: Changes that are read, located and deleted together.
BATCH_CHANGES = 1_000

# The key or the relation that a change names was another before a deploy.
_OTHER_PLAN = (
    StalePlanError,
    ConfigurationError,
    FieldDoesNotExist,
    FieldError,
    LookupError,
    ValueError,
)

#: Rows of related objects that are located one by one; more make all pages dirty. They
#: are held in memory, and spread over a section they would reach most pages anyway.
MAX_RELATED = 30_000


def take_changes(section: OpenSection) -> Collection[Any]:
    """Make the pages of recorded changes dirty; return the keys of the last batch.

    Without a plan, the saved rows of the section are noted, so far as they are known.
    """
    keys: Collection[Any] = ()
    for alias in databases():
        while True:
            reader = section.reader
            batch = _read(section, reader, alias)
            if batch:
                keys = _take(section.row, reader, batch)
            if len(batch) < BATCH_CHANGES:
                break
    return frozenset(keys)


def waiting_changes(sections: Iterable[str]) -> dict[str, tuple[int, datetime]]:
    """Return how many changes of sections wait, and when the oldest was recorded.

    Sections of which none waits are left out.
    """
    names, waiting = set(sections), dict[str, tuple[int, datetime]]()
    # Some are left by sections that went back to live serving.
    if not locating.is_notified():
        planned = Section.objects.planned().filter(name__in=names)
        names = set(planned.values_list("name", flat=True))
    rows = Change.objects.filter(section__in=names).order_by().values_list("section")
    rows = rows.annotate(number=Count("pk"), oldest=Min("at"))
    for alias in databases() if names else ():
        counts: Any = attempt(alias, partial(list, rows.using(alias)))
        for name, number, at in counts or ():
            before, oldest = waiting.get(name, (0, at))
            waiting[name] = before + number, min(oldest, at)
    return waiting


def _read(section: OpenSection, reader: Reader[Any], alias: str) -> list[Change]:
    source = section.source
    rows = Change.objects.using(alias).filter(section=section.name).order_by("id")
    changes = attempt(alias, lambda: list(rows[:BATCH_CHANGES])) or []
    if not changes:
        return []
    space = reader.key_space()
    if space is None:  # each change concerns all pages, so these rest a while
        rest = timedelta(seconds=(source.max_age or 3_600) / 60)
        pages = Page.objects.filter(section__name=section.name)
        if pages.filter(checked_at__gt=Now() - rest).exists():
            return []
    if (source.using if space is None else space.alias) not in (None, alias):
        changes = attempt(alias, partial(_replicated, rows)) or []
    return changes


def _replicated(rows: QuerySet[Change]) -> list[Change]:
    """Return the changes that were seen before, for as long as a replica may lag."""
    # A change may be committed long after it was inserted.
    unseen = rows.filter(seen_at=None).order_by()
    if connections[rows.db].vendor == "mysql":
        # Updated by key: a scan would wait for what open transactions have inserted.
        for key in unseen.values_list("pk", flat=True):
            unseen.filter(pk=key).update(seen_at=Now())
    else:
        unseen.update(seen_at=Now())
    lag = timedelta(seconds=get_settings().replica_lag_seconds)
    return list(rows.filter(seen_at__lte=Now() - lag)[:BATCH_CHANGES])


def _take(row: Section, reader: Reader[Any], changes: list[Change]) -> Collection[Any]:
    """Make the pages of changes dirty, on all sites, and delete the changes."""
    source, space = reader.source, reader.key_space()
    is_announced = getattr(source, "announce_saves", False)
    keys, ranges, is_all, has_foreign = list[Any](), list[Any](), True, False
    if space is not None:  # else a row that comes or goes moves all rows after it
        keys, ranges, is_all, has_foreign = _named(source, space, changes)
    others = Section.objects.filter(name=row.name).exclude(pk=row.pk)
    has_others = get_settings().sites is not None
    for one in [*(others.order_by("pk") if has_others else ()), row]:
        if space is not None and (is_announced or one.next_number == 1):
            locating.note_saved(one, space, keys, ranges, changes[0].at)
        # Changes go with the last mark: a crash in between marks other sites twice.
        own = changes if one is row else ()
        if is_all:
            locating.mark_all(one)
            locating.delete_changes(own)
        else:
            if has_foreign:  # what they mean here is found by comparing
                locating.compare_all(one)
            locating.mark_rows(one, reader, keys, ranges, changes=own)
    return () if is_all else keys


def _named(
    source: Source, space: KeySpace, changes: Sequence[Change]
) -> tuple[list[Any], list[tuple[Any, Any]], bool, bool]:
    """Return the keys and ranges of changes, which include both ends.

    Then whether there are other rows, unknown or too many; and whether some changes
    were recorded for another source.
    """
    keys, ranges = list[Any](), list[tuple[Any, Any]]()
    related: dict[str, set[str]] = {}
    is_all, known = False, 0
    for change in changes:
        with suppress(*_OTHER_PLAN):
            match change.kind:
                case Change.Kind.KEY:
                    keys.append(space.value(change.low))
                case Change.Kind.RANGE:
                    ranges.append((space.value(change.low), space.value(change.high)))
                case Change.Kind.RELATED:
                    related.setdefault(change.high, set()).add(change.low)
                case _:
                    is_all = True
            known += 1
    for way, saved in related.items():
        try:
            keys += _related_keys(source, space, way, saved)
        except UnknownRowsError:
            is_all = True
        except _OTHER_PLAN:
            known = 0
    return keys, ranges, is_all, known < len(changes)


class UnknownRowsError(Exception):
    """There are too many rows, or the code that knows them has failed."""


def _related_keys(
    source: Source, space: KeySpace, way: str, values: Collection[str]
) -> list[Any]:
    """Return the keys of the rows to which saved objects lead by a way.

    Raises:
        UnknownRowsError: all rows of the section may be among them.
        LookupError, FieldError: another version of the source has this way.
    """
    label, to_rows, to_saved = way.split(":")
    model = apps.get_model(label)
    saved = {f"{to_saved}__in": values}
    objects = model._base_manager.using(space.alias)
    if to_rows == BY_CODE:
        if model not in (getattr(source, "watch", None) or ()):
            raise LookupError(f"{source!r} does not watch {label}")
        keys = _by_code(source, space, objects.filter(**saved))
    else:
        # A path may end at a parent of the row, whose key has another name.
        end = path_model(model, to_rows) if to_rows else model
        attribute = replace(space, model=end).attribute
        key = f"{to_rows}__{attribute}" if to_rows else attribute
        # All in one call, which is about the same row of a relation to many.
        rows = objects.filter(**saved, **{f"{key}__isnull": False})
        keys = list(_keys(rows, key))
    if len(keys) > MAX_RELATED:
        raise UnknownRowsError
    return keys


def _keys(rows: QuerySet[Any], key: str) -> QuerySet[Any]:
    # Some databases send all rows at once, so the query itself must end. In no order:
    # the rows would all have to be sorted first.
    keys = plain(rows).values_list(key, flat=True).order_by().distinct()
    return keys[: MAX_RELATED + 1]


def _by_code(source: Any, space: KeySpace, saved: QuerySet[Any]) -> list[Any]:
    """Return the keys of the rows that code of ``watch`` finds."""
    keys, every = list[Any](), space.model._base_manager
    try:
        with contained():
            code = source.watch[saved.model]
            is_tree = isinstance(code, Under)
            for rows in code.rows(saved, every.all()) if is_tree else map(code, saved):
                if not isinstance(rows, QuerySet):
                    raise TypeError(f"it returned {rows!r:.200}, not a queryset")
                listed = rows if is_tree else rows_of(space.model, rows)
                if listed is None:
                    raise TypeError(f"it returned rows of {rows.model._meta.label}")
                keys += _keys(listed.using(space.alias), space.attribute)
                if len(keys) > MAX_RELATED:
                    break
        return keys
    except Exception as error:
        if ends_work(error) or is_outage(error):
            raise
        logger.exception(
            "All pages of %r are rendered again: what it watches %s by has failed. It "
            "must take an object and return a queryset of %s",
            source,
            saved.model._meta.label,
            space.model._meta.label,
            extra={"action": "watch_failed"},
        )
        raise UnknownRowsError from error
