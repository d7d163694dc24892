"""Marking what is out of date: changes, rows with a new lastmod, rows that are due."""

from __future__ import annotations

import logging
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import Any

from django.db.models import DateTimeField, F, Q, QuerySet
from django.utils import timezone

from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.models import Page, PageQuerySet, Section
from django_sitemaps_plus.models.base import contained
from django_sitemaps_plus.models.clock import Now
from django_sitemaps_plus.outages import ends_work, in_one_line, is_outage
from django_sitemaps_plus.section import OpenSection
from django_sitemaps_plus.sources import ModelSource
from django_sitemaps_plus.sources.compiling import indexed_lastmod
from django_sitemaps_plus.sources.conditions import evaluated, moments, turned
from django_sitemaps_plus.sources.dates import as_stored
from django_sitemaps_plus.sources.reading import every_row

from .collecting import take_changes
from .deploys import PAGE, POSITION
from .locating import MAX_KEYS, compare_all, mark_all, mark_rows

logger = logging.getLogger(__name__)

#: The window before the newest lastmod in which rows are counted: a transaction may
#: commit later than another that stamped its rows after it.
WINDOW = timedelta(minutes=10)

#: Rows up to which those of the window are counted.
MAX_COUNT = 100_000

#: How long after its time a row is marked once more: the clock of a database or another
#: worker may be so far behind, and have left the row as it was.
CLOCK_OVERLAP = timedelta(minutes=1)

#: Seconds between two looks at a time whose column has no index.
SECONDS_UNINDEXED = 60

#: How exactly the status knows when the last build was, where no time is scheduled.
STATUS_INTERVAL = timedelta(minutes=1)

#: Pages up to which a section is compared at once, and that an audit marks at once.
AUDIT_PAGES = 64


def notice(section: OpenSection) -> None:
    """Make dirty what has changed since the last time, cheapest way first."""
    row, source = section.row, section.source
    with section.reading():
        look_back(section)
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
            end_grace(row)  # last: a crash in between marks twice


def look_back(section: OpenSection) -> None:
    """Mark the pages of rows whose lastmod is new, and those of recorded changes.

    The first time nothing is marked: its pages have just been planned. Changes are
    taken once rows have been read, so a build of their pages reads what was read here,
    or what came later.
    """
    row, source = section.row, section.source
    rows = look = None
    if isinstance(source, ModelSource) and (field := indexed_lastmod(source)):
        rows = _RowsByLastmod(source, field.name, not isinstance(field, DateTimeField))
        look = rows.look(row)
    marked = take_changes(section)
    if rows is None or look is None:
        return

    if row.watermark is not None:
        keys = look.new
        # Rows whose change was recorded may have come into the window, too.
        if look.more > len(set(marked).difference(keys)):
            window = rows.window(_as_moment(row.watermark))
            keys = [*keys, *window[: MAX_KEYS + 1]]
        if len(keys) > MAX_KEYS:
            compare_all(row)
        elif keys := [key for key in keys if key not in marked]:
            mark_rows(row, section.reader, keys)
    elif row.pages.filter(built__gt=0).exists():
        # The lastmod came with a deploy, or the first rows that have one came in.
        compare_all(row)

    watermark = as_stored(look.newest)
    if (watermark, look.count) != (row.watermark, row.window_count):
        row.watermark, row.window_count = watermark, look.count
        fields = {"watermark": watermark, "window_count": look.count}
        Section.objects.filter(pk=row.pk).update(**fields)


def _as_moment(value: Any) -> datetime:
    """Return a value of a column, or the watermark, as an aware moment."""
    if not isinstance(value, datetime):
        return datetime.combine(value, time.min, UTC)
    if timezone.is_aware(value):
        return value
    return timezone.make_aware(value, timezone.get_default_timezone())


@dataclass(frozen=True, slots=True)
class _RowsByLastmod:
    """All rows of a model by lastmod: those left out may have been listed before."""

    source: ModelSource
    name: str  # of the field
    is_date: bool

    def newest(self) -> datetime | None:
        """Return the latest lastmod, or None."""
        name = self.name
        last = self._until_now().order_by(name).values_list(name, flat=True).last()
        return None if last is None else _as_moment(last)

    def after(self, moment: datetime) -> list[Any]:
        """Return keys of rows behind a moment, up to one too many."""
        rows = self._until_now().filter(**{f"{self.name}__gt": self._at(moment)})
        return list(rows.values_list(self.source.key, flat=True)[: MAX_KEYS + 1])

    def look(self, row: Section) -> _Findings | None:
        """Return what there is to find; None where no row has a lastmod."""
        newest = self.newest()
        if row.watermark is None:
            if newest is None:
                return None
            return _Findings([], 0, newest, self.count(newest))
        before = _as_moment(row.watermark)
        newest = max(newest or before, before)
        # Rows are counted first: one that commits meanwhile is found now or by the next
        # look.
        count = self.count(newest)
        if newest == before:
            return _Findings([], count - row.window_count, newest, count)
        more = self.count(before) - row.window_count
        return _Findings(self.after(before), more, newest, count)

    def window(self, newest: datetime) -> QuerySet[Any]:
        """Return the keys of the rows in the window before the newest lastmod."""
        bounds = self._at(newest - WINDOW), self._at(newest)
        rows = every_row(self.source).filter(**{f"{self.name}__range": bounds})
        return rows.order_by().values_list(self.source.key, flat=True)

    def count(self, newest: datetime) -> int:
        """Return how many rows are in that window."""
        return self.window(newest)[:MAX_COUNT].count()

    def _until_now(self) -> QuerySet[Any]:
        now: Any = timezone.now()
        if self.is_date:
            now = _as_moment(now).astimezone(timezone.get_default_timezone()).date()
        return every_row(self.source).filter(**{f"{self.name}__lte": now})

    def _at(self, moment: datetime) -> Any:
        return moment.astimezone(UTC).date() if self.is_date else as_stored(moment)


