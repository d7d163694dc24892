"""The rows that changes of related objects concern."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import Any

from django.apps import apps
from django.core.exceptions import FieldDoesNotExist, FieldError
from django.db.models import QuerySet

from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.models import Change
from django_sitemaps_plus.sources.keyset import KeySpace

from .relations import path_model

#: Rows of related objects that are located one by one; more make all pages dirty. They
#: are held in memory, and spread over a section they would reach most pages anyway.
MAX_RELATED = 30_000

#: Rows that are read at once where there are more.
BATCH_RELATED = 10_000

#: What is raised of a path by which no row of the source is reached.
LEADS_NOWHERE = (
    ConfigurationError,
    FieldDoesNotExist,
    FieldError,
    LookupError,
    ValueError,
)

Paths = Mapping[str, Collection[str]]


def by_path(changes: Iterable[Change]) -> Paths:
    """Return the primary keys of related objects by the paths to their rows."""
    found: dict[str, set[str]] = {}
    for change in changes:
        found.setdefault(change.high, set()).add(change.low)
    return found


def some_keys(space: KeySpace, paths: Paths) -> list[Any] | None:
    """Return the keys of the rows that paths connect with related objects.

    None where they are too many to be held in memory.
    """
    found = (
        key for path, pks in paths.items() for key in _first_keys(space, path, pks)
    )
    keys = list(islice(found, MAX_RELATED + 1))
    return keys if len(keys) <= MAX_RELATED else None


def _first_keys(space: KeySpace, path: str, pks: Collection[str]) -> Iterator[Any]:
    rows, key = _rows(space, path, pks)
    # Some databases send all rows at once, so the query itself must end. In no order:
    # the rows would all have to be sorted first.
    found = rows.values_list(key, flat=True).order_by().distinct()
    yield from found[: MAX_RELATED + 1].iterator(2_000)


def all_keys(space: KeySpace, paths: Paths) -> Iterator[Any]:
    """Yield the keys of the rows, however many there are.

    A part at a time, each by a query of its own that begins behind the part before.
    """
    for path, pks in paths.items():
        # A deploy may have taken the relation, and then it concerns no row.
        with suppress(*LEADS_NOWHERE):
            keys = _next_keys(space, path, pks)
            while keys:
                yield from keys
                keys = _next_keys(space, path, pks, after=keys[-1])


def _next_keys(
    space: KeySpace, path: str, pks: Collection[str], after: Any = None
) -> list[Any]:
    rows, key = _rows(space, path, pks, after)
    found = rows.values_list(key, flat=True).order_by(key).distinct()
    return list(found[:BATCH_RELATED])


def _rows(
    space: KeySpace, path: str, pks: Collection[str], after: Any = None
) -> tuple[QuerySet[Any], str]:
    """Return related rows, and how their key is reached.

    The path leads from the row (``author``), or, behind the label of a model and a
    colon, from the related object to the row (``shop.Author:book``).
    """
    label, colon, from_related = path.rpartition(":")
    if colon:
        model, known = apps.get_model(label), "pk__in"
        # A path may end at a parent of the row, whose key has another name.
        end = replace(space, model=path_model(model, from_related))
        key = f"{from_related}__{end.attribute}"
    else:
        model, known, key = space.model, f"{path}__pk__in", space.attribute
    # All in one call, which is about the same row of a relation to many.
    behind = {f"{key}__isnull": False} if after is None else {f"{key}__gt": after}
    rows = model._base_manager.using(space.alias)
    return rows.filter(**{known: pks}, **behind), key
