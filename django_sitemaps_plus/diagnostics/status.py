"""The state of sections, and what has waited for too long."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, F, Max, Min, Q, Sum
from django.utils import timezone

from django_sitemaps_plus.conf import Site, get_settings
from django_sitemaps_plus.models import INDEX, Hold, Section, State
from django_sitemaps_plus.models.claims import is_parked
from django_sitemaps_plus.models.clock import Now
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.sites import in_force
from django_sitemaps_plus.tracking.collecting import waiting_changes

from .engine_status import fill


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
    parked: int = 0  # pages that failed often, or builders died of; tried rarely
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
    next_attempt_at: datetime | None = None  # at parked or failed pages
    failure: str = ""  # of a page that failed

    @property
    def done(self) -> int:
        """Pages that need no build."""
        return self.planned - self.dirty


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
            fill(status, rows.get((site.name, name), {}))
            if not status.registered:  # nothing builds it, so it is never late
                status.last_build_at = status.oldest = None
            found.append(status)
    waiting = waiting_changes([it.section for it in found if it.registered])
    for status in found:
        if status.registered and status.section in waiting:
            status.changes, oldest = waiting[status.section]
            status.oldest = min(filter(None, (oldest, status.oldest)))
    return found


def age_of(moment: datetime) -> float:
    """Return how many seconds ago a moment was."""
    return (timezone.now() - moment).total_seconds()


def _section_rows(sites: Collection[Site]) -> list[dict[str, Any]]:
    active = Q(pages__state=State.ACTIVE)
    dirty = Q(pages__is_dirty=1)
    # Also of the next plan, which waits for them.
    planned = dirty & ~Q(pages__state=State.RETIRED)
    parked = planned & is_parked("pages__")
    failed = planned & ~is_parked("pages__") & ~Q(pages__error="")
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
        next_attempt_at=Min("pages__not_before", filter=parked | failed),
    )
    return list(rows)
