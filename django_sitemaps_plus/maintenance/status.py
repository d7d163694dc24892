"""The state of sections and engines, as ``sitemap_status`` shows it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from django.db.models import (
    Count,
    F,
    Max,
    Min,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Sum,
)
from django.db.models.functions import Now
from django.utils import timezone

from django_sitemaps_plus.building.report import none_listed
from django_sitemaps_plus.conf import Site, get_settings
from django_sitemaps_plus.models import (
    INDEX,
    MAX_ATTEMPTS,
    Delivery,
    EngineHost,
    Figure,
    Hold,
    Section,
    State,
)
from django_sitemaps_plus.models.figures import DELAYS
from django_sitemaps_plus.notifications import Takes
from django_sitemaps_plus.notifications.configuration import get_engines
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.sites import in_force
from django_sitemaps_plus.tracking.collecting import waiting_changes

#: The time of what is said of the recent past.
RECENTLY = timedelta(hours=24)


@dataclass(slots=True, kw_only=True)
class SectionStatus:
    """How one section of a site is."""

    site: str
    section: str
    registered: bool = True
    live: bool = True  # rendered on request, since no build has made pages of it
    pages: int = 0  # with entries
    planned: int = 0  # pages with and without entries, also of a next plan
    entries: int = 0
    plain_size: int = 0  # bytes before compression
    gzip_size: int = 0  # bytes in storage
    dirty: int = 0  # pages to be built
    building: int = 0  # of these, pages that builders are at work on
    builders: int = 0
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
    newest_at: datetime | None = None  # when the page rendered last was rendered
    oldest_at: datetime | None = None  # the same of the page rendered longest ago
    error: str = ""  # of a parked page
    failure: str = ""  # of a page that failed

    @property
    def done(self) -> int:
        """Pages that need no build."""
        return self.planned - self.dirty

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
    """How one engine of a site is."""

    site: str
    engine: str
    accepted: int = 0  # targets, in the last 24 hours
    failed: int = 0  # the same of requests that were, or are, made again
    #: Seconds from the commit of a change until the engine had accepted it, of the same
    #: time; None where it has accepted nothing.
    delay_median: float | None = None
    delay_p95: float | None = None
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


def section_status(*sites: Site) -> list[SectionStatus]:
    """Return how every section of sites is that is registered or has pages, by name.

    By three queries, and one more for each further database that has changes.
    """
    rows = {(row.pop("site"), row.pop("name")): row for row in _section_rows(sites)}
    found = []
    for site in sites:
        with in_force(site):
            registered = set(registry)
        names = registered.union(name for of, name in rows if of == site.name)
        for name in sorted(names):
            status = SectionStatus(
                site=site.name,
                section=name,
                registered=name in registered,
                live=(site.name, name) not in rows,
            )
            _fill(status, rows.get((site.name, name), {}))
            found.append(status)
    waiting = waiting_changes([it.section for it in found if it.registered])
    for status in found:
        if status.registered and status.section in waiting:
            status.changes, oldest = waiting[status.section]
            status.oldest = min(filter(None, (oldest, status.oldest)))
    return found


def engine_status(*sites: Site) -> list[EngineStatus]:
    """Return how every engine of sites is that is configured or has rows, by name.

    By four queries.
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
        _fill(status(row.pop("site"), row.pop("engine")), row)
    for site_name, name, target, feedback in _feedback(names, takers):
        status(site_name, name).feedback[target] = feedback
    for (site_name, name), figures in _recent_figures(names).items():
        _fill_figures(status(site_name, name), figures)
    order = [site.name for site in sites]
    return sorted(found.values(), key=lambda it: (order.index(it.site), it.engine))


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
    lease = get_settings().lease
    if host.token and host.claimed_at and host.claimed_at > timezone.now() - lease:
        status.is_busy = True
    if host.parked_reason:
        status.parked[host.host] = host.parked_reason
    elif host.failures:
        status.failing[host.host] = host.error


def _fill_figures(status: EngineStatus, figures: Figures) -> None:
    accepted = figures[Figure.Kind.ACCEPTED]
    status.accepted = sum(accepted.values())
    status.failed = sum(figures[Figure.Kind.FAILED].values())
    status.delay_median = quantile(accepted, 0.5)
    status.delay_p95 = quantile(accepted, 0.95)


def quantile(counts: Mapping[int, int], share: float) -> float | None:
    """Return the delay in seconds that a share of all has not exceeded, or nearly so.

    The counts are by upper bounds, as in DELAYS. Within two bounds all are taken to be
    as far from each other; longer than the last is the last. None of none.
    """
    rank, below = share * sum(counts.values()), 0.0
    for bound in DELAYS:
        number = counts.get(bound, 0)
        if number and number >= rank:
            return below + (bound - below) * rank / number if bound else below
        rank, below = rank - number, bound or below
    return None


