"""Sections that are served live: only what they list is told of their rows."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from datetime import timedelta

from django.db.models import F
from django.utils import timezone

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.exceptions import SourceError
from django_sitemaps_plus.models import Delivery
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.tracking.urls import urls_of

from .rows import update

logger = logging.getLogger(__name__)

#: When rows that could not be read are looked up again.
LOOK_AGAIN = timedelta(minutes=1)

#: How long a section may be known to other processes alone, as in a deploy.
DEPLOY = timedelta(hours=1)

#: Targets that are looked up for one request.
MAX_LOOKED_UP = 1_000


def keep_listed(
    site: Site, claimed: list[Delivery], unreadable: dict[str, str]
) -> list[Delivery]:
    """Return what an engine may be told of claimed targets; settle the others.

    A build finds what has gone, which is told then. Nobody finds it where nothing is
    built, so no engine is to hear of a URL that is not listed any more.

    Args:
        site: whose targets they are.
        claimed: targets of one engine and host.
        unreadable: sections that could not be read before, with words about it, which
            are not asked again; gets more of them. What is theirs waits.
    """
    live = [row for row in claimed if row.is_live]
    if not live:
        return claimed
    looked_up, rest = live[:MAX_LOOKED_UP], live[MAX_LOOKED_UP:]
    _read_again(looked_up)
    listed = _listed(site, looked_up, unreadable)
    missing = [row for row in looked_up if row.is_live and row.target not in listed]
    waiting = [row for row in missing if _may_be_listed(row, unreadable)]
    gone = list(set(missing).difference(waiting))
    update(rest, token="")
    update(waiting, token="", not_before=timezone.now() + LOOK_AGAIN)
    update(gone, token="", sent=F("sending"), attempts=0, error="")
    settled = {*rest, *missing}
    return [row for row in claimed if row not in settled]


def _read_again(rows: list[Delivery]) -> None:
    """Take in what was noted before they were claimed, and after they were read."""
    found = Delivery.objects.in_bulk([row.pk for row in rows])
    for row in rows:
        if row.pk in found:
            row.is_live, row.rows = found[row.pk].is_live, found[row.pk].rows


def _listed(
    site: Site, targets: list[Delivery], unreadable: dict[str, str]
) -> set[str]:
    """Return the URLs that the rows of targets have now."""
    keys: dict[str, set[str]] = {}
    for section, key in (row for target in targets for row in target.rows or ()):
        keys.setdefault(section, set()).add(key)
    listed = set[str]()
    for section in keys.keys() & set(registry) - unreadable.keys():
        try:
            listed.update(urls_of(section, keys[section], site))
        except SourceError as error:
            words = f"What changed is told later: {error}"
            unreadable[section] = words
            logger.warning("%s", words, extra={"action": "lookup_failed"})
    return listed


def _may_be_listed(target: Delivery, unreadable: Iterable[str]) -> bool:
    """Return whether nobody can tell now, for a target that was not found."""
    sections = {section for section, _ in target.rows or ()}
    if not sections.isdisjoint(unreadable):
        return True
    is_new = target.changed_at > timezone.now() - DEPLOY
    return is_new and not sections <= set(registry)
