"""Noticing what no signal told: by lastmod, by start and end times, by age."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django.conf import settings
from django.db.models import DateTimeField, F, Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from django_sitemaps_plus.models import Section
from django_sitemaps_plus.models.prepared import Rows, update
from django_sitemaps_plus.models.transactions import update_pages
from django_sitemaps_plus.sources import ModelSource, Source
from django_sitemaps_plus.sources.declarations import find_field, is_indexed

from .locating import mark_all, mark_keys

#: How far before the newest lastmod a look-back begins: a transaction may commit later
#: than one that stamped its rows after it.
OVERLAP = timedelta(minutes=10)

#: How far before the last look at times the next one begins: the clock of a database or
#: of another worker may be so far behind, and have left the row as it was.
CLOCK_OVERLAP = timedelta(minutes=1)

#: Rows that a look-back takes one by one; more make the whole section dirty.
MAX_ROWS = 10_000

#: Rows up to which it counts those that it did not take one by one.
MAX_COUNT = 10 * MAX_ROWS


@dataclass(frozen=True, slots=True)
class _Known:
    """What a look-back has met, and the next one meets again.

    Attributes:
        words: key and lastmod of rows, as far as they were few enough to be named.
        until: the lastmod up to which they were too many; None if they were not.
        count: how many there were up to it, from the begin of the overlap on.
    """

    words: frozenset[str] = frozenset()
    until: Any = None
    count: int = 0

    @classmethod
    def of(cls, section: Section, field: Any) -> _Known:
        words, until, count = (
            json.loads(section.seen) if section.seen else ((), None, 0)
        )
        return cls(frozenset(words), until and field.to_python(until), count)

    def text(self) -> str:
        until = self.until and self.until.isoformat()
        return json.dumps([sorted(self.words), until, self.count])


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows of a model by lastmod, as far as it is not in the future.

    Those that a source leaves out are among them: they may have been listed before.
    """

    source: ModelSource
    field: Any
    now: datetime

    @property
    def is_date(self) -> bool:
        return not isinstance(self.field, DateTimeField)

    def newest(self) -> Any:
        """Return the latest lastmod, or None."""
        return (
            self._until(self._present()).values_list(self.field.name, flat=True).last()
        )

    def begin(self, newest: date) -> Any:
        """Return the lastmod at which the overlap before the newest begins."""
        start = _as_naive(min(_as_moment(newest), _as_aware(self.now)) - OVERLAP)
        return start.date() if self.is_date else start

    def since(self, begin: Any, after: Any) -> list[tuple[Any, Any]]:
        """Return keys and lastmods from a begin on, and behind ``after``."""
        found = self._until(self._present()).filter(
            **{f"{self.field.name}__gte": begin}
        )
        if after is not None:
            found = found.filter(**{f"{self.field.name}__gt": after})
        rows = found.values_list(self.source.key, self.field.name)
        return list(rows[: MAX_ROWS + 1])

    def count(self, begin: Any, until: Any) -> int:
        """Return how many rows there are between two lastmods, both included."""
        found = self._until(until).filter(**{f"{self.field.name}__gte": begin})
        return found[:MAX_COUNT].count()

    def _present(self) -> Any:
        if not self.is_date:
            return self.now
        today = _as_aware(self.now).astimezone(timezone.get_default_timezone())
        return today.date()

    def _until(self, moment: Any) -> QuerySet[Any]:
        name = self.field.name
        rows = self.source.every_row().order_by(name, self.source.key)
        return rows.filter(**{f"{name}__lte": moment})


def look_back(
    section: Section,
    source: Source,
    take_others: Callable[[], Collection[Any]] = frozenset,
) -> int:
    """Mark the pages of rows whose lastmod is new.

    Only where the lastmod is a column with an index; dates in the future are ignored.
    The first time nothing is marked: its pages have just been planned.

    Args:
        section: its row.
        source: what it lists.
        take_others: marks pages by other news, and returns keys whose pages it has
            marked. It is called once rows have been read, so whoever builds those
            pages reads what was read here, or what came later.

    Returns:
        How many rows were looked at.
    """
    look = _look(section, source)
    marked = take_others()
    if look is None:
        return 0
    table, known, begin, rows = look
    if section.watermark is None:
        # Dates where there were none: rows have come in since the pages were built.
        if section.pages.filter(built__gt=0).exists():
            mark_all(section)
    elif len(rows) > MAX_ROWS or _has_late_rows(table, begin, known):
        mark_all(section)
    else:
        _mark_new(section, table.source, rows, known, marked)
    _remember(section, table, rows, known)
    return len(rows)


