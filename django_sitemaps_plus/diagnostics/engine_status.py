"""The state of engines: what was submitted to each, and what waits."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Min, Q, Sum
from django.utils import timezone

from django_sitemaps_plus.conf import Site, get_settings
from django_sitemaps_plus.models import Delivery, EngineHost, Figure
from django_sitemaps_plus.notifications import Takes
from django_sitemaps_plus.notifications.configuration import get_engines
from django_sitemaps_plus.sites import in_force

#: The time of what is said of the recent past.
RECENTLY = timedelta(hours=24)


@dataclass(slots=True, kw_only=True)
class EngineStatus:
    """How one engine of a site is."""

    site: str
    engine: str
    accepted: int = 0  # targets, in the last 24 hours
    failed: int = 0  # the same of requests that were, or are, made again
    is_busy: bool = False  # a process is submitting to it
    waiting: int = 0  # targets that wait to be submitted
    #: Targets among them whose time has not come: they were submitted lately, mostly.
    resting: int = 0
    dead: int = 0  # targets that it rejected
    sent_at: datetime | None = None  # of the last notification
    oldest: datetime | None = None  # of the oldest change that waits
    parked: dict[str, str] = field(default_factory=dict)  # hosts, and why
    failing: dict[str, str] = field(default_factory=dict)  # hosts, and the last error
    error: str = ""  # of a target that it rejected
    feedback: dict[str, Any] = field(default_factory=dict)  # what it says, by feed


def engine_status(*sites: Site) -> list[EngineStatus]:
    """Return how every engine of sites is that is configured or has rows, by name.

    By five queries.
    """
    found, takers = dict[tuple[str, str], EngineStatus](), set[str]()

    def status(site: str, engine: str) -> EngineStatus:
        made = EngineStatus(site=site, engine=engine)
        return found.setdefault((site, engine), made)

    for site in sites:
        with in_force(site):
            for name in get_settings().engines:
                status(site.name, name)
            engines = get_engines().values()
            takers |= {it.name for it in engines if it.takes is Takes.FEEDS}
    names = [site.name for site in sites]
    for host in EngineHost.objects.filter(site__in=names):
        _fill_host(status(host.site, host.engine), host)
    for row in _delivery_rows(names, {engine for _, engine in found}):
        fill(status(row.pop("site"), row.pop("engine")), row)
    # By engine, or the database would read all URLs that were ever submitted.
    asked = Delivery.objects.filter(site__in=names, engine__in=takers, wanted__gt=0)
    asked = asked.filter(feedback__isnull=False).order_by("engine", "target")
    for told in asked.values_list("site", "engine", "target", "feedback"):
        site_name, name, target, feedback = told
        status(site_name, name).feedback[target] = feedback
    kinds = (Figure.Kind.ACCEPTED, Figure.Kind.FAILED)
    recent = Figure.objects.since(timezone.now() - RECENTLY).order_by()
    recent = recent.filter(site__in=names, kind__in=kinds)
    sums = recent.values_list("site", "name", "kind").annotate(Sum("value"))
    for site_name, name, kind, value in sums:
        # The kinds `accepted` and `failed` are attributes of a status as well.
        setattr(status(site_name, name), kind, int(value))
    order = [site.name for site in sites]
    return sorted(found.values(), key=lambda it: (order.index(it.site), it.engine))


def _fill_host(status: EngineStatus, host: EngineHost) -> None:
    moments = filter(None, (status.sent_at, host.sent_at))
    status.sent_at = max(moments, default=None)
    lease = get_settings().lease
    if host.token and host.claimed_at and host.claimed_at > timezone.now() - lease:
        status.is_busy = True
    if host.parked_reason:
        status.parked[host.host] = host.parked_reason
    elif host.failures:
        status.failing[host.host] = host.error


def fill(status: Any, row: dict[str, Any]) -> None:
    """Set what a query found; a sum or a maximum of nothing is None, and left out."""
    for name, value in row.items():
        if value is not None:
            # A query cannot use the name of a relation for a number.
            setattr(status, name.rstrip("_"), value)


def _delivery_rows(
    sites: Collection[str], engines: Collection[str]
) -> list[dict[str, Any]]:
    """Return what waits and what was rejected, by columns of one index alone."""
    states = [Delivery.State.WAITING, Delivery.State.DEAD]
    waiting, dead = [Q(state=state) for state in states]
    # All others were submitted, and may be millions: the index is asked by engine.
    rows = Delivery.objects.filter(site__in=sites, engine__in=engines, state__in=states)
    now = timezone.now()
    counted: Any = (
        rows.order_by()
        .values("site", "engine")
        .annotate(
            waiting=Count("pk", filter=waiting),
            resting=Count("pk", filter=waiting & Q(not_before__gt=now)),
            dead=Count("pk", filter=dead),
            oldest=Min("changed_at", filter=waiting),
            example=Min("pk", filter=dead),
        )
    )
    found: list[dict[str, Any]] = list(counted)
    # More would have the database look up every row that was rejected.
    examples = Delivery.objects.filter(pk__in=[row["example"] for row in found])
    errors = dict(examples.values_list("pk", "error"))
    for row in found:
        row["error"] = errors.get(row.pop("example"))
    return found
