"""How the sections are: the numbers behind ``sitemap_status``."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import Error
from django.db.models import Count, Exists, F, Max, Min, OuterRef, Q, Sum
from django.utils import timezone

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.models import (
    INDEX,
    MAX_ATTEMPTS,
    Hold,
    Page,
    Section,
    State,
)
from django_sitemaps_plus.publishing.sync import page_name
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.tracking.collecting import count_changes


@dataclass(slots=True, kw_only=True)
class SectionStatus:
    """How one section is."""

    section: str
    registered: bool = True
    pages: int = 0  # with entries
    entries: int = 0
    dirty: int = 0  # pages to be built
    parked: int = 0  # pages that failed too often to be tried again unasked
    failed: int = 0  # other dirty pages whose last build failed
    held_pages: int = 0  # that the guard holds
    hold_reason: str = ""  # why, in words
    skipped: int = 0  # rows that cannot be listed
    dropped: int = 0  # values left out of their entry
    changes: int = 0  # recorded and not yet looked at
    published_at: datetime | None = None  # the latest flip that changed something
    checked_at: datetime | None = None  # the page longest unchecked
    error: str = ""  # of a parked page
    failure: str = ""  # of a page that failed

    @property
    def problems(self) -> list[str]:
        """What needs a person, in words."""
        found = []
        if not self.registered:
            found.append(f"{self.section} is no longer registered")
        if self.hold_reason:
            found.append(f"{self.section} is held: {self.hold_reason}")
        if self.parked:
            found.append(
                f"{self.section}: {self.parked} pages are parked: {self.error}"
            )
        if self.failed:
            found.append(
                f"{self.section}: {self.failed} dirty pages could not be built yet: "
                f"{self.failure}"
            )
        return found

    def age(self) -> float | None:
        """Return the seconds since something of it was last published."""
        if self.published_at is None:
            return None
        return (timezone.now() - self.published_at).total_seconds()


def status(site: Site) -> list[SectionStatus]:
    """Return how every section is that is registered or has pages, by name."""
    rows = {row["name"]: row for row in _rows(site)}
    return [_status(name, rows.get(name)) for name in sorted({*rows, *registry})]


def index_problems(pages: Iterable[Page]) -> list[str]:
    """Return why indexes are not as their pages are, in words.

    One that was only made dirty by a builder at work is no problem.
    """
    return [
        f"{page_name(INDEX, page.number)}.xml is not built: {page.error or _IN_VAIN}"
        for page in pages
        if page.wanted > page.built and (page.error or page.attempts >= MAX_ATTEMPTS)
    ]


def note_failure(site: Site, error: Exception) -> None:
    """Note why a refresh has failed, until the indexes are built again.

    What could not be shown under its public name has been flipped, so that no page
    says that anything is wrong.
    """
    with suppress(Error):
        indexes = Page.objects.of(site.name, INDEX)
        indexes.update(error=str(error)[:2_000], wanted=F("wanted") + 1)


_IN_VAIN = (
    "it was tried too often in vain. Mend what ends or keeps its builders, then run "
    "build_sitemaps --full"
)


def _rows(site: Site) -> list[dict[str, Any]]:
    active = Q(pages__state=State.ACTIVE)
    dirty = Q(pages__is_dirty=1)
    # Also of a plan to come, which waits for them.
    planned = dirty & ~Q(pages__state=State.RETIRED)
    parked = planned & Q(pages__attempts__gte=MAX_ATTEMPTS)
    failed = planned & Q(pages__attempts__lt=MAX_ATTEMPTS) & ~Q(pages__error="")
    sections = Section.objects.filter(site=site.name).exclude(name=INDEX)
    # One that was pruned has left nothing but the numbers that it has used.
    has_pages = Exists(Page.objects.filter(section=OuterRef("pk")))
    sections = sections.filter(has_pages | Q(name__in=list(registry)))
    found: Any = sections.values("name", "hold_reason").annotate(
        pages_=Count("pages", filter=active & Q(pages__entries__gt=0)),
        entries=Sum("pages__entries", filter=active),
        dirty=Count("pages", filter=active & dirty),
        parked=Count("pages", filter=parked),
        held_pages=Count("pages", filter=active & Q(pages__hold=Hold.HELD)),
        skipped=Sum("pages__skipped", filter=active),
        dropped=Sum("pages__dropped", filter=active),
        published_at=Max("pages__published_at", filter=active),
        checked_at=Min("pages__checked_at", filter=active),
        error=Max("pages__error", filter=parked),
        failed=Count("pages", filter=failed),
        failure=Max("pages__error", filter=failed),
    )
    return list(found)


def _status(name: str, row: dict[str, Any] | None) -> SectionStatus:
    found = SectionStatus(section=name, registered=name in registry)
    for key, value in (row or {}).items():
        if key != "name" and value is not None:
            setattr(found, "pages" if key == "pages_" else key, value)
    if found.registered:
        found.changes = count_changes(name)
    return found
