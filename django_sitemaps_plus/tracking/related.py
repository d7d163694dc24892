"""Related rows: from saved objects to the keys of the rows that they concern."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain, islice
from typing import Any

from django.apps import apps
from django.db.models import QuerySet

from django_sitemaps_plus.models.transactions import contained
from django_sitemaps_plus.outages import ends_work, is_outage
from django_sitemaps_plus.sources import Source, Under
from django_sitemaps_plus.sources.fetching import plain
from django_sitemaps_plus.sources.keys import KeySpace
from django_sitemaps_plus.sources.related import path_model

from .relations import BY_CODE, rows_of

logger = logging.getLogger(__name__)

#: Rows of related objects that are located one by one; more make all pages dirty. They
#: are held in memory, and spread over a section they would reach most pages anyway.
MAX_RELATED = 30_000


class UnknownRowsError(Exception):
    """There are too many rows, or the code that knows them has failed."""


def related_keys(
    source: Source, space: KeySpace, related: Mapping[str, Collection[str]]
) -> list[Any]:
    """Return the keys of the rows to which saved objects lead, by way.

    Raises:
        UnknownRowsError: all rows of the section may be among them.
        LookupError, FieldError: another version of the source has this way.
    """
    rows = (_by_way(source, space, way, values) for way, values in related.items())
    found = list(islice(chain.from_iterable(rows), MAX_RELATED + 1))
    if len(found) > MAX_RELATED:
        raise UnknownRowsError
    return found


def _by_way(
    source: Source, space: KeySpace, way: str, values: Collection[str]
) -> Iterable[Any]:
    label, to_rows, to_saved = way.split(":")
    model = apps.get_model(label)
    saved = {f"{to_saved}__in": values}
    objects = model._base_manager.using(space.alias)
    if to_rows == BY_CODE:
        if model not in (getattr(source, "watch", None) or ()):
            raise LookupError(f"{source!r} does not watch {label}")
        return _by_code(source, space, objects.filter(**saved))
    # A path may end at a parent of the row, whose key has another name.
    end = path_model(model, to_rows) if to_rows else model
    attribute = replace(space, model=end).attribute
    key = f"{to_rows}__{attribute}" if to_rows else attribute
    # All in one call, which is about the same row of a relation to many.
    return _keys(objects.filter(**saved, **{f"{key}__isnull": False}), key)


def _keys(rows: QuerySet[Any], key: str) -> QuerySet[Any]:
    # Some databases send all rows at once, so the query itself must end. In no order:
    # the rows would all have to be sorted first.
    keys = plain(rows).values_list(key, flat=True).order_by().distinct()
    return keys[: MAX_RELATED + 1]


def _by_code(source: Any, space: KeySpace, saved: QuerySet[Any]) -> list[Any]:
    try:
        with contained():
            rows = _found(source.watch[saved.model], space, saved)
            keys = (_keys(some.using(space.alias), space.attribute) for some in rows)
            return list(islice(chain.from_iterable(keys), MAX_RELATED + 1))
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


def _found(code: Any, space: KeySpace, saved: QuerySet[Any]) -> Iterator[QuerySet[Any]]:
    """Yield the rows that code of ``watch`` finds."""
    if isinstance(code, Under):
        yield from code.rows(saved, space.model._base_manager.all())
        return
    for instance in saved:
        found = code(instance)
        if not isinstance(found, QuerySet):
            raise TypeError(f"it returned {found!r:.200}, not a queryset")
        rows = rows_of(space.model, found)
        if rows is None:
            raise TypeError(f"it returned rows of {found.model._meta.label}")
        yield rows
