"""Publications: what flips leave, so that engines can be notified."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import islice

from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from django_sitemaps_plus.conf import get_settings, notifies_engines
from django_sitemaps_plus.signals import urls_changed

from .base import Row, RowQuerySet
from .clock import Now
from .sections import Section

#: Keys of one publication.
BATCH_KEYS = 1_000

#: Publications that are read at once.
BATCH_PUBLICATIONS = 50


def has_subscribers() -> bool:
    """Return whether an engine or a receiver of ``urls_changed`` wants URL changes."""
    return urls_changed.has_listeners() or notifies_engines()


class PublicationQuerySet(RowQuerySet["Publication"]):
    """Publications that wait to be relayed, each claimed by one process at a time."""

    def note_saves(self, section: Section, keys: Iterable[str], at: datetime) -> None:
        """Note rows that were saved since a time, by any number of keys, as texts."""
        remaining = iter(keys)
        while batch := list(islice(remaining, BATCH_KEYS)):
            saved = list(dict.fromkeys(batch))
            self.create(section=section, keys=saved, at=at)

    def free(self) -> PublicationQuerySet:
        """Return those that no process is at work on."""
        given_up = Q(claimed_at__lte=Now() - get_settings().lease)
        return self.filter(Q(claimed_at=None) | given_up)

    def claim_each(self, site: str, until: float) -> Iterator[Publication]:
        """Claim those of a site one by one, until a time of the monotonic clock."""
        seen: set[int] = set()
        order = F("claimed_at").asc(nulls_first=True)  # those that failed come last
        rows = self.filter(section__site=site).select_related("section")
        while True:
            batch = rows.free().order_by(order, "id")[:BATCH_PUBLICATIONS]
            new = [row for row in batch if row.pk not in seen]
            for publication in new:
                if time.monotonic() >= until:
                    return
                seen.add(publication.pk)
                if self.free().filter(pk=publication.pk).update(claimed_at=Now()):
                    yield publication
            # A process that adds more from now on relays them.
            if len(batch) < BATCH_PUBLICATIONS or not new:
                return


class Publication(Row):
    """A flip, or saved rows, of which subscribers are still to be notified."""

    # Without a constraint: MySQL would lock the section's row at the end of a flip.
    section = models.ForeignKey(Section, models.CASCADE, db_constraint=False)
    old = models.JSONField(default=list)  # names of the objects before
    new = models.JSONField(default=list)  # names of the objects that replaced them
    #: Or keys of saved rows, whose URLs are sent whatever became of their pages.
    keys = models.JSONField(default=list)
    announce = models.BooleanField(default=True)
    #: Whether only URLs that came or went are announced: a deploy changed the others.
    moves_only = models.BooleanField(default=False)
    claimed_at = models.DateTimeField(null=True)  # by who works out what changed
    at = models.DateTimeField(default=timezone.now)  # when what changed was committed

    objects = PublicationQuerySet.as_manager()

    def __str__(self) -> str:
        return f"publication {self.pk} of section {self.section_id}"

    def renew(self) -> None:
        """Begin the lease of the claim anew."""
        self._rows().update(claimed_at=Now())

    def release(self) -> None:
        """Let others claim it, after all that wait longer or were never tried.

        Its claim is one whose lease has just ended: without any it would come first.
        """
        self._rows().update(claimed_at=Now() - get_settings().lease)

    def settle(self) -> None:
        """Delete it: all subscribers are notified, and nothing refers to it."""
        rows = self._rows()
        rows._raw_delete(rows.db)

    def _rows(self) -> PublicationQuerySet:
        return Publication.objects.filter(pk=self.pk)
