"""The queue: what has changed becomes one row for each engine that is to be told."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from datetime import datetime, timedelta
from itertools import islice
from urllib.parse import urlsplit

from django.db import models
from django.db.models import F, QuerySet, Value
from django.db.models.functions import Greatest
from django.urls import NoReverseMatch
from django.utils import timezone

from django_sitemaps_plus.conf import Site, get_settings, tells_engines
from django_sitemaps_plus.models import Delivery
from django_sitemaps_plus.models.deliveries import hash_target
from django_sitemaps_plus.models.transactions import atomic, retried
from django_sitemaps_plus.site_urls import index_urls

from .base import Takes
from .configuration import BrokenEngine, ConfiguredEngine, engines_to_notify
from .secrets import without_text

logger = logging.getLogger(__name__)

#: Rows of one transaction.
BATCH_ROWS = 1_000


def want_urls(
    site: Site,
    urls: Iterable[str],
    at: datetime | None = None,
    engines: Iterable[ConfiguredEngine] | None = None,
) -> int:
    """Have every engine that takes URLs told of some.

    Args:
        site: whose they are.
        urls: absolute, as in ``loc``; no two are the same.
        at: when what has changed was committed; None for now.
        engines: those to tell; by default all that are configured.

    Returns:
        How many URLs there were.
    """
    takers = _takers(Takes.URLS, engines)
    total, remaining = 0, iter(urls)
    while batch := list(islice(remaining, BATCH_ROWS)):
        total += len(batch)
        for engine in takers:
            want(site, engine, batch, at)
    return total


def want_changed_feeds(site: Site, at: datetime) -> None:
    """Have engines that follow the content of feeds told of them once more."""
    if any([engine.follows_content for engine in _takers(Takes.FEEDS, None)]):
        want_feeds(site, has_changed=True, at=at)


def want_feeds(
    site: Site,
    *,
    has_changed: bool,
    at: datetime | None = None,
    engines: Iterable[ConfiguredEngine] | None = None,
) -> None:
    """Have every engine that takes feeds told of those that it does not know yet.

    One that went and is there again counts as new: the set of feeds has changed.

    Args:
        site: whose they are.
        has_changed: whether what they list has changed, for engines that follow it.
        at: as for :func:`want_urls`.
        engines: as for :func:`want_urls`.
    """
    takers = _takers(Takes.FEEDS, engines)
    indexes = _indexes(site) if takers else None
    if indexes is None:
        return
    for engine in takers:
        targets = _feeds(engine, site, indexes)
        if targets is None:
            continue
        _forget_others(site, engine, targets)
        if not (has_changed and engine.follows_content):
            targets = _unknown(site, engine, targets)
        for start in range(0, len(targets), BATCH_ROWS):
            want(site, engine, targets[start : start + BATCH_ROWS], at)


def _takers(
    takes: Takes, engines: Iterable[ConfiguredEngine] | None
) -> list[ConfiguredEngine]:
    if engines is None:
        engines = engines_to_notify() if tells_engines() else ()
    return [engine for engine in engines if engine.takes is takes]


def _indexes(site: Site) -> list[str] | None:
    """Return the URLs of the indexes; None where the project has no URLs of ours."""
    try:
        return index_urls(site)
    except NoReverseMatch as error:  # a check says so as well
        logger.error("No feeds are told: %s", error)
        return None


def _feeds(
    engine: ConfiguredEngine, site: Site, indexes: list[str]
) -> list[str] | None:
    """Return what an engine is to be told of; None where it cannot say."""
    if isinstance(engine, BrokenEngine):
        # Only those that are known already; others follow once it works.
        return list(_feed_rows(site, engine).values_list("target", flat=True))
    try:
        return list(engine.feeds(site, indexes))
    except Exception as error:  # noqa: BLE001 - the user's code keeps back no other
        words = without_text(error)
        logger.error("%r could not say what its feeds are: %s", engine, words)
        return None


def _unknown(site: Site, engine: ConfiguredEngine, targets: list[str]) -> list[str]:
    hashed = {hash_target(target): target for target in targets}
    rows = _rows(site, engine, hashed).filter(wanted__gt=0)
    known = set(rows.values_list("target_hash", flat=True))
    return [target for key, target in hashed.items() if key not in known]


def _forget_others(site: Site, engine: ConfiguredEngine, targets: list[str]) -> None:
    """Take back whatever an engine was told, or was to be told, of other feeds.

    Their rows stay: they say when such a feed may be told, should it return.
    """
    present = set(map(hash_target, targets))
    known = _feed_rows(site, engine).values_list("target_hash", flat=True)
    gone = [key for key in known if key not in present]
    for start in range(0, len(gone), BATCH_ROWS):
        _forget(site, engine, gone[start : start + BATCH_ROWS])


@retried
def _forget(site: Site, engine: ConfiguredEngine, hashes: list[str]) -> None:
    rows = _feed_rows(site, engine).filter(target_hash__in=hashes)
    # Of one that is being told nobody knows yet; the next call forgets it.
    rows.filter(token="").update(
        wanted=0, sent=0, attempts=0, error="", rejections=0, dead_since=None
    )


def _feed_rows(site: Site, engine: ConfiguredEngine) -> QuerySet[Delivery]:
    rows = Delivery.objects.filter(site=site.name, engine=engine.name)
    return rows.filter(is_feed=True, wanted__gt=0)


def told_feeds(site: Site, engine: ConfiguredEngine) -> QuerySet[Delivery]:
    """Return the rows of an engine's present feeds that it has been told of."""
    targets = _feeds(engine, site, _indexes(site) or []) or []
    return _rows(site, engine, map(hash_target, targets)).filter(sent__gt=0)


def _rows(
    site: Site, engine: ConfiguredEngine, hashes: Iterable[str]
) -> QuerySet[Delivery]:
    return Delivery.objects.filter(
        site=site.name, engine=engine.name, target_hash__in=list(hashes)
    )


@retried
def want(
    site: Site,
    engine: ConfiguredEngine,
    targets: Iterable[str],
    at: datetime | None = None,
) -> None:
    """Raise ``wanted`` of an engine's targets, at most 1,000, in one transaction.

    What waits already keeps its time, so that changes which come without end are told
    as well. What was rejected may be right by now; it is told again no sooner than what
    was accepted.
    """
    now = timezone.now()
    at = min(at or now, now)
    not_before = at + timedelta(seconds=get_settings().notify_delay_seconds)
    hashed = {hash_target(target): target for target in targets}
    rows = _rows(site, engine, hashed)
    # Asked for by what it is not, or SQLite looks through all that was ever told.
    answered = rows.exclude(state=Delivery.State.WAITING)
    later = Greatest("not_before", Value(not_before, models.DateTimeField()))
    with atomic():
        answered.update(changed_at=at, not_before=later)
        if rows.update(wanted=F("wanted") + 1, dead_since=None) < len(hashed):
            known = set(rows.values_list("target_hash", flat=True))
            new = [hashed[key] for key in sorted(hashed) if key not in known]
            # Where somebody else adds one meanwhile, that is told later than this.
            Delivery.objects.bulk_create(
                [_new(site, engine, target, at, not_before) for target in new],
                ignore_conflicts=True,
            )


def _new(
    site: Site,
    engine: ConfiguredEngine,
    target: str,
    at: datetime,
    not_before: datetime,
) -> Delivery:
    return Delivery(
        site=site.name,
        engine=engine.name,
        host=urlsplit(target).netloc,
        target=target,
        target_hash=hash_target(target),
        is_feed=engine.takes is Takes.FEEDS,
        wanted=1,
        changed_at=at,
        not_before=not_before,
    )
