"""The status of sites, of their sections and of their engines."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import chain
from statistics import median
from typing import Any

from django.db.models import Count, F, Max, Min, Q, Sum
from django.utils import timezone

from django_sitemaps_plus.building.report import index_problems
from django_sitemaps_plus.conf import Site, get_settings, in_force
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.models import (
    INDEX,
    Delivery,
    EngineHost,
    Figure,
    Hold,
    Page,
    Section,
    State,
    Worker,
)
from django_sitemaps_plus.models.claims import has_failed, is_parked
from django_sitemaps_plus.models.clock import Now
from django_sitemaps_plus.models.pages import damaged_among, damaged_pages, noted_pages
from django_sitemaps_plus.models.sections import TOTALS
from django_sitemaps_plus.notifications import Takes
from django_sitemaps_plus.notifications.configuration import get_engines
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.serving.live import LiveFault, live_faults
from django_sitemaps_plus.sites import silence_reason
from django_sitemaps_plus.tracking.collecting import waiting_changes

from .answers import Answer, stored_answer
from .configuration import SettingsFault, settings_faults

#: Seconds after which a change or a build is late: cron may build once a day.
LATE = 26 * 3_600

#: How far back accepted and failed targets are counted.
RECENTLY = timedelta(hours=24)


@dataclass(slots=True, kw_only=True)
class SectionStatus:
    """How one section of a site is."""

    site: str
    section: str
    registered: bool = True
    missing_since: datetime | None = None  # when a build has met that it is not
    live: bool = True  # rendered on request, since no build has made pages of it
    always_live: bool = False  # its source says so: no build makes pages of it
    pages: int = 0  # with entries
    planned: int = 0  # pages with and without entries, also of a next plan
    entries: int = 0
    plain_size: int = 0  # bytes before compression
    gzip_size: int = 0  # bytes in storage
    dirty: int = 0  # pages to be built
    building: int = 0  # of these, pages that builders are at work on
    builders: int = 0
    parked: int = 0  # pages that failed often, or builders died of; tried rarely
    failed: int = 0  # other dirty pages whose last build failed
    failed_since: datetime | None = None  # the first change that these do not have
    held_pages: int = 0  # that the guard holds
    held_since: datetime | None = None  # the first change that these do not have
    hold_reason: str = ""  # as hold_words() says it with these numbers
    hold_numbers: Sequence[int] = ()
    fault: str = ""  # why the last build of it failed
    fault_since: datetime | None = None
    live_fault: LiveFault | None = None  # that requests have met lately
    lost: int = 0  # pages whose files requests have found missing or damaged
    lost_since: datetime | None = None  # when the first of them was
    skipped: int = 0  # rows that cannot be listed
    dropped: int = 0  # values left out of their entry
    changes: int = 0  # recorded, and not yet located
    oldest: datetime | None = None  # of what waits: a change, or a page that it marked
    last_build_at: datetime | None = None  # that looked for changes
    published_at: datetime | None = None  # the latest flip that changed something
    error: str = ""  # of a parked page
    next_attempt_at: datetime | None = None  # at parked or failed pages
    failure: str = ""  # of a page that failed

    @property
    def done(self) -> int:
        """Pages that need no build."""
        return self.planned - self.dirty


def section_status(
    *sites: Site,
    lost: Mapping[Page, datetime] | None = None,
    met: Mapping[str, Mapping[str, LiveFault]] | None = None,
) -> list[SectionStatus]:
    """Return how every section of sites is that is registered or has pages, by name.

    By three queries, one more for each further database that has changes, and one for
    the pages that are lost, unless they are given; ``met`` is of other processes.
    """
    lost = damaged_pages() if lost is None else lost
    found, rows = list[SectionStatus](), _section_rows(sites, lost)
    planned = {key for key, row in rows.items() if row["planned"]}
    for site in sites:
        with in_force(site):
            registered, always_live = set(registry), registry.live()
        faults = {**(met or {}).get(site.name, {}), **live_faults(site)}
        names = registered.union(name for of, name in planned if of == site.name)
        for name in sorted(names):
            status = SectionStatus(
                site=site.name,
                section=name,
                registered=name in registered,
                live=(site.name, name) not in planned,
                always_live=name in always_live,
                live_fault=faults.get(name),
            )
            fill(status, rows.get((site.name, name), {}))
            fault, published_at = status.live_fault, status.published_at
            if fault and published_at and fault.at < published_at:
                status.live_fault = None  # a build has ended it
            if status.always_live:  # it needs no build that knows it
                status.missing_since = None
            if not status.registered:  # nothing builds it, so it is never late
                status.last_build_at = status.oldest = None
            found.append(status)
    built = [it for it in found if it.registered and not it.always_live]
    waiting = waiting_changes([it.section for it in built])
    for status in built:
        if status.section in waiting:
            status.changes, oldest = waiting[status.section]
            status.oldest = min(filter(None, (oldest, status.oldest)))
    return found


def _section_rows(
    sites: Collection[Site], lost: Mapping[Page, datetime]
) -> dict[tuple[str, str], dict[str, Any]]:
    """Return totals of sections, and sums over their pages that are to be built."""
    active = Q(work__state=State.ACTIVE)
    # Pages of the next plan count as well, which waits for them.
    planned = ~Q(work__state=State.RETIRED)
    parked = planned & is_parked("work__")
    failed = planned & ~is_parked("work__") & has_failed("work__")
    held = active & Q(work__hold=Hold.HELD)
    claimed = planned & Q(work__claimed_at__gte=Now() - get_settings().lease)
    claimed &= ~Q(work__token="")
    # A removed section keeps its row, for the numbers that it has used.
    names = [site.name for site in sites]
    has_more = Q(planned__gt=0) | ~Q(fault="") | Q(missing_since__isnull=False)
    sections = Section.objects.filter(has_more, site__in=names).exclude(name=INDEX)
    own = ("pk", "site", "name", "hold_reason", "hold_numbers", "fault", "fault_since")
    sums = {*TOTALS, "missing_since", "published_at"} - {"listed_pages"}
    others = {"last_build_at": F("schedule_checked_at"), "pages_": F("listed_pages")}
    rows: Any = sections.with_work().values(*own, *sums, **others)
    rows = rows.annotate(
        dirty=Count("work", filter=active),
        building=Count("work", filter=claimed),
        builders=Count("work__token", filter=claimed, distinct=True),
        parked=Count("work", filter=parked),
        held_pages=Count("work", filter=held),
        held_since=Min("work__changed_at", filter=held),
        oldest=Min("work__changed_at", filter=planned),
        error=Max("work__error", filter=parked),
        failed=Count("work", filter=failed),
        failure=Max("work__error", filter=failed),
        failed_since=Min("work__changed_at", filter=parked | failed),
        next_attempt_at=Min("work__not_before", filter=parked | failed),
    )
    found = {row.pop("pk"): row for row in rows}
    for page, moment in lost.items():
        if page.state == State.ACTIVE and (row := found.get(page.section_id)):
            row["lost"] = row.get("lost", 0) + 1
            row["lost_since"] = min(moment, row.get("lost_since", moment))
    return {(row.pop("site"), row.pop("name")): row for row in found.values()}


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
    dead_since: datetime | None = None  # since when it rejects the first of them
    sent_at: datetime | None = None  # of the last notification
    #: Seconds from change to acceptance: the longest median of a host's last 100.
    delay: float | None = None
    oldest: datetime | None = None  # of the oldest change that waits
    parked: dict[str, str] = field(default_factory=dict)  # hosts, and why
    parked_since: datetime | None = None  # the first of them
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
    for row in _delivery_rows(names, {key[1] for key in found}):
        fill(status(row.pop("site"), row.pop("engine")), row)
    # Feeds are asked for by engine, or the database would read every delivery.
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
    return sorted(found.values(), key=lambda it: (names.index(it.site), it.engine))


def _fill_host(status: EngineStatus, host: EngineHost) -> None:
    moments = filter(None, (status.sent_at, host.sent_at))
    status.sent_at = max(moments, default=None)
    if host.delays:
        status.delay = max(status.delay or 0, median(host.delays))
    lease = get_settings().lease
    if host.token and host.claimed_at and host.claimed_at > timezone.now() - lease:
        status.is_busy = True
    if host.parked_reason:
        status.parked[host.host] = host.parked_reason
        earlier = status.parked_since or host.not_before
        status.parked_since = min(earlier, host.not_before)
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
    # Other deliveries may be millions, so the index is asked by engine.
    rows = Delivery.objects.filter(site__in=sites, engine__in=engines, state__in=states)
    counted: Any = (
        rows.order_by()
        .values("site", "engine")
        .annotate(
            waiting=Count("pk", filter=waiting),
            resting=Count("pk", filter=waiting & Q(not_before__gt=timezone.now())),
            dead=Count("pk", filter=dead),
            oldest=Min("changed_at", filter=waiting),
            example=Min("pk", filter=dead),
        )
    )
    found: list[dict[str, Any]] = list(counted)
    # Other columns would have the database look up every rejected row.
    examples = Delivery.objects.only("error", "dead_since")
    said = examples.in_bulk([row["example"] for row in found])
    for row in found:
        if example := said.get(row.pop("example")):
            row.update(error=example.error, dead_since=example.dead_since)
    return found


@dataclass(slots=True, kw_only=True)
class SiteStatus:
    """How one site is."""

    site: Site
    sections: list[SectionStatus] = field(default_factory=list)  # by name
    engines: list[EngineStatus] = field(default_factory=list)  # by name
    #: Files of the index that are not up to date, "" for all, and the error of each.
    index_problems: list[tuple[str, str]] = field(default_factory=list)
    index_since: datetime | None = None  # the first change that it does not have
    is_index_stored: bool = False  # so it lists what builds have made, and no more
    is_index_lost: bool = False  # a request has found a file of it missing or damaged
    answer: Answer | None = None  # the last one of Django for the index
    stored_origin: str = ""  # of what is stored, if it is another than the site's
    workers: Sequence[Worker] = ()  # kinds that were seen, by name; of all sites
    silence: str = ""  # why no engine is notified; "" if they are, or there is none
    faults: Sequence[SettingsFault] = ()  # of the settings, in this process
    findings: dict[str, int] | None = None  # by rule; None before the first audit
    findings_since: datetime | None = None  # since when audits find some

    @property
    def is_known(self) -> bool:
        """Whether it is known that Django answers, or does not."""
        return self.answer is not None and self.answer.is_known

    @property
    def is_live(self) -> bool:
        """Whether all is rendered on request, since no build has made pages."""
        return all(it.live for it in self.sections)

    @property
    def dirty(self) -> int:
        """Pages that are still to be built."""
        return sum([section.dirty for section in self.sections])

    @property
    def changes(self) -> int:
        """Changes that are recorded, and not yet located."""
        return sum([section.changes for section in self.sections])

    @property
    def last_build_at(self) -> datetime | None:
        """When a build last looked for changes of any section."""
        times = [it.last_build_at for it in self.sections if it.last_build_at]
        return max(times, default=None)


def read_dashboard(sites: Sequence[Site]) -> list[SiteStatus]:
    """Return how sites are, in their order, by eleven queries whatever their size.

    Each further database that has changes costs one more.
    """
    found = {site.name: SiteStatus(site=site) for site in sites}
    for engine in engine_status(*sites):
        found[engine.site].engines.append(engine)
    indexes = Section.objects.filter(site__in=list(found), name=INDEX)
    audited = {"counts": F("findings__counts"), "since": F("findings__since")}
    indexes = indexes.annotate(**audited).defer("findings")
    rows: dict[str, Any] = {row.site: row for row in indexes}
    pages = defaultdict[int, list[Page]](list)
    wanted = Q(section__in=[it.pk for it in rows.values()])
    for page in Page.objects.filter(wanted | Q(pk__in=noted_pages())):
        pages[page.section_id].append(page)
    lost = damaged_among(chain.from_iterable(pages.values()))
    for name, row in rows.items():
        found[name].answer = stored_answer(row.answer, found[name].site)
    met = {name: it.answer.live_faults for name, it in found.items() if it.answer}
    for section in section_status(*sites, lost=lost, met=met):
        found[section.site].sections.append(section)
    unknown, workers = list[tuple[str, str]](), Worker.objects.seen()
    try:
        registry.must_be_whole()
    except ConfigurationError as error:
        unknown.append(("", str(error)))
    for name, status in found.items():
        status.index_problems, status.workers = unknown, workers
        if row := rows.get(name):
            status.index_problems = [*unknown, *index_problems(pages[row.pk])]
            status.is_index_stored = any([it.object for it in pages[row.pk]])
            status.is_index_lost = any([it in lost for it in pages[row.pk]])
            times = [it.changed_at for it in pages[row.pk] if it.wanted > it.built]
            times += [lost[it] for it in pages[row.pk] if it in lost]
            status.index_since = min(filter(None, times), default=None)
            if row.origin != status.site.origin:
                status.stored_origin = row.origin
            status.findings = row.counts
            status.findings_since = row.since and datetime.fromisoformat(row.since)
        with in_force(status.site):
            status.silence = silence_reason() if status.engines else ""
            status.faults = [*settings_faults()]
    return list(found.values())
