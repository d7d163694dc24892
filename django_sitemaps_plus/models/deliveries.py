"""Deliveries: what each engine is still to be told, and how it takes it."""

from __future__ import annotations

from datetime import datetime
from hashlib import sha256

from django.db import models
from django.db.models import Case, F, When
from django.db.models.functions import Now

from .base import Row, RowQuerySet


def hash_target(target: str) -> str:
    """Return what a target is looked up by: databases do not index long URLs."""
    return sha256(target.encode()).hexdigest()


class DeliveryQuerySet(RowQuerySet["Delivery"]):
    """Deliveries by what is to be done with them."""

    def waiting(self) -> DeliveryQuerySet:
        """Return what an engine has not been told yet, and is to be."""
        return self.filter(state=Delivery.State.WAITING)

    def due(self, now: datetime) -> DeliveryQuerySet:
        """Return what may be told at a time."""
        return self.waiting().filter(not_before__lte=now)

    def dead(self) -> DeliveryQuerySet:
        """Return what an engine rejected, and is not told again unasked."""
        return self.filter(state=Delivery.State.DEAD)


class Delivery(Row):
    """One URL, or one feed, that one engine is told of whenever it changes.

    It is to be told while ``wanted`` is above ``sent``, as a page is to be built. Rows
    stay once they are told: they say when a target may be told again.
    """

    class State(models.IntegerChoices):
        """What is to be done with it."""

        TOLD = 0
        WAITING = 1
        DEAD = 2  # rejected; waits for somebody

    site = models.CharField(max_length=64)
    engine = models.CharField(max_length=64)
    host = models.CharField(max_length=255)  # of the target, with its port
    target = models.TextField()
    is_feed = models.BooleanField(default=False)  # kept, so that it is known
    target_hash = models.CharField(max_length=64)

    #: Raised by each change of the target; 0 again for a feed that has gone.
    wanted = models.PositiveBigIntegerField(default=0)
    sent = models.PositiveBigIntegerField(default=0)
    state = models.GeneratedField(
        expression=Case(
            When(wanted__lte=F("sent"), then=State.TOLD),
            When(dead_since__isnull=False, then=State.DEAD),
            default=State.WAITING,
        ),
        output_field=models.PositiveSmallIntegerField(choices=State),
        db_persist=True,
    )
    #: When what is to be told was committed; of several changes the first.
    changed_at = models.DateTimeField(db_default=Now())
    #: When it may be told; changes until then join it. Once told or rejected, when the
    #: next may be.
    not_before = models.DateTimeField(db_default=Now())
    #: Who is telling it, and which version.
    token = models.CharField(max_length=32, blank=True)
    sending = models.PositiveBigIntegerField(default=0)
    attempts = models.PositiveIntegerField(default=0)  # failed since it was last told
    error = models.TextField(blank=True)
    rejections = models.PositiveIntegerField(default=0)  # since it was last told
    dead_since = models.DateTimeField(null=True)
    sent_at = models.DateTimeField(null=True)
    #: What the engine itself says of it, and when it was asked.
    feedback = models.JSONField(null=True)
    feedback_at = models.DateTimeField(null=True)

    objects = DeliveryQuerySet.as_manager()

    class Meta(Row.Meta):
        verbose_name_plural = "deliveries"
        constraints = [
            models.UniqueConstraint(
                fields=["site", "engine", "target_hash"],
                name="sitemaps_plus_delivery_target",
            )
        ]
        indexes = [
            # What is due of a host is read in its order, and each host is a seek.
            models.Index(
                fields=["site", "engine", "state", "host", "not_before", "id"],
                name="sitemaps_plus_waiting",
            )
        ]

    def __str__(self) -> str:
        return f"{self.engine}: {self.target[:200]}"


class EngineHost(Row):
    """An engine as far as one host is concerned: whether and when it takes requests.

    Whoever holds its token is the only one that tells this engine of this host.
    """

    site = models.CharField(max_length=64)
    engine = models.CharField(max_length=64)
    host = models.CharField(max_length=255)
    token = models.CharField(max_length=32, blank=True)
    claimed_at = models.DateTimeField(null=True)
    failures = models.PositiveIntegerField(default=0)  # in a row
    not_before = models.DateTimeField(db_default=Now())
    #: Targets in the next request, fewer after one that was not accepted; 0 for as many
    #: as it takes.
    batch = models.PositiveIntegerField(default=0)
    #: Of single targets in a row that were not rejected before.
    rejections = models.PositiveIntegerField(default=0)
    parked_reason = models.TextField(blank=True)  # why it is told nothing, for people
    error = models.TextField(blank=True)  # of the last request
    sent_at = models.DateTimeField(null=True)

    objects = RowQuerySet.as_manager()

    class Meta(Row.Meta):
        constraints = [
            models.UniqueConstraint(
                fields=["site", "engine", "host"], name="sitemaps_plus_engine_host_key"
            )
        ]

    def __str__(self) -> str:
        return f"{self.engine} for {self.host}"
