"""URL changes: find what publications changed, and relay it to the outbox."""

from __future__ import annotations

import logging
import math
from collections import deque
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import chain
from typing import Any

from django.db import Error

from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.core import entry_lines
from django_sitemaps_plus.core.dates import parse_w3c
from django_sitemaps_plus.core.diff import Diff, diff
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
from django_sitemaps_plus.models.base import as_django_errors
from django_sitemaps_plus.models.claims import heartbeat, keep
from django_sitemaps_plus.models.publications import KEPT_CHANGES
from django_sitemaps_plus.models.sections import owning_site
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.section import open_section
from django_sitemaps_plus.signals import urls_changed
from django_sitemaps_plus.sites import get_site, notifies_engines
from django_sitemaps_plus.sources import Tally
from django_sitemaps_plus.sources.lines import LASTMOD_NOW
from django_sitemaps_plus.sources.querysets import batches
from django_sitemaps_plus.storage import read_document
from django_sitemaps_plus.tracking.collecting import take_changes
from django_sitemaps_plus.tracking.deploys import is_of_other_code

from .base import Takes
from .configuration import engines_to_notify
from .outbox import want_feeds, want_urls

logger = logging.getLogger(__name__)

#: URLs in one call of the signal.
BATCH_URLS = 1_000

# Bytes at each end of a page where its lastmods are looked at first.
_END = 4_000

#: Pages of a publication, old and new, that are kept in memory.
FEW_PAGES = 4

# A LimitExceededError says that a saved row is listed far too often.
_POSTPONING = (SourceError, ConfigurationError, StoreError, LimitExceededError)


def relay(until: float = math.inf) -> list[str]:
    """Work out which URLs publications changed, queue them for engines, send signals.

    One process at a time relays a publication, and deletes it at the end. So after a
    crash subscribers may be notified twice, but never not at all. None is begun after
    ``until``, by the monotonic clock. Return why changes wait or are lost.
    """
    failures = list[str]()
    committed = list[datetime]()
    own = dict[int, str]()  # the version of each section that this process runs

    try:
        with as_django_errors():
            if not has_subscribers():  # here; another process may have some
                return failures
            # Changes of another origin are left to its own processes.
            claimed = Publication.objects.claim_each(owning_site().name, until)
            for publication in claimed:
                if publication.keys and is_of_other_code(publication.section, own):
                    publication.release()  # another version knows where these rows are
                    continue
                try:
                    failures += _relay(publication)
                except _POSTPONING as error:
                    # The claim ends at once: else it would seem that all is relayed.
                    publication.release()
                    failures.append(_postponed(error))
                    if isinstance(error, ConfigurationError | StoreError):
                        break  # the fault concerns all
                else:
                    if publication.announce:
                        committed.append(publication.at)
            if committed and notifies_engines():
                delay = timedelta(seconds=get_settings().notify_delay_seconds)
                get_executor().notify(min(committed) + delay)
    # The publication is free after a lease where the database has failed.
    except (ConfigurationError, Error) as error:
        failures.append(_postponed(error))
    return failures


def _postponed(error: Exception) -> str:
    words = f"URL changes wait for the next run: {error}"
    logger.warning("%s", words, extra={"action": "relay_failed"})
    return words


def _relay(publication: Publication) -> list[str]:
    """Relay a publication; return what is lost of it."""
    lost, latest = list[str](), deque[dict[str, Any]](maxlen=KEPT_CHANGES)
    # A first build may have millions of URLs, which no subscriber asks for.
    is_wanted = publication.announce or urls_changed.has_listeners()
    is_told = publication.announce and notifies_engines()
    engines = [
        it.name
        for it in (engines_to_notify() if is_told else ())
        if it.takes is Takes.URLS or it.follows_content
    ]
    told = {"at": publication.at.isoformat(), "engines": engines}
    try:
        with keep(publication.renew):
            changed = publication_diff(publication) if is_wanted else Diff()
            kinds = ("added", "updated", "removed")
            pairs = ((kind, url) for kind in kinds for url in getattr(changed, kind))
            for some in batches(pairs, BATCH_URLS):
                heartbeat()
                urls = {it: [url for kind, url in some if kind == it] for it in kinds}
                part = Diff(**urls)
                if publication.moves_only and part.updated:
                    # Lastmods moved by a deploy, or by edits announced by their keys.
                    _send(publication, Diff(updated=part.updated), announce=False)
                    part = replace(part, updated=[])
                if publication.announce:
                    moved = [*part.added, *part.updated, *part.removed]
                    want_urls(moved, publication.at)
                if is_told:
                    latest += [
                        {"url": url, "kind": kind, **told}
                        for kind in kinds
                        for url in getattr(part, kind)
                    ]
                if part:
                    _send(publication, part, announce=publication.announce)
    except LostObjectError as error:
        lost.append(f"URL changes of {publication.section} are lost: {error}")
        logger.error("%s", lost[0], extra={"action": "publication_lost"})
    if publication.announce:
        want_feeds(changed=publication.section.name, at=publication.at)
    publication.settle([*latest])
    return lost


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

    @lru_cache(FEW_PAGES)  # each is wanted twice
    def read(name: str) -> bytes:
        heartbeat()
        return read_document(name)

    old, new = publication.old, publication.new
    moments, pages = list[datetime](), Page.objects.none()
    if new:
        # The ends are read apart: joined, the pieces of two dates would make one.
        document = read(new[0])
        ends = (document[:_END], document[-_END:])
        del document  # a large one, while others are compared
        texts = chain.from_iterable(map(entry_lines.lastmods_in, ends))
        moments = list(map(parse_w3c, texts))
    # Lastmods of one minute may be no news; the usual case takes no query.
    if moments and max(moments) - min(moments) <= timedelta(minutes=1):
        pages = Page.objects.filter(section=publication.section_id, object=new[0])
    if pages.filter(problems__0__action=LASTMOD_NOW.action).exists():
        return diff(
            lambda: map(entry_lines.without_lastmods, map(read, old)),
            lambda: map(entry_lines.without_lastmods, map(read, new)),
        )
    return diff(lambda: map(read, old), lambda: map(read, new))


def _saved_urls(publication: Publication) -> list[str]:
    """Return the URLs of saved rows that are listed now."""
    name = publication.section.name
    if name not in registry:
        return []
    section = open_section(name)
    values = list[Any]()
    with section.reading():
        if (space := section.reader.key_space()) is not None:  # else positions
            for key in publication.keys:
                with suppress(StalePlanError):  # of a type before a deploy: of no row
                    values.append(space.value(key))
        rows = section.reader.lines_by_key(values, Tally(name))
        return entry_lines.urls_in("".join([line for _, line in rows]).encode())


def relay_saves(until: float = math.inf) -> list[str]:
    """Take the saves of sections that are not built, then :func:`relay`."""
    failures = list[str]()
    for name in list(registry) if has_subscribers() else ():
        row, _ = Section.objects.get_or_create(site=get_site().name, name=name)
        if row.next_number > 1:
            continue
        section = open_section(name)
        section.row = row
        try:
            with section.reading():
                take_changes(section)
        except SourceError as error:  # it keeps back no other
            logger.exception("Saves of section %s wait for the next run", name)
            failures.append(f"Saves of section {name} wait for the next run: {error}")
    return failures + relay(until)
