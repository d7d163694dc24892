"""The schedule: pages out of date by the clock: start and end times, age, the start."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.db.models import F, Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from django_sitemaps_plus.models import Section
from django_sitemaps_plus.models.transactions import update_pages
from django_sitemaps_plus.sources import ModelSource, Source, reader_of
from django_sitemaps_plus.sources.rows import every_row

from .locating import mark_all, mark_keys

#: How far before the last look at the schedule the next one begins: the clock of a
#: database or another worker may be so far behind, and have left the row as it was.
CLOCK_OVERLAP = timedelta(minutes=1)

#: How exactly the status knows when the last build was, where no time is scheduled.
STATUS_INTERVAL = timedelta(minutes=1)

#: Rows that are located one by one; more make the whole section dirty.
MAX_ROWS = 10_000


#: How long no change may be recorded after a first plan: processes do not know of it
#: yet, and transactions were open before.
FIRST_GRACE = timedelta(minutes=1)


def mark_scheduled(section: Section, source: Source) -> None:
    """Mark the pages of rows that have entered or left the queryset by the clock.

    Note the time of this build for the status too.
    """
    now, since = timezone.now(), section.schedule_checked_at
    if not isinstance(source, ModelSource) or not (source.starts or source.ends):
        if since is None or now - since > STATUS_INTERVAL:
            Section.objects.filter(pk=section.pk).update(schedule_checked_at=now)
        return
    space = reader_of(source).key_space()
    if since is not None and space is not None:
        crossed = _crossed(source, since - CLOCK_OVERLAP, now)
        keys = list(crossed.values_list(source.key, flat=True)[: MAX_ROWS + 1])
        if len(keys) > MAX_ROWS:
            mark_all(section)
        elif keys:
            mark_keys(section, space, keys)
    # Marked first: a crash in between marks twice.
    Section.objects.filter(pk=section.pk).update(schedule_checked_at=now)


def _crossed(source: ModelSource, since: datetime, now: datetime) -> QuerySet[Any]:
    """Return the rows, in the queryset or no longer, whose time lay in between."""
    times = Q()
    for path in (source.starts, source.ends):
        if path:
            times |= Q(**{f"{path}__gt": since, f"{path}__lte": now})
    return every_row(source).filter(times).distinct()


def mark_old(section: Section, source: Source) -> None:
    """Mark the pages that reached the ``max_age`` of their source."""
    if source.max_age is None:
        return
    age = timedelta(seconds=source.max_age)
    old = section.pages.planned().filter(checked_at__lte=Now() - age)
    update_pages(old, [section.pk], wanted=F("wanted") + 1)


def mark_first(section: Section) -> None:
    """Mark, once the first grace is over, the pages that were built before its end."""
    if section.planned_at is None:
        return
    row = Section.objects.filter(pk=section.pk, planned_at__lte=Now() - FIRST_GRACE)
    if row.exists():
        end = section.planned_at + FIRST_GRACE
        early = section.pages.planned().exclude(checked_at__gte=end)
        update_pages(early, [section.pk], wanted=F("wanted") + 1)
        row.update(planned_at=None)  # marked first: a crash in between marks twice
