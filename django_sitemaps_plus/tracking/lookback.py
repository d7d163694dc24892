"""The look-back: find rows with a new lastmod, although no signal was sent."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import Any

from django.db.models import DateTimeField, QuerySet
from django.utils import timezone

from django_sitemaps_plus.models import Section
from django_sitemaps_plus.section import OpenSection
from django_sitemaps_plus.sources import ModelSource
from django_sitemaps_plus.sources.compiling import indexed_lastmod
from django_sitemaps_plus.sources.dates import as_stored
from django_sitemaps_plus.sources.reading import every_row

from .locating import MAX_KEYS, compare_all, mark_rows

#: The window before the newest lastmod in which rows are counted: a transaction may
#: commit later than another that stamped its rows after it.
WINDOW = timedelta(minutes=10)

#: Rows up to which those of the window are counted.
MAX_COUNT = 100_000


@dataclass(frozen=True, slots=True)
class _Rows:
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

    def look(self, row: Section) -> _Look | None:
        """Return what there is to find; None where no row has a lastmod."""
        newest = self.newest()
        if row.watermark is None:
            return None if newest is None else _Look([], 0, newest, self.count(newest))
        before = _as_moment(row.watermark)
        newest = max(newest or before, before)
        # Counted first: a row that commits in between is found now or by the next look.
        count = self.count(newest)
        if newest == before:
            return _Look([], count - row.window_count, newest, count)
        more = self.count(before) - row.window_count
        return _Look(self.after(before), more, newest, count)

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
class _Look:
    """The findings of a look-back."""

    new: list[Any]  # keys of rows behind the watermark, up to one too many
    more: int  # rows in the window before the watermark that came since it was set
    newest: datetime  # the next watermark
    count: int  # rows in the window before that


def look_back(
    section: OpenSection, take_changes: Callable[[], Collection[Any]] = frozenset
) -> None:
    """Mark the pages of rows whose lastmod is new, and those of recorded changes.

    The first time nothing is marked: its pages have just been planned. Changes are
    taken once rows have been read, so a build of their pages reads what was read here,
    or what came later.
    """
    row, source = section.row, section.source
    rows = look = None
    if isinstance(source, ModelSource) and (field := indexed_lastmod(source)):
        rows = _Rows(source, field.name, not isinstance(field, DateTimeField))
        look = rows.look(row)
    marked = take_changes()
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
        # Dates where there were none: by a deploy, or rows have come in since.
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
