"""The rows that changes of related objects concern."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
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


def _rows(
    space: KeySpace, path: str, pks: Collection[str]
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
    rows = model._base_manager.using(space.alias)
    return rows.filter(**{known: pks, f"{key}__isnull": False}), key
