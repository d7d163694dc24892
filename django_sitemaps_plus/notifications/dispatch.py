"""Delivering: each engine is told what waits for it, until it has accepted that."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import Error
from django.db.models import F
from django.utils import timezone

from django_sitemaps_plus.conf import Site, get_settings
from django_sitemaps_plus.exceptions import BatchRejected, EngineRefused, RetryLater
from django_sitemaps_plus.models import Delivery, EngineHost

from . import backoff
from .base import Batch, Engine
from .report import DeliveryReport
from .rows import claim, named, reject, release, rows_of, update
from .secrets import without_text

logger = logging.getLogger(__name__)

#: Requests that one call makes of one engine about one host.
MAX_REQUESTS = 200

#: Targets at most of a request that finds out whether an engine which failed is well.
FEW_TARGETS = 100

#: Targets told alone, without any success in between, for which an engine that was well
#: may fail before that counts as its own failure.
MAX_BLAMED = 3


def deliver(
    site: Site, engines: Iterable[Engine], until: datetime | None = None
) -> DeliveryReport:
    """Tell engines what is due.

    Any number of processes may do so at once: each engine is told of each host by one
    of them at a time.

    Args:
        site: whose targets are told.
        engines: whom to tell.
        until: no request is begun after it.

    Returns:
        What was done, and when there is more to do.

    Raises:
        DatabaseError: our rows cannot be read or written. What has been accepted is
            noted, but for one request; it is then made again.
    """
    report = DeliveryReport()
    for engine in engines:
        for host, first in _waiting(site, engine):
            if first <= timezone.now():
                _Telling(site, engine, host, report, until).run()
            next_at = _next_at(site, engine, host)
            report.next_at = min(filter(None, (report.next_at, next_at)), default=None)
    return report


def _waiting(site: Site, engine: Engine) -> Iterator[tuple[str, datetime]]:
    """Yield each host of which something waits, and the first time of it.

    A seek in the index each: a queue may be millions of rows.
    """
    rows = rows_of(site, engine).waiting().order_by("host", "not_before")
    firsts = rows.values_list("host", "not_before")
    found = firsts.first()
    while found:
        yield found
        found = firsts.filter(host__gt=found[0]).first()


def _next_at(site: Site, engine: Engine, host: str) -> datetime | None:
    """Return when the next of a host may be told; None where nobody knows."""
    rows = rows_of(site, engine).filter(host=host).waiting().order_by("not_before")
    first: datetime | None = rows.values_list("not_before", flat=True).first()
    recipient = EngineHost.objects.filter(
        site=site.name, engine=engine.name, host=host
    ).first()
    if first is None or recipient is None:
        return first
    return (
        None if recipient.parked_reason else max(first, backoff.may_be_told(recipient))
    )


@dataclass(slots=True)
class _Telling:
    """One engine is told of one host."""

    site: Site
    engine: Engine
    host: str
    report: DeliveryReport
    until: datetime | None = None
    blamed: int = 0  # targets alone, since the last success

    def run(self) -> None:
        recipient = backoff.take(self.site.name, self.engine.name, self.host)
        if recipient is None:
            self.report.refused.append((self.engine.name, self.host))
            return
        try:
            for _ in range(MAX_REQUESTS):
                if not (self._may_tell(recipient) and self._tell_some(recipient)):
                    break
        finally:
            with suppress(Error):  # the lease gives it up then
                backoff.leave(recipient)

    def _may_tell(self, recipient: EngineHost) -> bool:
        """Stay the one that tells it; return False where somebody else is, or late."""
        if self.until is not None and timezone.now() >= self.until:
            return False
        if not (is_ours := backoff.renew(recipient)):
            self.report.refused.append((self.engine.name, self.host))
        return is_ours

    def _tell_some(self, recipient: EngineHost) -> bool:
        """Make one request, if there is any; return whether there may be another."""
        due = rows_of(self.site, self.engine).filter(host=self.host)
        rows = claim(due.due(timezone.now()), self._most(recipient))
        if not rows:
            return False
        batch = Batch(
            site=self.site, host=self.host, targets=[row.target for row in rows]
        )
        self.report.requests += 1
        try:
            self.engine.send(batch)
        except RetryLater as error:
            return self._stop(recipient, rows, error)
        except EngineRefused as error:
            release(rows, error)
            backoff.park(recipient, error)
            self.report.failures.append(f"{recipient}: {error}")
            return False
        except BatchRejected as error:
            return self._narrow(recipient, rows, error)
        except Exception as error:  # noqa: BLE001 - an engine may be the user's code
            name = type(error).__name__
            logger.error(
                "%s failed: %s",
                recipient,
                without_text(error),
                extra={"action": "engine_failed"},
            )
            return self._stop(recipient, rows, RetryLater(f"it raised {name}"))
        return self._acknowledge(recipient, rows)

    def _most(self, recipient: EngineHost) -> int:
        """Return how many targets the next request may have."""
        most = min(recipient.batch or self.engine.max_batch, self.engine.max_batch)
        return min(most, FEW_TARGETS) if recipient.failures else most

    def _acknowledge(self, recipient: EngineHost, rows: list[Delivery]) -> bool:
        """Note that rows are told, as far as they are still ours to tell."""
        now = timezone.now()
        update(
            rows,
            sent=F("sending"),
            token="",
            attempts=0,
            error="",
            rejections=0,
            dead_since=None,
            sent_at=now,
            changed_at=now,
            not_before=now + self._again_after(),
        )
        self.report.sent += len(rows)
        self.blamed = 0
        backoff.is_well(recipient, now, self.engine.max_batch)
        logger.info(
            "%s: told %s", recipient, len(rows), extra={"action": "engine_told"}
        )
        return True

    def _again_after(self) -> timedelta:
        if self.engine.again_after is not None:
            return self.engine.again_after
        return timedelta(seconds=get_settings().notify_interval_seconds)

    def _stop(
        self, recipient: EngineHost, rows: list[Delivery], error: RetryLater
    ) -> bool:
        """Note a failure; return whether only the target is to blame for it."""
        self.report.failures.append(f"{recipient}: {error}")
        # One that asks for patience is busy, whatever it is told.
        if not error.after and self._is_to_blame(recipient, rows):
            self._blame(recipient, rows[0], error)
            return True
        release(rows, error, attempts=F("attempts") + 1)
        backoff.pause(recipient, error, 0 if error.after else len(rows) // 2)
        return False

    def _is_to_blame(self, recipient: EngineHost, rows: list[Delivery]) -> bool:
        """Return whether a failure is the target's, which has failed before."""
        is_known = len(rows) == 1 and rows[0].attempts > 0
        return is_known and not recipient.failures and self.blamed < MAX_BLAMED

    def _blame(self, recipient: EngineHost, row: Delivery, error: RetryLater) -> None:
        """Let a target rest, at which an engine fails that is well otherwise."""
        self.blamed += 1
        attempts = row.attempts + 1
        rest = backoff.rest(attempts, error)
        until = timezone.now() + rest
        release([row], error, attempts=attempts, not_before=until)
        logger.warning(
            "%s is told %s again in %.0f s: %s",
            recipient,
            row.target,
            rest.total_seconds(),
            error,
            extra={"action": "engine_failed"},
        )

    def _narrow(
        self, recipient: EngineHost, rows: list[Delivery], error: BatchRejected
    ) -> bool:
        """Tell fewer at once, until what is wrong stands alone; that one is dead."""
        if bad := named(rows, error):
            others = [row for row in rows if row.target not in error.targets]
            self._acknowledge(recipient, others)
            self._reject(recipient, bad, error)
            return True
        if len(rows) > 1:
            release(rows, error)
            backoff.note(recipient, batch=len(rows) // 2)
            return True
        self._reject(recipient, rows, error)
        # One that changes again and again says nothing of the engine.
        is_first = not rows[0].rejections
        return self._has_patience(recipient, error) if is_first else True

    def _reject(
        self, recipient: EngineHost, rows: list[Delivery], error: BatchRejected
    ) -> None:
        """Note that rows are dead, as far as they have not changed meanwhile."""
        reject(rows, error, timezone.now() + self._again_after())
        self.report.rejected += len(rows)
        for row in rows:
            logger.error(
                "%s will not have %s: %s",
                recipient,
                row.target,
                error,
                extra={"action": "target_rejected"},
            )

    def _has_patience(self, recipient: EngineHost, error: BatchRejected) -> bool:
        """Count a rejection; return whether the engine is told on."""
        rejections = recipient.rejections + 1
        backoff.note(recipient, rejections=rejections)
        if rejections >= backoff.MAX_REJECTIONS:
            words = f"it rejects all that it is told, the last time with: {error}"
            backoff.park(recipient, EngineRefused(words))
            self.report.failures.append(f"{recipient}: {words}")
            return False
        return True
