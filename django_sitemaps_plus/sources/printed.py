"""Sitemap classes of ``django.contrib.sitemaps`` as contrib's own views print them."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import cached_property
from typing import Any

from django.conf import settings
from django.contrib.sitemaps import Sitemap
from django.db.models import QuerySet
from django.utils import timezone

from django_sitemaps_plus.core.key_ranges import EVERYTHING, KeyRange

from .contrib import OwnPagesReader, SitemapReader, SitemapSource
from .contrib_fields import aware, items_of
from .fetching import instances, limited
from .querysets import pages_by_key
from .reading import reader_of


class PrintedSource(SitemapSource):
    """A contrib ``Sitemap`` as contrib's own view prints it."""

    @property
    def limit(self) -> int:  # type: ignore[override]
        """The sitemap's limit, also contrib's 50,000."""
        return self.own_limit


class PrintedReader(SitemapReader):
    """Reads the pages that contrib's index counts."""

    @property
    def planned_rows(self) -> int:
        return self.rows_per_page

    @cached_property
    def _lastmods(self) -> list[Any]:
        return []

    @cached_property
    def _zone(self) -> tzinfo | None:
        return timezone.get_current_timezone() if settings.USE_TZ else None

    @property
    def newest(self) -> date | None:
        """The newest lastmod of all rows that were rendered; None if one has none."""
        try:
            found = max(self._lastmods, default=None)
        except TypeError:
            return None
        return found if isinstance(found, date) else None

    def index_lastmod(self, seconds: int) -> Any:
        """Return what the index says; None if pages kept so long may lack that edit.

        Rows are not kept while all of them are asked. Contrib prints a naive datetime
        without its zone, which no W3C date may lack, so here it gets one.
        """
        sitemap = self.source.make()
        is_own = self.source.kind.get_latest_lastmod is not Sitemap.get_latest_lastmod
        if not is_own and callable(getattr(sitemap, "lastmod", None)):
            items = items_of(sitemap)
            if pages_by_key(items):
                items = instances(items.order_by())
            sitemap.items = lambda: items
        found = aware(sitemap.get_latest_lastmod())
        if isinstance(found, datetime):
            age = datetime.now(UTC) - found
            if timedelta() <= age < timedelta(seconds=seconds):
                return None
        return found

    def _in_range(self, rows: QuerySet[Any], key_range: KeyRange) -> QuerySet[Any]:
        # A single page keeps the order of items(), if they have one.
        if key_range != EVERYTHING or not rows.ordered:
            rows = super()._in_range(rows, key_range)
        # Some may have come since it was planned.
        return limited(rows, self.rows_per_page)

    def _lastmod(self, value: Any) -> Any:
        self._lastmods.append(value)
        if isinstance(value, datetime):
            if self._zone and value.tzinfo:
                value = value.astimezone(self._zone)
            value = value.date()
        return value.isoformat() if isinstance(value, date) else value or None


class PrintedPagesReader(PrintedReader, OwnPagesReader):
    """Reads a class that decides itself what is on which page."""


@reader_of.register
def _reader_of_printed(source: PrintedSource) -> PrintedReader:
    return (PrintedPagesReader if source.has_own_paging else PrintedReader)(source)
