"""Engine hosts: whether and when an engine takes requests for a host."""

from __future__ import annotations

import secrets
from datetime import datetime

from django.db import models
from django.db.models import Q
from django.utils import timezone

from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.exceptions import EngineError

from .base import Row, RowQuerySet
from .clock import Now
from .transactions import retried


class EngineHostQuerySet(RowQuerySet["EngineHost"]):
    """Engine hosts, and how a process becomes the only one to use one."""

    @retried
    def claim(self, site: str, engine: str, host: str) -> EngineHost | None:
        """Claim an engine for a host; None if it is claimed, paused or parked."""
        now = timezone.now()
        key = {"site": site, "engine": engine, "host": host}
        # By our clock, as all pauses; that of a database may differ.
        row, _ = self.get_or_create(**key, defaults={"not_before": now})
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
            parked_reason="", rejections=0, batch=0, error=""
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
    parked_reason = models.TextField(blank=True)  # why nothing is submitted
    error = models.TextField(blank=True)  # of the last request
    sent_at = models.DateTimeField(null=True)

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

    def park(self, error: EngineError) -> None:
        """Submit nothing more until a person has corrected what the error says."""
        self.note(parked_reason=str(error) or type(error).__name__)

    def pause(self, error: EngineError, until: datetime, batch: int) -> None:
        """Note a failure: submit nothing until a time, and then at most so much."""
        failures, text = self.failures + 1, str(error)
        self.note(failures=failures, not_before=until, batch=batch, error=text)

    def free_at(self) -> datetime | None:
        """Return when it may be claimed at the earliest; None while it is parked."""
        if self.parked_reason:
            return None
        if not self.token:
            return self.not_before
        return max(self.not_before, timezone.now() + get_settings().lease)

    def _mine(self) -> EngineHostQuerySet:
        return EngineHost.objects.filter(pk=self.pk, token=self.token)
