"""Publications: what a flip changed for the outside, worked out after it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from itertools import chain, islice

from django_sitemaps_plus.core.compression import inflate
from django_sitemaps_plus.core.diff import Diff, diff
from django_sitemaps_plus.exceptions import StoreError
from django_sitemaps_plus.models import Publication
from django_sitemaps_plus.signals import urls_changed
from django_sitemaps_plus.storage import open_object

logger = logging.getLogger(__name__)

#: URLs in one call of the signal.
BATCH_URLS = 1_000


def is_wanted() -> bool:
    """Return whether anybody asks which URLs have changed."""
    return urls_changed.has_listeners()


def tell() -> int:
    """Work out what the publications changed, and send ``urls_changed``.

    A publication goes once its receivers have been called, so a crash makes them hear
    of it twice, never not at all.

    Returns:
        How many URLs have changed.
    """
    total = 0
    while batch := list(
        Publication.objects.select_related("section").order_by("id")[:50]
    ):
        for publication in batch:
            total += _tell(publication)
            publication.delete()
    return total


def _tell(publication: Publication) -> int:
    try:
        found = publication_diff(publication)
    except StoreError as error:
        logger.error(
            "What changed in %s is lost: %s",
            publication.section,
            error,
            extra={"action": "publication_lost"},
        )
        return 0
    total = 0
    for part in _parts(found):
        total += len(part.added) + len(part.updated) + len(part.removed)
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
    return total


def publication_diff(publication: Publication) -> Diff:
    """Return what a publication changed.

    Raises:
        StoreError: one of its objects is lost.
    """
    return diff(map(_plain, publication.old), map(_plain, publication.new))


def _plain(name: str) -> bytes:
    try:
        return inflate(open_object(name))
    except ValueError as error:
        raise StoreError(f"{name} is damaged: {error}") from error


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
