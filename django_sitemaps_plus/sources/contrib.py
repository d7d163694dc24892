"""Sitemap classes of ``django.contrib.sitemaps``, used as they are."""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from functools import cached_property, partial
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
from django_sitemaps_plus.core.locations import encode_url
from django_sitemaps_plus.exceptions import StalePlanError

from .base import Source
from .columns import Getter, attempt, called
from .lines import CHUNK_ROWS, Tally
from .positions import at_positions, position
from .querysets import by_key, in_range, on_write_database, pages_by_key
from .reading import Reader, Render, reader_of

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
        ancestors = self.kind.__mro__[: self.kind.__mro__.index(Sitemap)]
        is_set = any("limit" in vars(owner) for owner in (self.given, *ancestors))
        return int(self.given.limit) if is_set else Source.limit

    @property
    def track_deletes(self) -> bool:
        """Whether deletions are noticed by signals; the sitemap may turn that off."""
        return bool(getattr(self.given, "track_deletes", True))

    @property
    def extensions(self) -> Collection[str]:  # type: ignore[override]
        """Kinds of extension element that entries may have."""
        return ["xhtml"] if self.has_own_paging or self.kind.alternates else []

    @property
    def has_own_paging(self) -> bool:
        """Whether the class decides itself what is on which page."""
        kind = self.kind
        return any(getattr(kind, it) is not getattr(Sitemap, it) for it in _OWN_PAGING)

    def make(self) -> Any:
        """Return a sitemap for one use; nothing that it remembers reaches another."""
        made = self.given() if isinstance(self.given, type) else copy.copy(self.given)
        made.limit = self.limit
        return made

    def __repr__(self) -> str:
        return f"<{self.kind.__module__}.{self.kind.__qualname__}>"


