"""Marking what is out of date: changes first, then what the clock decides."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

from django.db.models import F, Q
from django.utils import timezone

from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.models import Page, PageQuerySet, Section
from django_sitemaps_plus.models.clock import Now
from django_sitemaps_plus.section import OpenSection
from django_sitemaps_plus.sources import ModelSource
from django_sitemaps_plus.sources.reading import every_row

from .collecting import take_changes
from .locating import MAX_KEYS, mark_all, mark_rows
from .lookback import look_back

#: How far before the last look at the schedule the next one begins: the clock of a
#: database or another worker may be so far behind, and have left the row as it was.
CLOCK_OVERLAP = timedelta(minutes=1)

#: How exactly the status knows when the last build was, where no time is scheduled.
STATUS_INTERVAL = timedelta(minutes=1)

#: Pages up to which a section is compared at once, and that an audit marks at once.
AUDIT_PAGES = 64


def notice(section: OpenSection) -> None:
    """Make dirty what has changed since the last time, cheapest way first."""
    row, source = section.row, section.source
    with section.reading():
        look_back(section, partial(take_changes, section))
        mark_scheduled(section)

        if source.max_age is not None:
            age = timedelta(seconds=source.max_age)
            old = row.pages.planned().filter(checked_at__lte=Now() - age)
            old.update_locked([row.pk], wanted=F("wanted") + 1)

        # Compare a new section once more, DEPLOY_SECONDS later. Until then changes may
        # not be recorded: processes do not know of its plan yet, or watch what an
        # earlier version depends on, and transactions were open before. Audits compare
        # a section with many pages.
        early = early_pages(row)
        if early is not None and early.count() <= AUDIT_PAGES:
            early.update_locked([row.pk], wanted=F("wanted") + 1)
            end_grace(row)  # marked first: a crash in between marks twice


def mark_scheduled(section: OpenSection) -> None:
    """Mark the pages of rows that the clock has listed or not; note when, for all."""
    row, source = section.row, section.source
    now, since = timezone.now(), row.schedule_checked_at
    if isinstance(source, ModelSource) and (source.starts or source.ends):
        if since is not None:
            times, after = Q(), since - CLOCK_OVERLAP
            for path in filter(None, (source.starts, source.ends)):
                times |= Q(**{f"{path}__gt": after, f"{path}__lte": now})
            rows = every_row(source).filter(times).distinct()
            keys = list(rows.values_list(source.key, flat=True)[: MAX_KEYS + 1])
            if len(keys) > MAX_KEYS:
                mark_all(row)
            elif keys:
                mark_rows(row, section.reader, keys)
    elif since is not None and now - since <= STATUS_INTERVAL:
        return
    # Marked first: a crash in between marks twice.
    Section.objects.filter(pk=row.pk).update(schedule_checked_at=now)


def early_pages(section: Section) -> PageQuerySet | None:
    """Return the pages to compare once more, once the grace is over, else None."""
    if section.new_since is None:
        return None
    end = section.new_since + get_settings().deploy_time
    if section.now < end:
        return None
    pages: PageQuerySet = Page.objects.filter(section=section)
    return pages.planned().exclude(checked_at__gte=end)


def end_grace(section: Section) -> None:
    """Note that a section was compared once more, unless it is new again."""
    row = Section.objects.filter(pk=section.pk, new_since=section.new_since)
    row.update(new_since=None)
    section.new_since = None
