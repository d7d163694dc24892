"""Sections that are served live: only what they list is told of their rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import timedelta

from django.db.models import F
from django.utils import timezone

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.exceptions import RetryLater, SourceError
from django_sitemaps_plus.models import Delivery
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.tracking.urls import urls_of

from .rows import release, update

#: When rows that could not be read are looked up again.
LOOK_AGAIN = timedelta(minutes=1)

#: Keys of one query.
BATCH_KEYS = 1_000


def keep_listed(
    site: Site, claimed: list[Delivery], failures: list[str]
) -> list[Delivery]:
    """Return what an engine may be told of claimed targets; settle the others.

    A build finds what has gone, which is told then. Nobody finds it where nothing is
    built, so no engine is to hear of a URL that is not listed any more.

    Args:
        site: whose targets they are.
        claimed: targets of one engine and host.
        failures: gets what could not be looked up, in words; that waits.
    """
    kept = [row for row in claimed if row.section not in registry]
    for section in {row.section for row in claimed} & set(registry):
        rows = [row for row in claimed if row.section == section]
        try:
            listed = {url for part in _parts(rows) for url in _listed(site, part)}
        except SourceError as error:
            failures.append(f"What changed is told later: {error}")
            again = timezone.now() + LOOK_AGAIN
            release(rows, RetryLater(str(error)), not_before=again)
            continue
        gone = [row for row in rows if row.target not in listed]
        update(gone, sent=F("sending"), token="", attempts=0, error="")
        kept += [row for row in rows if row.target in listed]
    return kept


def _parts(rows: list[Delivery]) -> Iterator[list[Delivery]]:
    for start in range(0, len(rows), BATCH_KEYS):
        yield rows[start : start + BATCH_KEYS]


def _listed(site: Site, rows: list[Delivery]) -> Iterable[str]:
    """Return the URLs that rows of one section have now."""
    return urls_of(rows[0].section, {str(row.key) for row in rows}, site)
