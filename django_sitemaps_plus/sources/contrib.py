"""Sitemap classes of ``django.contrib.sitemaps``, taken as they are."""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from functools import partial
from types import SimpleNamespace
from typing import Any

from django.conf import settings
from django.contrib.sitemaps import Sitemap
from django.core.paginator import EmptyPage
from django.db.models import Model, QuerySet
from django.utils import timezone

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.core.key_ranges import EVERYTHING, KeyRange
from django_sitemaps_plus.core.limits import MAX_ENTRIES
from django_sitemaps_plus.exceptions import StalePlanError

from .base import CHUNK_ROWS, Source, at_positions, batches, position, positions
from .keyset import (
    KeySpace,
    by_key,
    first_keys,
    in_range,
    on_write_database,
    pages_by_key,
)
from .lines import Getter, RowRenderer
from .tally import Tally

# A class that overrides one of these has its own idea of pages; only its own code
# knows what is on them.
_OWN_PAGING = ("get_urls", "_urls", "paginator")


class SitemapSource(Source):
    """A contrib ``Sitemap``; its own methods are asked for everything it lists.

    Plain model querysets are paged by primary key. Whatever else ``items()`` returns is
    paged by position, and so is a class that overrides how it is paged.

    Args:
        sitemap: an instance, or a class that can be called without arguments.
    """

    def __init__(self, sitemap: Sitemap[Any] | type[Sitemap[Any]]) -> None:
        self.given = sitemap

    @property
    def kind(self) -> type[Sitemap[Any]]:
        """The class."""
        return self.given if isinstance(self.given, type) else type(self.given)

    @property
    def limit(self) -> int:  # type: ignore[override]
        """The sitemap's own limit where it sets one; contrib's 50,000 is no choice."""
        told = not isinstance(self.given, type) and "limit" in vars(self.given)
        for ancestor in self.kind.__mro__[: self.kind.__mro__.index(Sitemap)]:
            told = told or "limit" in vars(ancestor)
        return int(self.given.limit) if told else Source.limit

    @property
    def track_deletes(self) -> bool:
        """Whether deletions are noticed by signals, unless what was given says no."""
        return bool(getattr(self.given, "track_deletes", True))

    @property
    def extensions(self) -> Collection[str]:  # type: ignore[override]
        """Kinds of extension element that entries may have."""
        return ["xhtml"] if self.has_own_paging or self.kind.alternates else []

    @property
    def has_own_paging(self) -> bool:
        """Whether the class decides itself what is on which page."""
        return any(
            getattr(self.kind, name) is not getattr(Sitemap, name)
            for name in _OWN_PAGING
        )

    def make(self) -> Any:
        """Return a sitemap for one use; nothing that it remembers reaches another."""
        made = self.given() if isinstance(self.given, type) else copy.copy(self.given)
        made.limit = self.limit
        return made

    @property
    def rows_per_page(self) -> int:
        """Rows that fill a page; a row is an entry a language."""
        sitemap = self.make()
        languages = len(sitemap._languages()) if sitemap.i18n else 1
        return max(1, self.limit // max(1, languages))

    @property
    def planned_rows(self) -> int:
        """Rows that a first plan gives a page."""
        if self.has_own_paging:
            return max(1, getattr(self.make().paginator, "per_page", self.limit))
        return super().planned_rows

    @property
    def max_entries(self) -> int:
        """Entries above which a page is too full."""
        return MAX_ENTRIES if self.has_own_paging else super().max_entries

    @property
    def tracked_model(self) -> type[Model] | None:
        """The model of a ``GenericSitemap``; of others nobody knows before items().

        None where its pages are positions: a save does not say which pages it concerns.
        """
        queryset = getattr(self.given, "queryset", None)
        if self.has_own_paging or not isinstance(queryset, QuerySet):
            return None
        return queryset.model if pages_by_key(queryset) else None

    def key_space(self) -> KeySpace | None:
        """Return what orders its keys, where ``items()`` is a plain queryset."""
        items: Any = None if self.has_own_paging else self.make().items()
        if not pages_by_key(items):
            return None
        return KeySpace(items.model, "pk", on_write_database(items, None).db)

    def first_keys(
        self, step: int, site: Site, key_range: KeyRange = EVERYTHING
    ) -> Iterator[str]:
        """Yield the key, position or page at which each page begins, as text."""
        sitemap = self.make()
        if self.has_own_paging:
            paginator = sitemap.paginator
            pages = range(paginator.num_pages if paginator.count else 0)
            return positions(pages, 1, key_range)
        items = sitemap.items()
        if pages_by_key(items):
            rows = in_range(on_write_database(items, None), "pk", key_range)
            return first_keys(rows, "pk", step)
        return positions(items, step, key_range)

    def count(self, key_range: KeyRange, site: Site) -> int:
        """Return how many rows a range has."""
        rows = self._rows(self.make(), key_range, site, limit=None)
        return sum(1 for _ in rows)

    def chunks(self, key_range: KeyRange, site: Site, tally: Tally) -> Iterator[str]:
        """Yield the lines of a page, many at a time, and count them in the tally."""
        sitemap = self.make()
        rows = self._rows(sitemap, key_range, site, self.max_entries + 1)
        renderer = self._renderer(sitemap, site)
        return batches(rows, partial(renderer.render, tally=tally))

    def lines_by_key(
        self, keys: Collection[Any], site: Site, tally: Tally
    ) -> Iterator[tuple[str, str]]:
        """Yield each row of some keys that is listed: its key, as text, and lines."""
        sitemap = self.make()
        items = sitemap.items()
        if self.has_own_paging or not pages_by_key(items):
            return
        rows = by_key(on_write_database(items, None).filter(pk__in=keys), "pk")
        renderer = self._renderer(sitemap, site)
        for item in rows.iterator(CHUNK_ROWS):
            found = [*_in_languages(sitemap, [item])] if sitemap.i18n else [item]
            yield str(item.pk), renderer.render(found, tally)

    def _renderer(self, sitemap: Any, site: Site) -> RowRenderer:
        raises = self.on_error == "raise"
        if self.has_own_paging:
            return RowRenderer(_OWN_GETTERS, None, raises)
        return RowRenderer(_getters(sitemap, site), _origin(sitemap, site), raises)

    def _rows(
        self, sitemap: Any, key_range: KeyRange, site: Site, limit: int | None
    ) -> Iterable[Any]:
        if self.has_own_paging:
            return _own_page(sitemap, key_range, site)
        items = sitemap.items()
        if pages_by_key(items):
            items = in_range(on_write_database(items, None), "pk", key_range)
            items = items[:limit].iterator(CHUNK_ROWS)
        else:
            items = at_positions(items, key_range)
        return _in_languages(sitemap, items) if sitemap.i18n else items

    def __repr__(self) -> str:
        return f"<{self.kind.__module__}.{self.kind.__qualname__}>"


def _own_page(
    sitemap: Any, key_range: KeyRange, site: Site
) -> Iterable[dict[str, Any]]:
    """Return what is on the page; nothing where it has fewer pages by now.

    Raises:
        StalePlanError: it has pages that the plan does not know.
    """
    number = position(key_range.low or "0") + 1
    pages = sitemap.paginator.num_pages
    if key_range.high is None and pages > number:
        raise StalePlanError(f"there are {pages:,} pages, the plan has {number:,}")
    scheme, _, host = site.origin.partition("://")
    current = SimpleNamespace(domain=host, name=host)
    try:
        urls: Iterable[dict[str, Any]] = sitemap.get_urls(
            page=number, site=current, protocol=scheme
        )
    except EmptyPage:
        return ()
    return urls


def _in_languages(sitemap: Any, items: Iterable[Any]) -> Iterator[tuple[Any, str]]:
    for item in items:
        for language in sitemap.get_languages_for_item(item):
            yield item, language


def _origin(sitemap: Any, site: Site) -> str:
    scheme, _, host = site.origin.partition("://")
    return f"{sitemap.get_protocol(scheme)}://{host}"


def _getters(sitemap: Any, site: Site) -> dict[str, Getter]:
    """Return what takes the fields from a row: an item, or an item and a language."""
    getters: dict[str, Getter] = {
        "location": sitemap._location,
        "lastmod": lambda row: _aware(sitemap._get("lastmod", row)),
        "changefreq": partial(sitemap._get, "changefreq"),
        "priority": partial(sitemap._get, "priority"),
    }
    if sitemap.i18n and sitemap.alternates:
        origin = _origin(sitemap, site)
        getters["alternates"] = partial(_alternates, sitemap, origin)
    return getters


def _alternates(
    sitemap: Any, origin: str, row: tuple[Any, str]
) -> list[tuple[str, str]]:
    languages = sitemap.get_languages_for_item(row[0])
    found = [
        (language, origin + sitemap._location(row, language)) for language in languages
    ]
    default = settings.LANGUAGE_CODE
    if sitemap.x_default and default in languages:
        path = sitemap._location(row, default).replace(f"/{default}/", "/", 1)
        found.append(("x-default", origin + path))
    return found


def _aware(value: Any) -> Any:
    """Return a naive datetime, which contrib prints as it is, as one in TIME_ZONE."""
    if isinstance(value, datetime) and timezone.is_naive(value):
        return timezone.make_aware(value, timezone.get_default_timezone())
    return value


_OWN_GETTERS: dict[str, Getter] = {
    "location": lambda url: url["location"],
    "lastmod": lambda url: _aware(url.get("lastmod")),
    "changefreq": lambda url: url.get("changefreq"),
    "priority": lambda url: url.get("priority") or None,
    "alternates": lambda url: [
        (alternate["lang_code"], alternate["location"])
        for alternate in url.get("alternates", ())
    ],
}