@dataclass(frozen=True, slots=True)
class _Findings:
    """The findings of a look-back."""

    new: list[Any]  # keys of rows behind the watermark, up to one too many
    more: int  # rows in the window before the watermark that came since it was set
    newest: datetime  # the next watermark
    count: int  # rows in the window before that


def mark_scheduled(section: OpenSection) -> None:
    """Mark the pages of rows that the clock has listed or not; note when, for all."""
    row, now = section.row, timezone.now()
    since = row.schedule_checked_at
    is_old = since is None or now - since > STATUS_INTERVAL
    keys, kept = _turned_keys(section)
    declared = _declared_keys(section, now)
    keys.update(declared or ())
    if len(keys) > MAX_KEYS:
        mark_all(row)
    elif keys:
        mark_rows(row, section.reader, list(keys))
    if declared is not None or is_old or kept != row.moments:
        # The time is noted last: a crash in between marks twice.
        noted = {"schedule_checked_at": now, "moments": kept}
        Section.objects.filter(pk=row.pk).update(**noted)


def _declared_keys(section: OpenSection, now: datetime) -> list[Any] | None:
    """Return keys of rows whose ``starts`` or ``ends`` has passed since the last look.

    They are up to one too many, and returned once more a minute later, since clocks may
    differ. None stands for a source without these.
    """
    source, times = section.source, Q()
    if not isinstance(source, ModelSource) or not (source.starts or source.ends):
        return None
    since = section.row.schedule_checked_at or now
    for path in filter(None, (source.starts, source.ends)):
        for ago in (timedelta(), CLOCK_OVERLAP):
            times |= Q(**{f"{path}__gt": since - ago, f"{path}__lte": now - ago})
    rows = every_row(source).filter(times).distinct()
    return list(rows.values_list(source.key, flat=True)[: MAX_KEYS + 1])


def _turned_keys(
    section: OpenSection, *, is_kept: bool = True
) -> tuple[set[Any], dict[str, Any]]:
    """Return the keys of rows whose time has come, up to one too many for each time.

    Then what is to be kept of the times. Without an index on its column, one is looked
    at once a minute; at once if nothing is kept. A query that cannot be followed so far
    fails no build.
    """
    keys, row = set[Any](), section.row
    # To ask other sources for their rows may read all of them.
    if row.fingerprint.partition(" ")[2] in (PAGE, POSITION):
        return keys, {}
    kept, asked_at = dict[str, Any](), timezone.now().timestamp()
    try:
        with contained():
            space = section.reader.key_space()
            queries = section.reader.queries() if space is not None else []
            attribute = "pk" if space is None else space.attribute
            for rows, moment in [(it, one) for it in queries for one in moments(it)]:
                before = kept[moment.key] = row.moments.get(moment.key)
                is_old = before is None or asked_at - before[0] > SECONDS_UNINDEXED
                if is_kept and not (moment.is_indexed or is_old):
                    continue
                values = evaluated(rows, moment)
                if values is None or (before and before[1:] == [*map(str, values)]):
                    continue
                kept[moment.key] = [asked_at, *map(str, values)]
                if before is not None:
                    found = turned(rows, moment, before[1:], values)
                    found = found.values_list(attribute, flat=True).distinct()
                    keys.update(found[: MAX_KEYS + 1])
    except Exception as error:
        if ends_work(error) or is_outage(error):
            raise
        logger.warning(
            "The times in the query of %s cannot be followed: %s",
            section.name,
            in_one_line(error),
            extra={"action": "times_unfollowed"},
        )
        return set(), row.moments
    return keys, {key: it for key, it in kept.items() if it is not None}


def is_due(section: OpenSection, row: Section, keys: Collection[Any]) -> bool:
    """Return whether the time of some rows has come or gone since the last build."""
    with section.reading():
        section.row = row
        found, _ = _turned_keys(section, is_kept=False)
        found.update(_declared_keys(section, timezone.now()) or ())
    # More keys than are located mark the whole section.
    return len(found) > MAX_KEYS or not found.isdisjoint(keys)


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
