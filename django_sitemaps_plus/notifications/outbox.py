"""Outbox: URL changes become deliveries, one for each engine and target."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable
from datetime import datetime

from django.urls import NoReverseMatch

from django_sitemaps_plus.models import Delivery
from django_sitemaps_plus.models.deliveries import BATCH_ROWS, hash_target
from django_sitemaps_plus.outages import ends_work
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.site_urls import feed_urls, index_urls
from django_sitemaps_plus.sites import get_site, notifies_engines
from django_sitemaps_plus.sources.querysets import batches

from .base import Takes
from .configuration import ConfiguredEngine, EngineFault, engines_to_notify
from .secrets import without_text

logger = logging.getLogger(__name__)


def want_urls(
    urls: Iterable[str],
    at: datetime | None = None,
    engines: Iterable[ConfiguredEngine] | None = None,
) -> None:
    """Queue URLs, each once, for every engine that takes URLs, or for some of these.

    The change was committed ``at`` a time; None for now.
    """
    engines = _takers(Takes.URLS, engines)
    for batch in batches(urls, BATCH_ROWS):
        for engine in engines:
            Delivery.objects.want(get_site().name, engine.name, batch, at)


def want_feeds(
    *,
    changed: str | None = None,
    at: datetime | None = None,
    engines: Iterable[ConfiguredEngine] | None = None,
) -> None:
    """Queue feeds for every engine that takes feeds and does not know them yet.

    A feed that went and is there again counts as new: the set of feeds has changed.
    Where a section has ``changed``, engines that follow content get all feeds but those
    of other sections.
    """
    site = get_site()
    for engine in _takers(Takes.FEEDS, engines):
        feeds = present_feeds(engine)
        if feeds is None:
            continue
        rows = Delivery.objects.of(site.name, engine.name).feeds()
        known = set(rows.values_list("target_hash", flat=True))
        present = {hash_target(feed): feed for feed in feeds}
        for gone in batches(known - present.keys(), BATCH_ROWS):
            rows.forget(gone)
        if changed is not None and engine.follows_content:
            others = [name for name in registry if name != changed]
            known &= set(map(hash_target, feed_urls(site, others)))
        feeds = [feed for key, feed in present.items() if key not in known]
        for batch in batches(feeds, BATCH_ROWS):
            Delivery.objects.want(site.name, engine.name, batch, at, is_feed=True)


def present_feeds(engine: ConfiguredEngine) -> Collection[str] | None:
    """Return the feeds that an engine takes; None if that cannot be said."""
    site = get_site()
    if isinstance(engine, EngineFault):
        # Feeds that are known already; others follow once the engine works.
        rows = Delivery.objects.of(site.name, engine.name).feeds()
        return list(rows.values_list("target", flat=True))
    try:
        indexes = index_urls(site)
    except NoReverseMatch as error:
        logger.error("%r could not name its feeds: %s", engine, without_text(error))
        return None
    try:
        return list(dict.fromkeys(engine.feeds(site, indexes)))
    except Exception as error:  # an engine may be the user's code
        if ends_work(error):
            raise
        logger.error("%r could not name its feeds: %s", engine, without_text(error))
        return None


def _takers(
    takes: Takes, engines: Iterable[ConfiguredEngine] | None
) -> list[ConfiguredEngine]:
    if engines is None:
        engines = engines_to_notify() if notifies_engines() else ()
    return [engine for engine in engines if engine.takes is takes]