def _look(
    section: Section, source: Source
) -> tuple[_Rows, _Known, Any, list[tuple[Any, Any]]] | None:
    """Return the table, what is known of it, where to begin, and the rows since."""
    field = _lastmod_field(source)
    if field is None or not isinstance(source, ModelSource):
        return None
    table = _Rows(source, field, timezone.now())
    newest = table.newest() if section.watermark is None else section.watermark
    if newest is None:
        return None
    known, begin = _Known.of(section, field), table.begin(newest)
    return table, known, begin, table.since(begin, known.until)


def _lastmod_field(source: Source) -> Any:
    lastmod = getattr(source, "lastmod", None)
    if not isinstance(source, ModelSource) or not isinstance(lastmod, str):
        return None
    field = find_field(source.model, lastmod)
    is_own = "__" not in lastmod
    return field if field is not None and is_own and is_indexed(field) else None


def _has_late_rows(table: _Rows, begin: Any, known: _Known) -> bool:
    if known.until is None:
        return False
    return table.count(begin, known.until) > known.count


def _mark_new(
    section: Section,
    source: ModelSource,
    rows: list[Any],
    known: _Known,
    marked: Collection[Any],
) -> None:
    new = [key for key, moment in rows if _words(key, moment) not in known.words]
    keys = [key for key in new if key not in marked]
    space = source.key_space()
    if keys and space is not None:
        mark_keys(section, space, keys)


def _remember(section: Section, table: _Rows, rows: list[Any], known: _Known) -> None:
    """Keep the newest lastmod, and the rows that the next look-back meets again."""
    until = known.until
    if len(rows) > MAX_ROWS:
        rows, until = [], table.newest()
    newest = max([_as_moment(moment) for _, moment in rows], default=None)
    newest = newest or (until and _as_moment(until)) or section.watermark
    if newest is None:
        return
    begin = table.begin(newest)
    if until is not None and until < begin:
        until = None
    words = frozenset([_words(*row) for row in rows if row[1] >= begin])
    count = 0 if until is None else table.count(begin, until)
    watermark, seen = _as_naive(_as_aware(newest)), _Known(words, until, count).text()
    if (watermark, seen) != (section.watermark, section.seen):
        section.watermark, section.seen = watermark, seen
        update(_seen, section=section.pk, watermark=watermark, seen=seen)


def _seen(section: Any, **fields: Any) -> tuple[Rows, dict[str, Any]]:
    return Section.objects.filter(pk=section), fields


def _words(key: Any, moment: Any) -> str:
    return f"{key}|{moment.isoformat()}"


def _as_moment(value: date) -> datetime:
    if isinstance(value, datetime):
        return _as_aware(value)
    return datetime.combine(value, time.min, UTC)


def _as_aware(moment: datetime) -> datetime:
    if timezone.is_aware(moment):
        return moment
    return timezone.make_aware(moment, timezone.get_default_timezone())


def _as_naive(moment: datetime) -> datetime:
    """Return a moment as the models of this project hold it."""
    if settings.USE_TZ:
        return moment
    # While pages are rendered the current time zone is another.
    return timezone.make_naive(moment, timezone.get_default_timezone())


def look_at_times(section: Section, source: Source) -> int:
    """Mark the pages of rows that have entered or left the queryset by the clock.

    One that has within the last minute is marked again, and then built as it was.

    Returns:
        How many rows were found, as far as they were taken one by one.
    """
    if not isinstance(source, ModelSource) or not (source.starts or source.ends):
        return 0
    now = timezone.now()
    since = section.schedule_checked_at
    space = source.key_space()
    keys: list[Any] = []
    if since is not None and space is not None:
        crossed = _crossed(source, since - CLOCK_OVERLAP, now)
        keys = list(crossed.values_list(source.key, flat=True)[: MAX_ROWS + 1])
        if len(keys) > MAX_ROWS:
            mark_all(section)
        elif keys:
            mark_keys(section, space, keys)
    # Marked first: a crash in between marks twice.
    Section.objects.filter(pk=section.pk).update(schedule_checked_at=now)
    return len(keys)


def _crossed(source: ModelSource, since: datetime, now: datetime) -> QuerySet[Any]:
    """Return the rows, in the queryset or no longer, whose time lay in between."""
    times = Q()
    for path in (source.starts, source.ends):
        if path:
            times |= Q(**{f"{path}__gt": since, f"{path}__lte": now})
    return source.every_row().filter(times).distinct()


def look_at_age(section: Section, source: Source) -> None:
    """Mark the pages of a source whose changes nobody tells, once they are old."""
    if source.max_age is None:
        return
    age = timedelta(seconds=source.max_age)
    old = section.pages.planned().filter(checked_at__lte=Now() - age)
    update_pages(old, [section.pk], wanted=F("wanted") + 1)
