"""Saves that are told whatever became of their pages, or where there are no pages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from itertools import islice
from typing import Any

from django_sitemaps_plus.conf import tells_engines
from django_sitemaps_plus.models import Publication, Section
from django_sitemaps_plus.sources.keyset import KeySpace

#: Keys of one publication.
BATCH_KEYS = 1_000


def note_saves(
    section: Section,
    space: KeySpace,
    keys: Iterable[Any],
    ranges: Iterable[tuple[Any, Any]],
    at: datetime,
    are_taken: Callable[[], bool] = lambda: False,
) -> None:
    """Note the keys of rows that were saved, for engines to be told of their URLs.

    Which URLs they have, and whether they are listed, is found out when they are queued
    for engines, and of a section without pages once more when these are told.

    Args:
        section: whose rows they are.
        space: what knows their order.
        keys: of the rows.
        ranges: first and last key of ranges, both included.
        at: when the first of the saves was committed.
        are_taken: returns whether another process has noted them all meanwhile; asked
            behind each full batch, since very many take long.
    """
    if not tells_engines():
        return
    remaining = _every_key(space, keys, ranges)
    while batch := list(islice(remaining, BATCH_KEYS)):
        saved = list(dict.fromkeys(batch))
        Publication.objects.create(section=section, keys=saved, at=at)
        if len(batch) == BATCH_KEYS and are_taken():
            return


def _every_key(
    space: KeySpace, keys: Iterable[Any], ranges: Iterable[tuple[Any, Any]]
) -> Iterator[str]:
    yield from map(str, keys)
    rows = space.model._base_manager.using(space.alias)
    for first, last in ranges:
        between = rows.filter(**{f"{space.key}__gte": first, f"{space.key}__lte": last})
        found = between.values_list(space.key, flat=True)
        yield from map(str, found.iterator(BATCH_KEYS))