class SitemapReader(Reader[SitemapSource]):
    """Reads ``items()``: by primary key if it is a plain queryset, else by position."""

    @cached_property
    def sitemap(self) -> Any:
        """The sitemap that this reader asks."""
        return self.source.make()

    @property
    def rows_per_page(self) -> int:
        languages = len(self.sitemap._languages()) if self.sitemap.i18n else 1
        return max(1, self.source.limit // max(1, languages))

    @property
    def tracked_model(self) -> type[Model] | None:  # type: ignore[override]
        """The model of a ``GenericSitemap``; of others only ``items()`` knows it."""
        queryset: Any = getattr(self.source.given, "queryset", None)
        return queryset.model if pages_by_key(queryset) else None

    def lines_by_key(
        self, keys: Collection[Any], site: Site, tally: Tally
    ) -> Iterator[tuple[str, str]]:
        rows = self._queryset()
        if rows is None:
            return
        render = self._renderer(site, tally)
        for item in by_key(rows.filter(pk__in=keys), "pk").iterator(CHUNK_ROWS):
            yield str(item.pk), render(list(self._in_languages([item])))

    def _queryset(self) -> QuerySet[Any] | None:
        self._items: Any = self.sitemap.items()
        is_paged = pages_by_key(self._items)
        return on_write_database(self._items, None) if is_paged else None

    def _rows(self, site: Site) -> Iterable[Any]:
        # Of the _queryset() that was asked just before: items() may be slow.
        items: Iterable[Any] = self._items
        return items

    def _page(self, key_range: KeyRange, site: Site) -> Iterable[Any]:
        rows = self._queryset()
        if rows is None:
            return self._in_languages(at_positions(self._rows(site), key_range))
        found = in_range(rows, "pk", key_range)[: self.max_entries + 1]
        return self._in_languages(found.iterator(CHUNK_ROWS))

    def _in_languages(self, items: Iterable[Any]) -> Iterable[Any]:
        if not self.sitemap.i18n:
            return items
        languages = self.sitemap.get_languages_for_item
        return ((item, language) for item in items for language in languages(item))

    def _renderer(self, site: Site, tally: Tally) -> Render:
        scheme, _, host = site.origin.partition("://")
        origin = encode_url(f"{self.sitemap.get_protocol(scheme)}://{host}")
        return self._renderer_of(_getters(self.sitemap, origin), origin, tally)


class OwnPagesReader(SitemapReader):
    """Reads a class that decides itself what is on which page, by its own code."""

    has_own_paging = True
    max_entries = MAX_ENTRIES
    tracked_model = None  # a save does not say which pages it concerns

    @property
    def planned_rows(self) -> int:
        limit = self.source.limit
        return max(1, getattr(self.sitemap.paginator, "per_page", limit))

    def first_keys(
        self, step: int, site: Site, key_range: KeyRange = EVERYTHING
    ) -> Iterator[str]:
        return super().first_keys(1, site, key_range)

    def _queryset(self) -> None:
        return

    def _rows(self, site: Site) -> Iterable[Any]:
        paginator = self.sitemap.paginator
        return range(paginator.num_pages if paginator.count else 0)

    def _page(self, key_range: KeyRange, site: Site) -> Iterable[Any]:
        number = position(key_range.low or "0") + 1
        pages = self.sitemap.paginator.num_pages
        if key_range.high is None and pages > number:
            raise StalePlanError(f"there are {pages:,} pages, the plan has {number:,}")
        scheme, _, host = site.origin.partition("://")
        current = SimpleNamespace(domain=host, name=host)
        urls: Iterable[Any] = ()
        with suppress(EmptyPage):  # it has fewer pages by now
            urls = self.sitemap.get_urls(page=number, site=current, protocol=scheme)
        return urls

    def _renderer(self, site: Site, tally: Tally) -> Render:
        return self._renderer_of(_OWN_GETTERS, None, tally)


@reader_of.register
def _reader_of_sitemap(source: SitemapSource) -> SitemapReader:
    return (OwnPagesReader if source.has_own_paging else SitemapReader)(source)


def _getters(sitemap: Any, origin: str) -> dict[str, Getter]:
    """Return what takes the fields from rows: items, or items each with a language."""
    fields = {
        "location": sitemap._location,
        "lastmod": lambda row: _aware(sitemap._get("lastmod", row)),
        "changefreq": partial(sitemap._get, "changefreq"),
        "priority": partial(sitemap._get, "priority"),
    }
    if sitemap.i18n and sitemap.alternates:
        fields["alternates"] = _Alternates(sitemap, origin)
    taken: dict[int, dict[str, Any]] = {}

    def locations(rows: Sequence[Any]) -> list[Any]:
        # Row by row, as contrib does: a method may keep what the next one needs.
        taken.clear()
        for row in rows:
            taken[id(row)] = {n: attempt(get, row) for n, get in fields.items()}
        return values("location", rows)

    def values(name: str, rows: Sequence[Any]) -> list[Any]:
        return [taken[id(row)][name] for row in rows]

    return {name: partial(values, name) for name in fields} | {"location": locations}


class _Alternates:
    """Works out the alternates of an item once for the rows of all its languages."""

    def __init__(self, sitemap: Any, origin: str) -> None:
        self._sitemap, self._origin = sitemap, origin
        self._item: Any = self
        self._found: list[tuple[str, str]] = []

    def __call__(self, row: tuple[Any, str]) -> list[tuple[str, str]]:
        if row[0] is not self._item:
            self._found, self._item = self._of(row), row[0]
        return self._found

    def _of(self, row: tuple[Any, str]) -> list[tuple[str, str]]:
        sitemap, default = self._sitemap, settings.LANGUAGE_CODE
        languages = sitemap.get_languages_for_item(row[0])
        paths = {it: sitemap._location(row, it) for it in languages}
        if sitemap.x_default and default in paths:
            paths["x-default"] = paths[default].replace(f"/{default}/", "/", 1)
        return [(language, self._origin + path) for language, path in paths.items()]


def _aware(value: Any) -> Any:
    """Return a naive datetime, which contrib prints as it is, as one in TIME_ZONE."""
    if isinstance(value, datetime) and timezone.is_naive(value):
        return timezone.make_aware(value, timezone.get_default_timezone())
    return value


_OWN_GETTERS: dict[str, Getter] = {
    "location": called(lambda url: url["location"]),
    "lastmod": called(lambda url: _aware(url.get("lastmod"))),
    "changefreq": called(lambda url: url.get("changefreq")),
    "priority": called(lambda url: url.get("priority") or None),
    "alternates": called(
        lambda url: [
            (alternate["lang_code"], alternate["location"])
            for alternate in url.get("alternates", ())
        ]
    ),
}
