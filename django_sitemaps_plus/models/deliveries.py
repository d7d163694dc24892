"""Deliveries and engine hosts: what is submitted to engines, and when."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any
from urllib.parse import urlsplit

from django.db import models
from django.db.models import Case, DateTimeField, F, Q, Value, When
from django.db.models.functions import Greatest
from django.utils import timezone

from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.exceptions import EngineError

from .base import Row, RowQuerySet, atomic, retried
from .clock import Now

#: Rows of one statement.
BATCH_ROWS = 1_000

# Fields of a target that has neither failed nor was rejected since it was accepted.
_FRESH: dict[str, Any] = {
    "attempts": 0,
    "error": "",
    "rejections": 0,
    "dead_since": None,
}


def hash_target(target: str) -> str:
    """Return what a target is looked up by: databases do not index long URLs."""
    return sha256(target.encode()).hexdigest()


def forget_hosts(site: str, hosts: Collection[str]) -> None:
    """Delete deliveries to hosts that a site has left, and what is known of these."""
    Delivery.objects.filter(site=site, host__in=hosts).remove_all()
    EngineHost.objects.filter(site=site, host__in=hosts).remove_all()


class DeliveryQuerySet(RowQuerySet["Delivery"]):
    """Deliveries by what is to be done with them, and what is done with them."""

    def of(self, site: str, engine: str) -> DeliveryQuerySet:
        """Return the deliveries of one engine."""
        return self.filter(site=site, engine=engine)

    def to(self, targets: Collection[str]) -> DeliveryQuerySet:
        """Return the deliveries of some targets."""
        return self.filter(target_hash__in=[hash_target(target) for target in targets])

    def waiting(self) -> DeliveryQuerySet:
        """Return those that an engine has not accepted yet."""
        return self.filter(state=Delivery.State.WAITING)

    def due(self, now: datetime) -> DeliveryQuerySet:
        """Return those that may be submitted at a time."""
        return self.waiting().filter(not_before__lte=now)

    def dead(self) -> DeliveryQuerySet:
        """Return those that an engine rejected, which are not submitted again."""
        return self.filter(state=Delivery.State.DEAD)

    def feeds(self) -> DeliveryQuerySet:
        """Return those of feeds that are present, so far as is known."""
        return self.filter(is_feed=True, wanted__gt=0)

    @retried
    def want(
        self,
        site: str,
        engine: str,
        targets: Collection[str],
        at: datetime | None = None,
        *,
        is_feed: bool = False,
    ) -> None:
        """Raise ``wanted`` of at most BATCH_ROWS targets, in one transaction.

        A waiting target keeps its time, so that one which changes without end is
        submitted as well. A rejected target may be right by now; it is submitted no
        sooner than an accepted one. The change was committed ``at`` a time, or now.
        """
        now = timezone.now()
        at = min(at or now, now)
        not_before = at + timedelta(seconds=get_settings().notify_delay_seconds)
        rows = self.of(site, engine).to(targets)
        # The other states by name would have SQLite look through all deliveries.
        settled = rows.exclude(state=Delivery.State.WAITING)
        later = Greatest("not_before", Value(not_before, DateTimeField()))
        with atomic():
            settled.update(changed_at=at, not_before=later)
            if rows.update(wanted=F("wanted") + 1, dead_since=None) == len(targets):
                return
            known = set(rows.values_list("target", flat=True))
            new = [
                Delivery(
                    site=site,
                    engine=engine,
                    host=urlsplit(target).netloc,
                    target=target,
                    target_hash=hash_target(target),
                    is_feed=is_feed,
                    wanted=1,
                    changed_at=at,
                    not_before=not_before,
                )
                for target in sorted(set(targets) - known)
            ]
            # A row that another process adds meanwhile is of a change before this one.
            self.bulk_create(new, ignore_conflicts=True)

    @retried
    def forget(self, hashes: Collection[str]) -> None:
        """Forget feeds that are gone, but for those that are being submitted.

        Their rows stay: they say when such a feed may be submitted if it returns.
        """
        rows = self.filter(target_hash__in=hashes, token="")
        rows.update(wanted=0, sent=0, **_FRESH)

    @retried
    def claim(self, most: int) -> list[Delivery]:
        """Claim the next of due deliveries; the caller has claimed their engine host.

        Rows that no request has failed with come first, longest waiting first. Others
        go in requests of their own: the engine may fail at them.
        """
        fresh = self.filter(attempts=0).order_by("not_before", "id")
        failed = self.filter(attempts__gt=0).order_by("attempts", "not_before", "id")
        rows = list(fresh[:most]) or list(failed[:most])
        token = secrets.token_hex(16)
        # A token that is still there is of a process that died. Attempts come before
        # the token: MySQL reads columns as they are by then.
        attempts = Case(When(token="", then=F("attempts")), default=F("attempts") + 1)
        with atomic():
            for part in self._each(rows):
                part.update(attempts=attempts, token=token, sending=F("wanted"))
        for row in rows:
            row.token = token
        return rows

    def accept(self, rows: Sequence[Delivery], again_at: datetime) -> None:
        """Settle claimed rows that the engine has accepted."""
        now = timezone.now()
        times = {"sent_at": now, "changed_at": now, "not_before": again_at}
        self._settle(rows, sent=F("sending"), **times, **_FRESH)

    def reject(
        self, rows: Sequence[Delivery], error: EngineError, again_at: datetime
    ) -> None:
        """Settle claimed rows as dead, but for those that have changed since."""
        is_same = When(wanted=F("sending"), then=Value(timezone.now(), DateTimeField()))
        rejected = {"rejections": F("rejections") + 1, "dead_since": Case(is_same)}
        self._settle(rows, error=str(error), not_before=again_at, **rejected)

    def release(
        self, rows: Sequence[Delivery], error: EngineError, **fields: object
    ) -> None:
        """Give up the claim of rows that were not accepted; they wait on."""
        self._settle(rows, error=str(error), **fields)

    @retried
    def _settle(self, rows: Sequence[Delivery], **fields: object) -> None:
        # Rows without our token are another's: our lease was over.
        for part in self._each(rows):
            part.filter(token=rows[0].token).update(token="", **fields)

    def _each(self, rows: Sequence[Delivery]) -> Iterator[DeliveryQuerySet]:
        keys = [row.pk for row in rows]
        for start in range(0, len(keys), BATCH_ROWS):
            yield Delivery.objects.filter(pk__in=keys[start : start + BATCH_ROWS])

    def retry(self) -> int:
        """Have those that failed or were rejected submitted now; count the latter."""
        now = timezone.now()
        self.waiting().filter(attempts__gt=0).update(not_before=now)
        return self.dead().update(not_before=now, **_FRESH)


class Delivery(Row):
    """A URL, or a feed, that is submitted to one engine whenever it changes.

    A delivery waits while ``wanted`` is above ``sent``, as a page is dirty. Rows stay
    once they are sent: they say when a target may be submitted again.
    """

    class State(models.IntegerChoices):
        """The next step of a delivery."""

        SENT = 0
        WAITING = 1
        DEAD = 2  # rejected; waits for a person

    site = models.CharField(max_length=64)
    engine = models.CharField(max_length=64)
    host = models.CharField(max_length=255)  # of the target, with its port
    target = models.TextField()
    is_feed = models.BooleanField(default=False)  # pruning keeps it
    target_hash = models.CharField(max_length=64)

    #: Raised by each change of the target; 0 again for a feed that has gone.
    wanted = models.PositiveBigIntegerField(default=0)
    sent = models.PositiveBigIntegerField(default=0)
    state = models.GeneratedField(
        expression=Case(
            When(wanted__lte=F("sent"), then=State.SENT),
            When(dead_since__isnull=False, then=State.DEAD),
            default=State.WAITING,
        ),
        output_field=models.PositiveSmallIntegerField(choices=State),
        db_persist=True,
    )
    #: When the first change that waits was committed.
    changed_at = models.DateTimeField(default=timezone.now)
    #: When it may be submitted, with all changes until then; once it was, when the next
    #: change may be.
    not_before = models.DateTimeField(default=timezone.now)
    #: The claim of the process that submits it, and the version that it submits.
    token = models.CharField(max_length=32, blank=True)
    sending = models.PositiveBigIntegerField(default=0)
    attempts = models.PositiveIntegerField(default=0)  # failed since it was accepted
    error = models.TextField(blank=True)
    rejections = models.PositiveIntegerField(default=0)  # since it was accepted
    dead_since = models.DateTimeField(null=True)
    sent_at = models.DateTimeField(null=True)
    #: The engine's own report on the target, and when it was asked.
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
            # Due rows of a host are read in its order, and each host is a seek. The
            # status reads no table: of millions that would take seconds.
            models.Index(
                fields=[
                    "site",
                    "engine",
                    "state",
                    "host",
                    "not_before",
                    "id",
                    "changed_at",
                ],
                name="sitemaps_plus_waiting",
            )
        ]

    def __str__(self) -> str:
        return f"{self.engine}: {self.target[:200]}"


class EngineHostQuerySet(RowQuerySet["EngineHost"]):
    """Engine hosts, and how a process becomes the only one to use one."""

    @retried
    def claim(
        self, site: str, engine: str, host: str, *, options: str = ""
    ) -> EngineHost | None:
        """Claim an engine for a host; None if it is claimed, paused or parked.

        An engine that refused a key or a token is free under another: ``options``.
        """
        now = timezone.now()
        key = {"site": site, "engine": engine, "host": host}
        # Our clock counts, as for all pauses; that of a database may differ.
        row, _ = self.get_or_create(**key, defaults={"not_before": now})
        if row.refused and row.refused != options:
            self.filter(pk=row.pk, refused=row.refused).retry()
        lapsed = Q(token="") | Q(claimed_at__lt=Now() - get_settings().lease)
        free = self.filter(lapsed, pk=row.pk, parked_reason="", not_before__lte=now)
        row.token = secrets.token_hex(16)
        if not free.update(token=row.token, claimed_at=Now()):
            return None
        row.refresh_from_db()
        return row

    def retry(self) -> int:
        """End all pauses, and parking; return how many were parked."""
        parked = self.exclude(parked_reason="").update(
            parked_reason="", refused="", rejections=0, batch=0, error=""
        )
        self.update(not_before=timezone.now(), failures=0)
        return parked


class EngineHost(Row):
    """An engine for one host: whether and when it takes requests.

    The process that holds its token is the only one to submit anything for this host.
    """

    site = models.CharField(max_length=64)
    engine = models.CharField(max_length=64)
    host = models.CharField(max_length=255)
    token = models.CharField(max_length=32, blank=True)
    claimed_at = models.DateTimeField(null=True)
    failures = models.PositiveIntegerField(default=0)  # in a row
    not_before = models.DateTimeField(default=timezone.now)
    #: Targets in the next request, fewer after one that was not accepted; 0 for as many
    #: as it takes.
    batch = models.PositiveIntegerField(default=0)
    #: Single targets rejected in a row that were not rejected before.
    rejections = models.PositiveIntegerField(default=0)
    parked_reason = models.TextField(blank=True)  # why nothing is, since `not_before`
    #: A digest of the options that it refused; "" where a person has paused it.
    refused = models.CharField(max_length=64, blank=True)
    error = models.TextField(blank=True)  # of the last request
    sent_at = models.DateTimeField(null=True)
    #: Seconds from the change to the acceptance of the last targets, the newest last.
    delays = models.JSONField(default=list)

    objects = EngineHostQuerySet.as_manager()

    class Meta(Row.Meta):
        constraints = [
            models.UniqueConstraint(
                fields=["site", "engine", "host"], name="sitemaps_plus_engine_host_key"
            )
        ]

    def __str__(self) -> str:
        return f"{self.engine} for {self.host}"

    def renew(self) -> bool:
        """Begin the lease anew; return False if it is parked, or another's by now."""
        going = self._mine().filter(parked_reason="")
        return bool(going.update(claimed_at=Now()))

    def release(self) -> None:
        """Give up the claim."""
        self._mine().update(token="", claimed_at=None)

    def note(self, **fields: object) -> None:
        """Set fields, as long as the claim holds."""
        for name, value in fields.items():
            setattr(self, name, value)
        self._mine().update(**fields)

    def park(self, error: EngineError, options: str = "") -> None:
        """Submit nothing more until a person has corrected what the error says."""
        reason = str(error) or type(error).__name__
        self.note(parked_reason=reason, refused=options, not_before=timezone.now())

    def pause(self, error: EngineError, until: datetime, batch: int) -> None:
        """Note a failure: submit nothing until a time, and then at most so much."""
        failures, text = self.failures + 1, str(error)
        self.note(failures=failures, batch=batch, error=text)
        # Keep the time since when it is stopped, if a person has done so meanwhile.
        self.not_before = until
        self._mine().filter(parked_reason="").update(not_before=until)

    def free_at(self) -> datetime | None:
        """Return when it may be claimed at the earliest; None while it is parked."""
        if self.parked_reason:
            return None
        if not self.token:
            return self.not_before
        return max(self.not_before, timezone.now() + get_settings().lease)

    def _mine(self) -> EngineHostQuerySet:
        return EngineHost.objects.filter(pk=self.pk, token=self.token)
