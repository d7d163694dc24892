"""Dispatch: find the engine hosts with due deliveries, and submit these."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Q, QuerySet
from django.utils import timezone

from django_sitemaps_plus.conf import in_force
from django_sitemaps_plus.exceptions import EngineError
from django_sitemaps_plus.models import Delivery, EngineHost
from django_sitemaps_plus.models.sections import owning_site
from django_sitemaps_plus.outages import ends_work
from django_sitemaps_plus.sites import get_site, notifies_engines

from .base import Engine, Takes
from .configuration import broken_engines, get_engine, get_engines
from .outbox import present_feeds, want_feeds
from .secrets import without_text
from .submit import DeliveryReport, Submitter
from .url_changes import relay_saves

logger = logging.getLogger(__name__)

#: Time between two questions about the same feed.
ASK_AGAIN = timedelta(days=1)

#: Keys of reports under which we keep the highest share of indexed URLs, and since
#: when they tell of errors or of a lower share.
HIGHEST, SINCE = "highest_share", "unwell_since"
KEPT = (HIGHEST, SINCE)

#: The part of the highest share of indexed URLs whose loss is a problem.
FALLEN = 0.1


def notify_engines(
    names: Iterable[str] = (), *, seconds: float | None = None, wait: float = 0.0
) -> DeliveryReport:
    """Submit to engines, or to those with these names, all that is due.

    No request begins after some ``seconds``; what is due within ``wait`` seconds is
    waited for. If the database fails, what was not submitted waits.

    Raises:
        ConfigurationError: an engine that is named is broken, or does not exist; or
            what is stored belongs to another origin.
    """
    report = DeliveryReport()
    if not notifies_engines():
        return report
    with in_force(owning_site()):
        names = list(names)
        engines = chosen_engines(names)
        until = time.monotonic() + (math.inf if seconds is None else seconds)
        report.failures += relay_saves(until)
        want_feeds(engines=engines)
        patience = timezone.now() + timedelta(seconds=wait)
        dispatch(engines, report, until)
        if not names:
            report.failures += map(str, broken_engines())
        # Wait for what is due soon, as long as patience and time allow.
        while report.next_at is not None:
            now = timezone.now()
            left = max((report.next_at - now).total_seconds(), 0.01)
            is_late = report.next_at > max(patience, now)
            if is_late or time.monotonic() + left >= until:
                break
            time.sleep(left)
            dispatch(engines, report, until)
        read_back(engines, until)
    return report


def chosen_engines(names: Sequence[str]) -> list[Engine]:
    """Return engines by their names, or raise for a broken one; none for all others."""
    return [get_engine(name) for name in names] or list(get_engines().values())


def has_due(engine: Engine, until: datetime) -> bool:
    """Return whether URLs due until a time wait that an engine could take now."""
    rows = Delivery.objects.of(get_site().name, engine.name)
    due = rows.due(min(until, timezone.now()))
    closed = _closed_hosts(engine).values("host")
    return due.filter(is_feed=False).exclude(host__in=closed).exists()


def _closed_hosts(engine: Engine) -> QuerySet[EngineHost]:
    """Return the hosts for which an engine rests or is parked."""
    is_closed = Q(not_before__gt=timezone.now()) | ~Q(parked_reason="")
    return EngineHost.objects.filter(
        is_closed, site=get_site().name, engine=engine.name
    )


def dispatch(
    engines: Iterable[Engine], report: DeliveryReport, until: float = math.inf
) -> None:
    """Submit what is due; one process at a time does so for an engine and a host.

    No request begins after ``until``. The report gets what was done, and when there is
    more to do. If our database fails, one accepted request is made again.
    """
    site, times = get_site(), list[datetime]()
    for engine in engines:
        # A seek in the index for each host, since millions of rows may wait.
        rows = Delivery.objects.of(site.name, engine.name)
        ordered = rows.waiting().order_by("host", "not_before")
        firsts = ordered.values_list("host", "not_before")
        waiting = firsts.first()
        while waiting:
            host, first_at = waiting
            key = {"site": site.name, "engine": engine.name, "host": host}
            is_due = first_at <= timezone.now()
            options = engine.digest
            if is_due and (claimed := EngineHost.objects.claim(**key, options=options)):
                Submitter(site, engine, claimed, report, until).run()
            left = rows.filter(host=host).waiting().order_by("not_before")
            due_at = left.values_list("not_before", flat=True).first()
            owner = EngineHost.objects.filter(**key).first()
            free_at = owner.free_at() if owner else due_at
            if due_at and free_at:  # else nothing waits, or it is parked
                times.append(max(due_at, free_at))
            waiting = firsts.filter(host__gt=host).first()
    report.next_at = min(times, default=None)


def retry(names: Iterable[str] = ()) -> None:
    """End parking and pauses, and submit again what failed or was rejected."""
    site = get_site().name
    hosts = EngineHost.objects.filter(site=site)
    rows = Delivery.objects.filter(site=site)
    if names := list(names):
        hosts, rows = hosts.filter(engine__in=names), rows.filter(engine__in=names)
    hosts.retry()
    rows.retry()


def read_back(engines: Iterable[Engine], until: float = math.inf) -> None:
    """Ask engines once a day about the feeds that they accepted; keep the answers."""
    for engine in engines:
        # Engines that report nothing inherit read_back().
        reports = type(engine).read_back is not Engine.read_back
        takes_feeds = engine.takes is Takes.FEEDS
        if not reports or not takes_feeds or _closed_hosts(engine).exists():
            continue
        rows = Delivery.objects.of(get_site().name, engine.name)
        rows = rows.to(present_feeds(engine) or ()).filter(sent__gt=0)
        before = timezone.now() - ASK_AGAIN
        rows = rows.filter(Q(feedback_at=None) | Q(feedback_at__lt=before))
        for row in rows:
            if time.monotonic() >= until:
                return
            if rows.filter(pk=row.pk).update(feedback_at=timezone.now()):
                _ask(engine, row)


def _ask(engine: Engine, row: Delivery) -> None:
    """Keep what an engine reports; if it fails, what it last reported, and why."""
    rows = Delivery.objects.filter(pk=row.pk)
    before = row.feedback if isinstance(row.feedback, dict) else {}
    try:
        said = engine.read_back(get_site(), row.target)
        if isinstance(said, dict):
            shares = [before.get(HIGHEST), indexed_share(said)]
            highest = max([it for it in shares if it is not None], default=None)
            said = said if highest is None else {**said, HIGHEST: highest}
            if errors_in(said) or fall_of(said):
                now = timezone.now().isoformat()
                said = {**said, SINCE: before.get(SINCE, now)}
        rows.update(feedback=said)
        return
    except EngineError as error:
        reason = str(error)
    except Exception as error:  # an engine may be the user's code, and report anything
        if ends_work(error):
            raise
        why = without_text(error)
        logger.error("%r could not be asked about %s: %s", engine, row.target, why)
        reason = f"it raised {type(error).__name__}"
    rows.update(feedback={**before, "error": reason})


def indexed_share(said: Mapping[str, Any]) -> float | None:
    """Return the part of submitted URLs that an engine has indexed; None if untold."""
    numbers: list[Any] = [said.get("indexed"), said.get("submitted")]
    with suppress(TypeError, ZeroDivisionError):
        # Either is a number, or numbers by the kind of content.
        indexed, submitted = [
            sum(it.values()) if isinstance(it, dict) else it for it in numbers
        ]
        return float(indexed / submitted)
    return None


def errors_in(said: Mapping[str, Any]) -> int:
    """Return how many errors an engine reports of a feed."""
    number = said.get("errors")
    return max(0, number) if isinstance(number, int) else 0


def fall_of(said: Mapping[str, Any]) -> tuple[float, float] | None:
    """Return the highest share of indexed URLs and the last, if it fell too far."""
    highest, share = said.get(HIGHEST), indexed_share(said)
    if not isinstance(highest, float) or share is None:
        return None
    return (highest, share) if share < highest * (1 - FALLEN) else None