def _section_rows(sites: Collection[Site]) -> list[dict[str, Any]]:
    active = Q(pages__state=State.ACTIVE)
    dirty = Q(pages__is_dirty=1)
    # Also of the next plan, which waits for them.
    planned = dirty & ~Q(pages__state=State.RETIRED)
    parked = planned & Q(pages__attempts__gte=MAX_ATTEMPTS)
    failed = planned & Q(pages__attempts__lt=MAX_ATTEMPTS) & ~Q(pages__error="")
    claimed = planned & Q(pages__claimed_at__gte=Now() - get_settings().lease)
    claimed &= ~Q(pages__token="")
    # A removed section keeps its row, for the numbers that it has used.
    names = [site.name for site in sites]
    sections = Section.objects.filter(site__in=names, pages__isnull=False)
    sections = sections.exclude(name=INDEX)
    own = {"last_build_at": F("schedule_checked_at")}
    rows: Any = sections.values("site", "name", "hold_reason", **own).annotate(
        pages_=Count("pages", filter=active & Q(pages__entries__gt=0)),
        planned=Count("pages", filter=~Q(pages__state=State.RETIRED)),
        entries=Sum("pages__entries", filter=active),
        plain_size=Sum("pages__plain_size", filter=active),
        gzip_size=Sum("pages__gzip_size", filter=active),
        dirty=Count("pages", filter=active & dirty),
        building=Count("pages", filter=claimed),
        builders=Count("pages__token", filter=claimed, distinct=True),
        parked=Count("pages", filter=parked),
        held_pages=Count("pages", filter=active & Q(pages__hold=Hold.HELD)),
        skipped=Sum("pages__skipped", filter=active),
        dropped=Sum("pages__dropped", filter=active),
        published_at=Max("pages__published_at", filter=active),
        newest_at=Max("pages__checked_at", filter=active),
        oldest_at=Min("pages__checked_at", filter=active),
        oldest=Min("pages__changed_at", filter=planned),
        error=Max("pages__error", filter=parked),
        failed=Count("pages", filter=failed),
        failure=Max("pages__error", filter=failed),
    )
    return list(rows)


def _delivery_rows(
    sites: Collection[str], engines: Collection[str]
) -> list[dict[str, Any]]:
    """Return what waits and what was rejected, by columns of one index alone."""
    waiting, dead = Q(state=Delivery.State.WAITING), Q(state=Delivery.State.DEAD)
    # All others were submitted, and may be millions: the index is asked by engine.
    rows = Delivery.objects.filter(waiting | dead, site__in=sites, engine__in=engines)
    same = {name: OuterRef(name) for name in ("site", "engine")}
    one_dead = Delivery.objects.filter(**same, state=Delivery.State.DEAD)
    found: Any = (
        rows.order_by()
        .values("site", "engine")
        .annotate(
            waiting=Count("pk", filter=waiting),
            resting=Count("pk", filter=waiting & Q(not_before__gt=Now())),
            dead=Count("pk", filter=dead),
            oldest=Min("changed_at", filter=waiting),
            error=Subquery(one_dead.values("error")[:1]),
        )
    )
    return list(found)


def _feedback(
    sites: Collection[str], engines: Collection[str]
) -> QuerySet[Delivery, tuple[str, str, str, Any]]:
    # By engine, or the database would read all URLs that were ever submitted.
    rows = Delivery.objects.filter(site__in=sites, engine__in=engines, wanted__gt=0)
    rows = rows.filter(feedback__isnull=False).order_by("engine", "target")
    return rows.values_list("site", "engine", "target", "feedback")


#: Numbers of the recent past, by kind and bucket.
Figures: TypeAlias = defaultdict[str, dict[int, int]]


def _recent_figures(sites: Collection[str]) -> dict[tuple[str, str], Figures]:
    kinds = (Figure.Kind.ACCEPTED, Figure.Kind.FAILED)
    rows = Figure.objects.since(timezone.now() - RECENTLY)
    rows = rows.filter(site__in=sites, kind__in=kinds).order_by()
    sums = rows.values_list("site", "name", "kind", "bucket").annotate(Sum("value"))
    found: dict[tuple[str, str], Figures] = {}
    for site, name, kind, bucket, value in sums:
        figures = found.setdefault((site, name), defaultdict(dict))
        figures[kind][bucket] = int(value)
    return found
