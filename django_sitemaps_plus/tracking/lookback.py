"""Noticing what no signal told: by lastmod, by start and end times, by age."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django.conf import settings
from django.db.models import DateTimeField, F, Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from django_sitemaps_plus.models import Section
from django_sitemaps_plus.sources import ModelSource, Source
from django_sitemaps_plus.sources.declarations import find_field, is_indexed
from django_sitemaps_plus.sources.keyset import on_write_database

from .marking import locate, mark, mark_all

#: How far before the newest lastmod a look-back begins: a transaction may commit later
#: than one that stamped its rows after it.
OVERLAP = timedelta(minutes=10)

#: Rows that a look-back takes one by one; more make the whole section dirty.
MAX_ROWS = 10_000


def look_back(section: Section, source: Source) -> int:
    """Mark the pages of rows whose lastmod is new.

    Only where the lastmod is a column with an index; dates in the future are ignored.

    Returns:
        How many rows were found.
    """
    field = _lastmod_field(source)
    if field is None or not isinstance(source, ModelSource):
        return 0
    now = timezone.now()
    rows = _rows_since(section, source, field, now)
    if len(rows) > MAX_ROWS:
        mark_all(section)
    else:
        _mark_new(section, source, rows)
    _remember(section, rows[:MAX_ROWS], now)
    return len(rows)


def _lastmod_field(source: Source) -> Any:
    lastmod = getattr(source, "lastmod", None)
    if not isinstance(source, ModelSource) or not isinstance(lastmod, str):
        return None
    field = find_field(source.model, lastmod)
    is_own = "__" not in lastmod
    return field if field is not None and is_own and is_indexed(field) else None


def _rows_since(
    section: Section, source: ModelSource, field: Any, now: datetime
) -> list[tuple[Any, Any]]:
    name = field.name
    queryset = source.queryset().order_by(name, source.key)
    is_date = not isinstance(field, DateTimeField)
    today: Any = now.date() if is_date else now
    queryset = queryset.filter(**{f"{name}__lte": today})
    if section.watermark is None:
        newest = queryset.values_list(source.key, name).last()
        return [newest] if newest else []
    start = _as_naive(min(section.watermark, _as_aware(now)) - OVERLAP)
    since: Any = start.date() if is_date else start
    rows = queryset.filter(**{f"{name}__gte": since}).values_list(source.key, name)
    return list(rows[: MAX_ROWS + 1])


def _mark_new(section: Section, source: ModelSource, rows: list[Any]) -> None:
    seen = set(json.loads(section.seen)) if section.seen else set()
    keys = [key for key, moment in rows if _words(key, moment) not in seen]
    space = source.key_space()
    if not keys or space is None or section.watermark is None:
        return
    while not mark(section, locate(section, space, keys)):
        pass  # a split has moved the bounds meanwhile


def _remember(section: Section, rows: list[Any], now: datetime) -> None:
    """Keep the newest lastmod, and the rows that the next look-back meets again."""
    if not rows:
        return
    watermark = max(_as_moment(moment) for _, moment in rows)
    begin = watermark - OVERLAP
    kept = [_words(*row) for row in rows if _as_moment(row[1]) >= _floor(begin, row[1])]
    seen = json.dumps(kept)
    if (watermark, seen) != (section.watermark, section.seen):
        section.watermark, section.seen = watermark, seen
        rows_of = Section.objects.filter(pk=section.pk)
        rows_of.update(watermark=watermark, seen=seen)


def _floor(moment: datetime, like: Any) -> datetime:
    if isinstance(like, datetime):
        return moment
    return datetime.combine(moment.date(), time.min, UTC)


def _words(key: Any, moment: Any) -> str:
    return f"{key}|{moment.isoformat()}"


def _as_moment(value: date) -> datetime:
    if isinstance(value, datetime):
        return _as_aware(value)
    return datetime.combine(value, time.min, UTC)


def _as_aware(moment: datetime) -> datetime:
    return moment if timezone.is_aware(moment) else timezone.make_aware(moment)


def _as_naive(moment: datetime) -> datetime:
    """Return a moment as the models of this project hold it."""
    return moment if settings.USE_TZ else timezone.make_naive(moment)


def look_at_times(section: Section, source: Source) -> int:
    """Mark the pages of rows that have entered or left the queryset by the clock.

    Returns:
        How many rows were found.
    """
    if not isinstance(source, ModelSource) or not (source.starts or source.ends):
        return 0
    now = timezone.now()
    since = section.looked_at
    rows = Section.objects.filter(pk=section.pk)
    rows.update(looked_at=_as_aware(now))
    space = source.key_space()
    if since is None or space is None:
        return 0
    keys = list(
        _crossed(source, _as_naive(since), now).values_list(source.key, flat=True)
    )
    while keys and not mark(section, locate(section, space, keys)):
        pass  # a split has moved the bounds meanwhile
    return len(keys)


def _crossed(source: ModelSource, since: datetime, now: datetime) -> QuerySet[Any]:
    """Return the rows, in the queryset or no longer, whose time lay in between."""
    times = Q()
    for path in (source.starts, source.ends):
        if path:
            times |= Q(**{f"{path}__gt": since, f"{path}__lte": now})
    rows = on_write_database(source.model._base_manager.all(), source.using)
    return rows.filter(times).distinct()


def look_at_age(section: Section, source: Source) -> None:
    """Mark the pages of a source whose changes nobody tells, once they are old."""
    if source.max_age is None:
        return
    age = timedelta(seconds=source.max_age)
    old = section.pages.planned().filter(checked_at__lte=Now() - age)
    old.update(wanted=F("wanted") + 1)
