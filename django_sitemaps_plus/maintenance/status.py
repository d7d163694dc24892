"""The state of sections and engines, as ``sitemap_status`` shows it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db.models import Count, F, Max, Min, Q, QuerySet, Sum
from django.db.models.functions import Now
from django.utils import timezone

from django_sitemaps_plus.building.report import none_listed
from django_sitemaps_plus.conf import Site, get_settings
from django_sitemaps_plus.models import (
    INDEX,
    MAX_ATTEMPTS,
    Delivery,
    EngineHost,
    Hold,
    Section,
    State,
)
from django_sitemaps_plus.notifications import Takes
from django_sitemaps_plus.notifications.configuration import get_engines
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.tracking.collecting import waiting_changes


@dataclass(slots=True, kw_only=True)
class SectionStatus:
    """How one section is."""

    section: str
    registered: bool = True
    live: bool = True  # rendered on request, since no build has made pages of it
    pages: int = 0  # with entries
    entries: int = 0
    dirty: int = 0  # pages to be built
    parked: int = 0  # pages that failed too often to be tried again
    failed: int = 0  # other dirty pages whose last build failed
    held_pages: int = 0  # that the guard holds
    hold_reason: str = ""
    skipped: int = 0  # rows that cannot be listed
    dropped: int = 0  # values left out of their entry
    changes: int = 0  # recorded, and not yet located
    oldest: datetime | None = None  # of what waits: a change, or a page that it marked
    last_build_at: datetime | None = None  # that looked for changes
    published_at: datetime | None = None  # the latest flip that changed something
    error: str = ""  # of a parked page
    failure: str = ""  # of a page that failed

    @property
    def problems(self) -> list[str]:
        """What needs a person."""
        found = []
        if not self.registered:
            found.append(f"Section {self.section!r} is no longer registered")
        if self.hold_reason:
            found.append(f"{self.section} is held: {self.hold_reason}")
        elif self.skipped and not self.entries:
            found.append(none_listed(self.section, self.skipped))
        if self.parked:
            words = f"{self.parked} pages are parked: {self.error}"
            found.append(f"{self.section}: {words}")
        if self.failed:
            words = f"{self.failed} dirty pages could not be built yet: {self.failure}"
            found.append(f"{self.section}: {words}")
        return found


@dataclass(slots=True, kw_only=True)
class EngineStatus:
    """How one engine is."""

    engine: str
    waiting: int = 0  # targets that wait to be submitted
    resting: int = 0  # URLs among them that wait for NOTIFY_INTERVAL_SECONDS alone
    dead: int = 0  # targets that it rejected
    sent_at: datetime | None = None  # of the last notification
    oldest: datetime | None = None  # of the oldest change that waits
    parked: dict[str, str] = field(default_factory=dict)  # hosts, and why
    failing: dict[str, str] = field(default_factory=dict)  # hosts, and the last error
    error: str = ""  # of a target that it rejected
    feedback: dict[str, Any] = field(default_factory=dict)  # what it says, by feed

    @property
    def problems(self) -> list[str]:
        """What needs a person."""
        remedy = "Fix this, then run notify_search_engines --retry"
        found = [
            f"{self.engine} is not notified for {host}: {why.rstrip('.')}. {remedy}"
            for host, why in self.parked.items()
        ]
        if self.dead:
            found.append(
                f"{self.engine} rejected {self.dead:,} targets: {self.error}. {remedy}"
            )
        return found


def section_status(site: Site) -> list[SectionStatus]:
    """Return how every section is that is registered or has pages, by name."""
    rows = {row.pop("name"): row for row in _section_rows(site)}
    found = []
    for name in sorted({*rows, *registry}):
        status = SectionStatus(
            section=name, registered=name in registry, live=name not in rows
        )
        _fill(status, rows.get(name, {}))
        if status.registered:
            status.changes, oldest = waiting_changes(name)
            status.oldest = min(filter(None, (oldest, status.oldest)), default=None)
        found.append(status)
    return found


def engine_status(site: Site) -> list[EngineStatus]:
    """Return how every engine is that is configured or has rows, by name."""
    found = {name: EngineStatus(engine=name) for name in get_settings().engines}
    for row in _delivery_rows(site):
        name = row.pop("engine")
        _fill(found.setdefault(name, EngineStatus(engine=name)), row)
    for host in EngineHost.objects.filter(site=site.name):
        name = host.engine
        _fill_host(found.setdefault(name, EngineStatus(engine=name)), host)
    for name, target, feedback in _feedback(site):
        found[name].feedback[target] = feedback
    return [found[name] for name in sorted(found)]


def overdue(
    sections: Collection[SectionStatus],
    engines: Collection[EngineStatus],
    seconds: int,
) -> list[str]:
    """Return what has waited for longer, as where workers have died."""
    change = "the oldest change that waits"
    times = [(it.section, change, it.oldest) for it in sections]
    times += [(it.section, "the last build", it.last_build_at) for it in sections]
    times += [(it.engine, change, it.oldest) for it in engines]
    return [
        f"{name}: {what} is {age_of(moment):,.0f} s old, more than {seconds:,} s. See "
        "that workers or a cron job run."
        for name, what, moment in times
        if moment and age_of(moment) > seconds
    ]


def age_of(moment: datetime) -> float:
    """Return how many seconds ago a moment was."""
    return (timezone.now() - moment).total_seconds()


def _fill(status: SectionStatus | EngineStatus, row: dict[str, Any]) -> None:
    for name, value in row.items():
        if value is not None:
            # A query cannot use the name of a relation for a number.
            setattr(status, name.rstrip("_"), value)


def _fill_host(status: EngineStatus, host: EngineHost) -> None:
    moments = filter(None, (status.sent_at, host.sent_at))
    status.sent_at = max(moments, default=None)
    if host.parked_reason:
        status.parked[host.host] = host.parked_reason
    elif host.failures:
        status.failing[host.host] = host.error


def _section_rows(site: Site) -> list[dict[str, Any]]:
    active = Q(pages__state=State.ACTIVE)
    dirty = Q(pages__is_dirty=1)
    # Also of the next plan, which waits for them.
    planned = dirty & ~Q(pages__state=State.RETIRED)
    parked = planned & Q(pages__attempts__gte=MAX_ATTEMPTS)
    failed = planned & Q(pages__attempts__lt=MAX_ATTEMPTS) & ~Q(pages__error="")
    # A removed section keeps its row, for the numbers that it has used.
    sections = Section.objects.filter(site=site.name, pages__isnull=False)
    sections = sections.exclude(name=INDEX)
    own = {"last_build_at": F("schedule_checked_at")}
    rows: Any = sections.values("name", "hold_reason", **own).annotate(
        pages_=Count("pages", filter=active & Q(pages__entries__gt=0)),
        entries=Sum("pages__entries", filter=active),
        dirty=Count("pages", filter=active & dirty),
        parked=Count("pages", filter=parked),
        held_pages=Count("pages", filter=active & Q(pages__hold=Hold.HELD)),
        skipped=Sum("pages__skipped", filter=active),
        dropped=Sum("pages__dropped", filter=active),
        published_at=Max("pages__published_at", filter=active),
        oldest=Min("pages__changed_at", filter=planned),
        error=Max("pages__error", filter=parked),
        failed=Count("pages", filter=failed),
        failure=Max("pages__error", filter=failed),
    )
    return list(rows)


def _delivery_rows(site: Site) -> list[dict[str, Any]]:
    waiting, dead = Q(state=Delivery.State.WAITING), Q(state=Delivery.State.DEAD)
    resting = Q(sent__gt=0, attempts=0, is_feed=False, not_before__gt=Now())
    # All others were submitted, and may be millions.
    rows = Delivery.objects.filter(waiting | dead, site=site.name).order_by()
    found: Any = rows.values("engine").annotate(
        waiting=Count("pk", filter=waiting),
        resting=Count("pk", filter=waiting & resting),
        dead=Count("pk", filter=dead),
        oldest=Min("changed_at", filter=waiting),
        error=Max("error", filter=dead),
    )
    return list(found)


def _feedback(site: Site) -> QuerySet[Delivery, tuple[str, str, Any]]:
    # By engine, or the database would read all URLs that were ever submitted.
    takers = [e.name for e in get_engines().values() if e.takes is Takes.FEEDS]
    rows = Delivery.objects.filter(site=site.name, engine__in=takers, wanted__gt=0)
    rows = rows.filter(feedback__isnull=False).order_by("engine", "target")
    return rows.values_list("engine", "target", "feedback")
