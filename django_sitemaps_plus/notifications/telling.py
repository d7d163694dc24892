"""Telling: what may be told is gathered, and every engine is told what is due."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, TypeGuard

from django.db import DataError, IntegrityError
from django.db.models import Q
from django.utils import timezone

from django_sitemaps_plus.conf import Site, get_site, tells_engines
from django_sitemaps_plus.exceptions import EngineError
from django_sitemaps_plus.models import Delivery, EngineHost
from django_sitemaps_plus.models.transactions import atomic

from .backoff import words_of
from .base import Engine, Takes
from .configuration import broken_engines, get_engine, get_engines
from .dispatch import deliver
from .outbox import told_feeds, want_feeds
from .report import DeliveryReport
from .secrets import without_text
from .url_changes import relay_saves

logger = logging.getLogger(__name__)

#: Time between two questions to an engine about the same feed.
ASK_AGAIN = timedelta(days=1)


def tell_engines(
    names: Iterable[str] = (), *, seconds: float | None = None, wait: float = 0.0
) -> DeliveryReport:
    """Tell engines all that is due.

    Args:
        names: of the engines; none for all that are configured.
        seconds: after which nothing more is begun; None for never.
        wait: seconds to wait for what may soon be told.

    Returns:
        What was done. Nothing where engines are not told, as :func:`tells_engines`
        says.

    Raises:
        ConfigurationError: an engine cannot be made, or there is no such engine.
        DatabaseError: the database failed; what has not been told waits.
    """
    if not tells_engines():
        return DeliveryReport()
    site, names = get_site(), list(names)
    engines = chosen(names)
    begin = timezone.now()
    until = None if seconds is None else begin + timedelta(seconds=seconds)
    end = None if seconds is None else time.monotonic() + seconds
    failures = relay_saves(site, end)
    want_feeds(site, has_changed=False, engines=engines)
    patience = timezone.now() + timedelta(seconds=wait)
    report = deliver(site, engines, until)
    report.failures += failures + ([] if names else [e.fault for e in broken_engines()])
    while _is_soon(report.next_at, patience, until):
        left = (report.next_at - timezone.now()).total_seconds()
        time.sleep(max(left, 0.01))
        later = deliver(site, engines, until)
        report = report.then(later)
        if later.refused and not later.requests:  # somebody else is at it
            break
    read_back(site, engines, until)
    return report


def _is_soon(
    next_at: datetime | None, patience: datetime, until: datetime | None
) -> TypeGuard[datetime]:
    now = timezone.now()
    if next_at is None or next_at > max(patience, now):
        return False
    return until is None or max(next_at, now) < until


def chosen(names: Iterable[str]) -> list[Engine]:
    """Return engines by their names; none for all.

    Raises:
        ConfigurationError: one cannot be made, or is not configured.
    """
    return [get_engine(name) for name in names] or list(get_engines().values())


def is_told_by_another(
    site: Site, engine: Engine, report: DeliveryReport, until: datetime
) -> bool:
    """Return whether URLs are due that only another process kept from being told.

    Args:
        site: whose they are.
        engine: whom they are to be told.
        report: what was done. Of a host that was ours to tell all was told; what is due
            came later.
        until: when they became due at the latest.
    """
    now = timezone.now()
    refused = [host for name, host in report.refused if name == engine.name]
    resting = Q(not_before__gt=now) | ~Q(parked_reason="")
    hosts = EngineHost.objects.filter(resting, site=site.name, engine=engine.name)
    due = Delivery.objects.due(min(until, now)).filter(
        site=site.name, engine=engine.name
    )
    # Why an engine rests or is parked is said elsewhere; nobody chooses feeds.
    due = due.filter(is_feed=False, host__in=refused)
    return due.exclude(host__in=hosts.values("host")).exists()


def read_back(
    site: Site, engines: Iterable[Engine], until: datetime | None = None
) -> None:
    """Keep what engines themselves say of the feeds that they were told, once a day.

    Args:
        site: whose feeds they are.
        engines: whom to ask.
        until: nothing is asked after it.
    """
    for engine in engines:
        if engine.takes is not Takes.FEEDS or not _may_ask(site, engine):
            continue
        before = timezone.now() - ASK_AGAIN
        asked_long_ago = Q(feedback_at=None) | Q(feedback_at__lt=before)
        rows = told_feeds(site, engine).filter(asked_long_ago)
        for row in rows:
            if until is not None and timezone.now() >= until:
                return
            mine = rows.filter(pk=row.pk)
            if mine.update(feedback_at=timezone.now()):  # and nobody else asks
                _keep(row, _asked(engine, site, row))


def _asked(engine: Engine, site: Site, row: Delivery) -> dict[str, Any] | None:
    """Return what an engine says; where it says nothing, what it said before, and why.

    What was said before is still the newest that is known.
    """
    try:
        return engine.read_back(site, row.target)
    except EngineError as error:
        words = words_of(error)
    except Exception as error:  # noqa: BLE001 - an engine may be the user's code
        why = without_text(error)
        logger.error("%r could not be asked about %s: %s", engine, row.target, why)
        words = f"it raised {type(error).__name__}"
    before = row.feedback if isinstance(row.feedback, dict) else {}
    return {**before, "error": words}


def _keep(row: Delivery, feedback: dict[str, Any] | None) -> None:
    rows = Delivery.objects.filter(pk=row.pk)
    try:
        with atomic():
            rows.update(feedback=feedback)
    except (TypeError, ValueError, RecursionError, DataError, IntegrityError):
        logger.error("%s: what the engine says of it cannot be kept as JSON", row)
        rows.update(feedback={"error": "What it says cannot be kept as JSON."})


def _may_ask(site: Site, engine: Engine) -> bool:
    # What engines that say nothing back have, they inherit.
    if type(engine).read_back is Engine.read_back:
        return False
    rows = EngineHost.objects.filter(site=site.name, engine=engine.name)
    closed = rows.exclude(parked_reason="") | rows.filter(not_before__gt=timezone.now())
    return not closed.exists()


def revive(names: Iterable[str] = ()) -> tuple[int, int]:
    """Let parked engines be told again, and what was rejected be tried again.

    Returns:
        How many engines, by host, were parked, and how many targets rejected.
    """
    site, now = get_site().name, timezone.now()
    recipients = EngineHost.objects.filter(site=site)
    rows = Delivery.objects.filter(site=site)
    if names := list(names):
        recipients = recipients.filter(engine__in=names)
        rows = rows.filter(engine__in=names)
    parked = recipients.exclude(parked_reason="").update(
        parked_reason="", rejections=0, batch=0, error=""
    )
    # Whoever asks for it does not want to wait for the end of a pause.
    recipients.update(not_before=now, failures=0)
    rows.waiting().filter(attempts__gt=0).update(not_before=now)
    fresh = {"dead_since": None, "rejections": 0, "error": ""}
    return parked, rows.dead().update(not_before=now, **fresh)
