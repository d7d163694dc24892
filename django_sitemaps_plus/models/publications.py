"""Publications: what flips leave to notify engines of, and what that came to."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from operator import itemgetter
from typing import Any

from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.signals import urls_changed
from django_sitemaps_plus.sites import notifies_engines

from .base import Row, RowQuerySet, atomic, retried
from .clock import Now
from .sections import Section

#: Keys of one publication.
BATCH_KEYS = 1_000

#: Publications that are read at once.
BATCH_PUBLICATIONS = 50

#: URL changes of a section that are kept for people.
KEPT_CHANGES = 100


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

    @retried
    def settle(self, changes: Sequence[dict[str, Any]] = ()) -> None:
        """Delete it, since all subscribers are notified, and keep its last changes.

        A process whose claim was taken over meanwhile keeps nothing.
        """
        with atomic():
            rows, others = self._rows(), UrlChanges.objects.select_for_update()
            if rows._raw_delete(rows.db) and changes:
                kept, _ = others.get_or_create(section_id=self.section_id)
                # An older publication may come later: it was postponed.
                latest = [*changes, *kept.latest]
                latest.sort(key=itemgetter("at"), reverse=True)
                kept.latest = latest[:KEPT_CHANGES]
                kept.save(update_fields=["latest"])

    def _rows(self) -> PublicationQuerySet:
        return Publication.objects.filter(pk=self.pk)


class UrlChanges(Row):
    """The last URL changes of a section that engines were notified of."""

    # Not a field of the section, which every build and every index loads; without a
    # constraint, as that of a publication.
    section = models.OneToOneField(Section, models.CASCADE, db_constraint=False)
    #: The newest first, each with `url`, `kind`, `at` and the names of the `engines`.
    latest = models.JSONField(default=list)

    objects = RowQuerySet.as_manager()

    def __str__(self) -> str:
        return f"URL changes of section {self.section_id}"
