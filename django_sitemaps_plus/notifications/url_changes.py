"""Publications: what a flip changed for the outside, worked out after it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from itertools import chain, islice
from typing import Any

from django.db.models import F, Q, QuerySet
from django.db.models.functions import Now

from django_sitemaps_plus.conf import Site, get_settings, get_site
from django_sitemaps_plus.core.diff import Diff, diff, diff_parts
from django_sitemaps_plus.core.gzip import inflate
from django_sitemaps_plus.exceptions import (
    ConfigurationError,
    LostObjectError,
    SourceError,
    StoreError,
)
from django_sitemaps_plus.models import Publication, Section
from django_sitemaps_plus.models.lease import heartbeat, keep
from django_sitemaps_plus.models.prepared import Rows, fetch, update
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.rendering import reading
from django_sitemaps_plus.signals import urls_changed
from django_sitemaps_plus.storage import open_object
from django_sitemaps_plus.tracking.collecting import take_saves
from django_sitemaps_plus.tracking.urls import urls_of

logger = logging.getLogger(__name__)

#: URLs in one call of the signal.
BATCH_URLS = 1_000

#: Publications that are read at once.
BATCH_PUBLICATIONS = 50

#: Pages of a publication, old and new, that are compared at once.
FEW_PAGES = 4


@dataclass(frozen=True, slots=True)
class Hearer:
    """Somebody who must hear of each change, and may raise if that cannot be.

    Attributes:
        wants: returns whether they ask for changes now.
        hear: called with a publication that is to be announced, and a part of what it
            changed; what it raises keeps the publication.
        heard: called after a publication that is to be announced has been heard; it may
            raise as well.
        finished: called in the end with the time of the first of them.
    """

    wants: Callable[[], bool]
    hear: Callable[[Publication, Diff], object]
    heard: Callable[[Publication], object]
    finished: Callable[[datetime], object]


#: Whom :func:`tell` tells, besides the receivers of ``urls_changed``.
hearers: list[Hearer] = []


def is_wanted() -> bool:
    """Return whether anybody asks which URLs have changed."""
    return urls_changed.has_listeners() or any([hearer.wants() for hearer in hearers])


def tell(until: float | None = None) -> list[str]:
    """Work out what the publications changed, and tell who asks for it.

    Each is told by one process at a time. It goes once all have been told, so a crash
    makes them hear of it twice, never not at all.

    Args:
        until: by the monotonic clock, when no more publications are begun.

    Returns:
        What could not be told, in words; the next call tries it again, unless it says
        that it is lost.

    Raises:
        DatabaseError: a hearer could not note what it heard; it hears of it again
            after a lease.
    """
    if not is_wanted():  # here; another process may ask for them
        return []
    failures, heard = list[str](), list[datetime]()
    for publication in _claimed(until):
        try:
            failures += _tell(publication, heard)
        except SourceError as error:
            failures.append(_later(publication, error))
        except (ConfigurationError, StoreError) as error:  # of all others as well
            failures.append(_later(publication, error))
            break
    if heard:
        for hearer in hearers:
            hearer.finished(min(heard))
    return failures


def _later(publication: Publication, error: Exception) -> str:
    # The next call finds it, so that nothing says meanwhile that all has been told.
    _give_back(publication)
    words = f"What changed is told by the next call: {error}"
    logger.warning("%s", words)
    return words


def _give_back(publication: Publication) -> None:
    """Let others claim it, after all that wait longer, or were never tried.

    Its claim is one whose lease has just ended: without any it would come first again.
    """
    rows = Publication.objects.filter(pk=publication.pk)
    rows.update(claimed_at=Now() - get_settings().lease)


def _claimed(until: float | None) -> Iterator[Publication]:
    """Yield publications as ours, each once: what cannot be told now is told later.

    Those that could not be told come last, so that they keep back no others for ever.
    """
    lease, seen = get_settings().lease, set[int]()
    while batch := fetch(_waiting, lease):
        new = [row for row in batch if row.pk not in seen]
        for publication in new:
            if until is not None and time.monotonic() >= until:
                return
            seen.add(publication.pk)
            if update(_take, lease, publication=publication.pk):
                yield publication
        # Who adds more from now on tells them.
        if len(batch) < BATCH_PUBLICATIONS or not new:
            return


def _waiting(lease: timedelta) -> Rows:
    rows = _free(lease).select_related("section").defer("section__seen")
    order = F("claimed_at").asc(nulls_first=True)
    return rows.order_by(order, "id")[:BATCH_PUBLICATIONS]


def _take(lease: timedelta, publication: Any) -> tuple[Rows, dict[str, Any]]:
    return _free(lease).filter(pk=publication), {"claimed_at": Now()}


def _free(lease: timedelta) -> QuerySet[Publication]:
    given_up = Q(claimed_at__lte=Now() - lease)
    return Publication.objects.filter(Q(claimed_at=None) | given_up)


def _tell(publication: Publication, heard: list[datetime]) -> list[str]:
    """Tell of a publication; return what nobody will be told of, in words."""
    row = Publication.objects.filter(pk=publication.pk)
    # Of a first build there may be millions of URLs that nobody asks for.
    is_heard = publication.announce or urls_changed.has_listeners()
    lost = list[str]()
    try:
        with keep(partial(row.update, claimed_at=Now())):
            for found in publication_diffs(publication) if is_heard else ():
                for part in _parts(found):
                    heartbeat()
                    _hear(publication, part)
    except LostObjectError as error:
        lost.append(f"What changed in {publication.section} is lost: {error}")
        logger.error("%s", lost[0], extra={"action": "publication_lost"})
    if publication.announce:
        for hearer in hearers:
            hearer.heard(publication)
        heard.append(publication.at)
    row._raw_delete(row.db)  # nothing refers to it
    return lost


def _hear(publication: Publication, part: Diff) -> None:
    for hearer in hearers if publication.announce else ():
        hearer.hear(publication, part)
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


def publication_diffs(publication: Publication) -> Iterator[Diff]:
    """Yield what a publication changed, in parts of different URLs.

    Those of few pages are compared at once. A new plan may replace thousands of pages,
    which are never all in memory.

    Args:
        publication: its row.

    Raises:
        SourceError: rows that were saved cannot be read.
        StoreError: one of its objects is lost.
    """
    if publication.keys:
        yield _saved(publication)
        return
    old, new = publication.old, publication.new
    if len(old) + len(new) <= FEW_PAGES:
        yield diff(map(_plain, old), map(_plain, new))
        return
    yield from diff_parts(lambda: map(_plain, old), lambda: map(_plain, new))


def _saved(publication: Publication) -> Diff:
    """Return the URLs of saved rows that are listed now."""
    section, site = publication.section, get_site()
    if section.name not in registry:
        return Diff()
    found = urls_of(section.name, publication.keys, site)
    # Where nothing is built no removal will be found: whoever tells of a URL looks
    # up its row again.
    return Diff(updated=sorted(found), keys={} if section.next_number > 1 else found)


def _plain(name: str) -> bytes:
    heartbeat()
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
        added, updated, removed = (
            [url for kind, url in piece if kind == wanted] for wanted in kinds
        )
        yield Diff(added, updated, removed, found.keys)


def tell_saves(site: Site, until: float | None = None) -> list[str]:
    """Tell the saves of sections without pages, and what else waits to be told.

    Args:
        site: whose sections they are.
        until: as for :func:`tell`.

    Returns:
        What could not be told, in words; it is told later.
    """
    names = list(registry) if is_wanted() else []
    failures = [words for name in names for words in _tell_saves_of(name, site)]
    return failures + tell(until)


def _tell_saves_of(name: str, site: Site) -> list[str]:
    section, _ = Section.objects.get_or_create(site=site.name, name=name)
    if section.next_number > 1:
        return []
    try:
        with reading(name, site) as source:
            take_saves(section, source)
    except SourceError as error:  # it keeps back no other
        logger.exception("Saves of section %s are told later", name)
        return [f"Saves of section {name} are told later: {error!r}"]
    return []
