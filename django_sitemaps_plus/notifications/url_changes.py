"""URL changes: find what publications changed, and relay it to the outbox."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import chain, islice
from typing import Any

from django.db import Error

from django_sitemaps_plus.conf import get_settings, get_site, notifies_engines
from django_sitemaps_plus.core.dates import parse_w3c
from django_sitemaps_plus.core.diff import (
    Diff,
    diff,
    lastmods_in,
    urls_in,
    without_lastmods,
)
from django_sitemaps_plus.core.limits import LimitExceededError
from django_sitemaps_plus.exceptions import (
    ConfigurationError,
    LostObjectError,
    SourceError,
    StalePlanError,
    StoreError,
)
from django_sitemaps_plus.executors.base import get_executor
from django_sitemaps_plus.models import Page, Publication, Section, has_subscribers
from django_sitemaps_plus.models.claims import heartbeat, keep
from django_sitemaps_plus.models.pages import RENDERED_NOW
from django_sitemaps_plus.models.sections import owning_site
from django_sitemaps_plus.models.transactions import as_django_errors
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.section import OpenSection, open_section
from django_sitemaps_plus.signals import urls_changed
from django_sitemaps_plus.sources import Tally
from django_sitemaps_plus.storage import read_document
from django_sitemaps_plus.tracking.collecting import take_changes
from django_sitemaps_plus.tracking.deploys import is_of_other_code

from .outbox import want_feeds, want_urls

logger = logging.getLogger(__name__)

#: URLs in one call of the signal.
BATCH_URLS = 1_000

# Bytes at each end of a page where its lastmods are looked at first.
_END = 4_000

#: Pages of a publication, old and new, that are kept in memory.
FEW_PAGES = 4


def relay(until: float | None = None) -> list[str]:
    """Work out which URLs publications changed, queue them for engines, send signals.

    One process at a time relays a publication, and deletes it at the end. So after a
    crash subscribers may be notified twice, but never not at all. None is begun after
    ``until``, by the monotonic clock. Return why changes wait or are lost.
    """
    failures = list[str]()
    try:
        with as_django_errors():
            if has_subscribers():  # here; another process may have some
                failures.extend(_relay_each(until))
    # After an error of the database the publication is free again after a lease.
    except (ConfigurationError, Error) as error:
        failures.append(_postponed(error))
    return failures


# A LimitExceededError says that a saved row is listed far too often.
_POSTPONING = (SourceError, ConfigurationError, StoreError, LimitExceededError)


def _relay_each(until: float | None) -> Iterator[str]:
    # Of another origin are neither these changes nor the engines.
    site, committed, own = owning_site(), list[datetime](), dict[int, str]()
    for publication in Publication.objects.claim_each(site.name, until):
        if publication.keys and is_of_other_code(publication.section, own):
            publication.release()  # another version knows where these rows are
            continue
        try:
            yield from _relay(publication)
        except _POSTPONING as error:
            # Free at once, so that nothing says meanwhile that all is relayed.
            publication.release()
            yield _postponed(error)
            if isinstance(error, ConfigurationError | StoreError):  # it concerns all
                break
        else:
            if publication.announce:
                committed.append(publication.at)
    if committed and notifies_engines():
        delay = timedelta(seconds=get_settings().notify_delay_seconds)
        get_executor().notify(min(committed) + delay)


def _postponed(error: Exception) -> str:
    words = f"URL changes wait for the next run: {error}"
    logger.warning("%s", words, extra={"action": "relay_failed"})
    return words


def _relay(publication: Publication) -> Iterator[str]:
    """Relay a publication; yield what is lost of it."""
    # Of a first build there may be millions of URLs, and no subscriber asks for them.
    is_wanted = publication.announce or urls_changed.has_listeners()
    try:
        with keep(publication.renew):
            found = publication_diff(publication) if is_wanted else Diff()
            for part in _parts(found):
                heartbeat()
                _notify(publication, part)
    except LostObjectError as error:
        lost = f"URL changes of {publication.section} are lost: {error}"
        logger.error("%s", lost, extra={"action": "publication_lost"})
        yield lost
    if publication.announce:
        want_feeds(changed=publication.section.name, at=publication.at)
    publication.settle()


def _notify(publication: Publication, part: Diff) -> None:
    if publication.moves_only and part.updated:
        # By a deploy, or by edits that are announced by their keys.
        _send(publication, Diff(updated=part.updated), announce=False)
        part = replace(part, updated=[])
    if publication.announce:
        urls = [*part.added, *part.updated, *part.removed]
        want_urls(urls, publication.at)
    if part:
        _send(publication, part, announce=publication.announce)


def _send(publication: Publication, part: Diff, *, announce: bool) -> None:
    urls_changed.send_robust(  # which logs what receivers raise
        sender=Publication,
        section=publication.section.name,
        added=part.added,
        updated=part.updated,
        removed=part.removed,
        announce=announce,
    )


def publication_diff(publication: Publication) -> Diff:
    """Return what a publication changed."""
    if publication.keys:
        return Diff(updated=_saved_urls(publication))
    old, new = publication.old, publication.new
    read = lru_cache(FEW_PAGES)(_plain)  # each is wanted twice
    if any(_is_rendered_now(publication, name, read(name)) for name in new[:1]):
        return diff(
            lambda: map(without_lastmods, map(read, old)),
            lambda: map(without_lastmods, map(read, new)),
        )
    return diff(lambda: map(read, old), lambda: map(read, new))


def _is_rendered_now(publication: Publication, name: str, document: bytes) -> bool:
    """Return whether the lastmods of a page are no news; False once it has others."""
    # Apart: joined, the pieces of two dates would make one.
    ends = (document[:_END], document[-_END:])
    moments = sorted(map(parse_w3c, chain.from_iterable(map(lastmods_in, ends))))
    if not moments or moments[-1] - moments[0] > timedelta(minutes=1):
        return False  # the usual case, which takes no query
    pages = Page.objects.filter(section=publication.section_id, object=name)
    found = pages.values_list("problems", flat=True)
    return any(RENDERED_NOW in problems for problems in found)


def _saved_urls(publication: Publication) -> list[str]:
    """Return the URLs of saved rows that are listed now."""
    name = publication.section.name
    if name not in registry:
        return []
    section = open_section(name)
    with section.reading():
        values = list(_values(section, publication.keys))
        rows = section.reader.lines_by_key(values, Tally(name))
        return sorted({url for _, line in rows for url in urls_in(line.encode())})


def _values(section: OpenSection, keys: Iterable[str]) -> Iterator[Any]:
    """Yield the keys of texts; one of a type before a deploy is that of no row."""
    if (space := section.reader.key_space()) is None:  # pages are positions
        return
    for key in keys:
        with suppress(StalePlanError):
            yield space.value(key)


def _plain(name: str) -> bytes:
    heartbeat()
    return read_document(name)


def _parts(found: Diff) -> Iterator[Diff]:
    """Yield a diff in pieces of a bounded number of URLs."""
    kinds = ("added", "updated", "removed")
    pairs = ((kind, url) for kind in kinds for url in getattr(found, kind))
    while piece := list(islice(pairs, BATCH_URLS)):
        yield Diff(*([url for kind, url in piece if kind == it] for it in kinds))


def relay_saves(until: float | None = None) -> list[str]:
    """Take the saves of sections that are not built, then :func:`relay`."""
    names = list(registry) if has_subscribers() else []
    failures = [words for name in names for words in _take_saves(name)]
    return failures + relay(until)


def _take_saves(name: str) -> list[str]:
    row, _ = Section.objects.get_or_create(site=get_site().name, name=name)
    if row.next_number > 1:
        return []
    section = open_section(name)
    try:
        with section.reading():
            take_changes(row, section.source)
    except SourceError as error:  # it keeps back no other
        logger.exception("Saves of section %s wait for the next run", name)
        return [f"Saves of section {name} wait for the next run: {error}"]
    return []
