"""Submitting: make requests to one engine for one host, and record the outcome."""

from __future__ import annotations

import logging
import math
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db import Error
from django.db.models import F
from django.utils import timezone

from django_sitemaps_plus.conf import Site, get_settings
from django_sitemaps_plus.exceptions import BatchRejected, EngineRefused, RetryLater
from django_sitemaps_plus.models import Delivery, EngineHost, Figure
from django_sitemaps_plus.outages import ends_work

from . import backoff
from .base import Batch, Engine
from .secrets import without_text

logger = logging.getLogger(__name__)

#: Requests in a row, before the next host has its turn.
MAX_REQUESTS = 200

#: Targets whose delays are kept.
MAX_DELAYS = 100


@dataclass(slots=True)
class DeliveryReport:
    """Counts of what was submitted to engines."""

    sent: int = 0  # targets that were accepted
    rejected: int = 0  # targets
    requests: int = 0
    failures: list[str] = field(default_factory=list)  # tried again
    #: When more may be submitted; None if nothing waits, or for parked engines only.
    next_at: datetime | None = None


@dataclass(slots=True)
class Submitter:
    """Makes requests to one engine for one host, which this process has claimed."""

    site: Site
    engine: Engine
    host: EngineHost
    report: DeliveryReport
    until: float = math.inf  # by the monotonic clock
    blamed: int = 0  # single targets, since the last success
    #: Targets by what became of them.
    figures: Counter[Figure.Kind] = field(default_factory=Counter)

    def run(self) -> None:
        """Make requests until nothing is due, and give up the claim."""
        try:
            for _ in range(MAX_REQUESTS):
                if time.monotonic() >= self.until or not self.host.renew():
                    break
                if not self._submit():
                    break
        finally:
            with suppress(Error):  # the lease gives it up then
                self.host.release()
            with suppress(Error):  # what was submitted counts
                Figure.objects.add(self.site.name, self.engine.name, self.figures)

    def _submit(self) -> bool:
        """Make one request, if anything is due; return whether there may be more."""
        most = self.engine.max_batch
        rows = Delivery.objects.of(self.site.name, self.engine.name)
        due = rows.filter(host=self.host.host).due(timezone.now())
        claimed = due.claim(min(self.host.batch or most, most))
        if not claimed:
            return False
        self.report.requests += 1
        targets = [row.target for row in claimed]
        batch = Batch(site=self.site, host=self.host.host, targets=targets)
        fault: Exception | None = None
        try:
            self.engine.send(batch)
        except (RetryLater, EngineRefused, BatchRejected) as error:
            fault = error
        except Exception as error:  # an engine may be the user's code
            if ends_work(error):
                raise
            words, why = "%s failed: %s", without_text(error)
            self._log(logging.ERROR, "engine_failed", words, why)
            fault = RetryLater(f"it raised {type(error).__name__}")

        # Here, outside of `except`: an error of the database would have the engine's,
        # with its frames, as context.
        match fault:
            case EngineRefused():
                Delivery.objects.release(claimed, fault)
                self._park(fault)
                return False
            case BatchRejected():
                return self._narrow(claimed, fault)
            case RetryLater():
                return self._pause(claimed, fault)
        self._accept(claimed)
        return True

    def _accept(self, rows: Sequence[Delivery]) -> None:
        now = timezone.now()
        Delivery.objects.accept(rows, now + self._interval())
        batch = backoff.batch_after_success(self.host.batch, self.engine.max_batch)
        self.figures[Figure.Kind.ACCEPTED] += len(rows)
        waited = [round((now - it.changed_at).total_seconds(), 1) for it in rows]
        delays = [*self.host.delays, *waited][-MAX_DELAYS:]
        done = {"failures": 0, "rejections": 0, "error": "", "sent_at": now}
        self.host.note(**done, batch=batch, delays=delays)
        self.report.sent += len(rows)
        self.blamed = 0
        self._log(logging.INFO, "engine_notified", "%s accepted %s targets", len(rows))

    def _interval(self) -> timedelta:
        if self.engine.again_after is not None:
            return self.engine.again_after
        return timedelta(seconds=get_settings().notify_interval_seconds)

    def _pause(self, rows: Sequence[Delivery], error: RetryLater) -> bool:
        """Pause after a failure, or let a target rest that is to blame for it."""
        self.report.failures.append(f"{self.host}: {error}")
        self.figures[Figure.Kind.FAILED] += len(rows)
        given = len(rows), rows[0].attempts, self.host.failures, self.blamed
        # Retry-After means that the engine is overloaded: no target is to blame.
        is_to_blame = backoff.is_to_blame(*given) and not error.after
        number = 1 + (rows[0].attempts if is_to_blame else self.host.failures)
        pause = backoff.pause(number, error, get_settings().notify_retry_seconds)
        until, seconds = timezone.now() + pause, int(pause.total_seconds())
        what = rows[0].target if is_to_blame else "it"
        words = "%s failed; %s is tried again in %s s: %s"
        self._log(logging.WARNING, "engine_failed", words, what, seconds, error)
        rest = {"not_before": until} if is_to_blame else {}
        Delivery.objects.release(rows, error, attempts=F("attempts") + 1, **rest)
        if is_to_blame:
            self.blamed += 1
        else:
            batch = backoff.batch_after_failure(self.host.batch, len(rows), error)
            self.host.pause(error, until, batch)
        return is_to_blame

    def _narrow(self, rows: Sequence[Delivery], error: BatchRejected) -> bool:
        """Submit fewer at once, until what is wrong stands alone and is rejected."""
        bad = [row for row in rows if row.target in error.targets]
        # The engine is not believed where it names all targets, or others.
        if bad and len(bad) == len(error.targets) < len(rows):
            self._accept([row for row in rows if row not in bad])
            self._reject(bad, error)
            return True
        if len(rows) > 1:
            Delivery.objects.release(rows, error)
            self.host.note(batch=len(rows) // 2)
            return True
        self._reject(rows, error)
        if not rows[0].rejections:  # a URL that changes again and again says nothing
            self.host.note(rejections=self.host.rejections + 1)
        if self.host.rejections < backoff.MAX_REJECTIONS:
            return True
        self._park(EngineRefused(f"it rejects everything, the last time with: {error}"))
        return False

    def _reject(self, rows: Sequence[Delivery], error: BatchRejected) -> None:
        Delivery.objects.reject(rows, error, timezone.now() + self._interval())
        self.report.rejected += len(rows)
        for row in rows:
            words = "%s rejected %s: %s"
            self._log(logging.ERROR, "target_rejected", words, row.target, error)

    def _park(self, error: EngineRefused) -> None:
        self.host.park(error, self.engine.digest)
        words = "%s is parked: %s. Fix this, then run: manage.py %s --retry"
        self._log(logging.ERROR, "engine_parked", words, error, "notify_search_engines")

    def _log(self, level: int, action: str, words: str, *values: object) -> None:
        extra = {"action": action}
        logger.log(level, words, self.host, *values, extra=extra)
