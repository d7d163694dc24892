"""Publications: what a flip changed for the outside, worked out after it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain, islice
from typing import Any

from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.core.compression import inflate
from django_sitemaps_plus.core.diff import Diff, diff, diff_parts
from django_sitemaps_plus.exceptions import LostObjectError, StoreError
from django_sitemaps_plus.models import Publication
from django_sitemaps_plus.signals import urls_changed
from django_sitemaps_plus.statements import fetch
from django_sitemaps_plus.storage import open_object

from .claims import Lease

logger = logging.getLogger(__name__)

#: URLs in one call of the signal.
BATCH_URLS = 1_000

#: Pages of a publication, old and new, that are compared at once.
FEW_PAGES = 4


def is_wanted() -> bool:
    """Return whether anybody asks which URLs have changed."""
    return urls_changed.has_listeners()


def tell() -> int:
    """Work out what the publications changed, and send ``urls_changed``.

    Each is told by one process at a time. It goes once its receivers have been called,
    so a crash makes them hear of it twice, never not at all.

    Returns:
        How many URLs have changed.
    """
    lease = get_settings().lease
    rows = (
        Publication.objects.select_related("section")
        .defer("section__seen")
        .order_by("id")
    )
    free = rows.filter(Q(claimed_at=None) | Q(claimed_at__lt=Now() - lease))
    total = 0
    while fetch(_any_publication) and (batch := list(free[:50])):
        for publication in batch:
            if free.filter(pk=publication.pk).update(claimed_at=Now()):
                total += _tell(publication)
    return total


def _any_publication() -> QuerySet[Publication, Any]:
    return Publication.objects.values_list("pk")[:1]


def _tell(publication: Publication) -> int:
    total = 0
    row = Publication.objects.filter(pk=publication.pk)
    lease = Lease(partial(row.update, claimed_at=Now()))
    try:
        for found in publication_diffs(publication, lease):
            for part in _parts(found):
                total += len(part.added) + len(part.updated) + len(part.removed)
                _send(publication, part)
    except LostObjectError as error:
        logger.error(
            "What changed in %s is lost: %s",
            publication.section,
            error,
            extra={"action": "publication_lost"},
        )
    except StoreError as error:
        logger.warning("What changed is told after a lease: %s", error)
        return total
    publication.delete()
    return total


def _send(publication: Publication, part: Diff) -> None:
    answers = urls_changed.send_robust(
        sender=Publication,
        section=publication.section.name,
        added=part.added,
        updated=part.updated,
        removed=part.removed,
        announce=publication.announce,
    )
    for receiver, answer in answers:
        if isinstance(answer, Exception):
            logger.error("%r failed", receiver, exc_info=answer)


def publication_diffs(
    publication: Publication, alive: Callable[[], object] = bool
) -> Iterator[Diff]:
    """Yield what a publication changed, in parts of different URLs.

    Those of few pages are compared at once. A new plan may replace thousands of pages,
    which are never all in memory.

    Args:
        publication: its row.
        alive: called for each object that is read.

    Raises:
        StoreError: one of its objects is lost.
    """
    old, new = publication.old, publication.new
    plain = partial(_plain, alive)
    if len(old) + len(new) <= FEW_PAGES:
        yield diff(map(plain, old), map(plain, new))
        return
    yield from diff_parts(lambda: map(plain, old), lambda: map(plain, new))


def _plain(alive: Callable[[], object], name: str) -> bytes:
    alive()
    try:
        return inflate(open_object(name))
    except ValueError as error:
        raise LostObjectError(f"{name} is damaged: {error}") from error


def _parts(found: Diff) -> Iterator[Diff]:
    """Yield a diff in pieces of a bounded number of URLs."""
    kinds = ("added", "updated", "removed")
    pairs = chain.from_iterable(
        [(kind, url) for url in getattr(found, kind)] for kind in kinds
    )
    while piece := list(islice(pairs, BATCH_URLS)):
        yield Diff(
            *[[url for kind, url in piece if kind == wanted] for wanted in kinds]
        )
