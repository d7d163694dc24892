"""Sitemap classes of ``django.contrib.sitemaps``, used as they are."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import datetime
from functools import partial
from types import SimpleNamespace
from typing import Any

from django.conf import settings
from django.contrib.sitemaps import Sitemap
from django.core.paginator import EmptyPage
from django.db.models import Model
from django.utils import timezone

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.core.key_ranges import EVERYTHING, KeyRange
from django_sitemaps_plus.core.limits import MAX_ENTRIES
from django_sitemaps_plus.exceptions import StalePlanError

from .base import Source
from .columns import Failed, Getter, attempt, called
from .keys import KeySpace
from .lines import CHUNK_ROWS, Tally, lines_of
from .positions import at_positions, position, positions
from .querysets import (
    batches,
    by_key,
    first_keys,
    in_range,
    on_write_database,
    pages_by_key,
)
from .reading import Reader, reader_of

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
        return any(
            getattr(self.kind, name) is not getattr(Sitemap, name)
            for name in _OWN_PAGING
        )

    def make(self) -> Any:
        """Return a sitemap for one use; nothing that it remembers reaches another."""
        made = self.given() if isinstance(self.given, type) else copy.copy(self.given)
        made.limit = self.limit
        return made

    def __repr__(self) -> str:
        return f"<{self.kind.__module__}.{self.kind.__qualname__}>"


class SitemapReader(Reader[SitemapSource]):
    """Reads ``items()``: by primary key if it is a plain queryset, else by position."""

    @property
    def rows_per_page(self) -> int:
        sitemap = self.source.make()
        languages = len(sitemap._languages()) if sitemap.i18n else 1
        return max(1, self.source.limit // max(1, languages))

    @property
    def tracked_model(self) -> type[Model] | None:  # type: ignore[override]
        """The model of a ``GenericSitemap``; of others only ``items()`` knows it."""
        queryset: Any = getattr(self.source.given, "queryset", None)
        return queryset.model if pages_by_key(queryset) else None

    def key_space(self) -> KeySpace | None:
        items = self.source.make().items()
        if not pages_by_key(items):
            return None
        return KeySpace(items.model, "pk", on_write_database(items, None).db)

    def first_keys(
        self, step: int, site: Site, key_range: KeyRange = EVERYTHING
    ) -> Iterator[str]:
        items = self.source.make().items()
        if not pages_by_key(items):
            return positions(items, step, key_range)
        rows = in_range(on_write_database(items, None), "pk", key_range)
        return first_keys(rows, "pk", step)

    def count(self, key_range: KeyRange, site: Site) -> int:
        return sum(1 for _ in self._rows_in(self.source.make(), key_range, site))

    def chunks(self, key_range: KeyRange, site: Site, tally: Tally) -> Iterator[str]:
        sitemap = self.source.make()
        rows = self._rows_in(sitemap, key_range, site, self.max_entries + 1)
        return map(self._lines(sitemap, site, tally), batches(rows))

    def lines_by_key(
        self, keys: Collection[Any], site: Site, tally: Tally
    ) -> Iterator[tuple[str, str]]:
        if self.key_space() is None:
            return
        sitemap = self.source.make()
        items = on_write_database(sitemap.items(), None)
        rows = by_key(items.filter(pk__in=keys), "pk")
        lines = self._lines(sitemap, site, tally)
        for item in rows.iterator(CHUNK_ROWS):
            found = [*_in_languages(sitemap, [item])] if sitemap.i18n else [item]
            yield str(item.pk), lines(found)

    def _rows_in(
        self, sitemap: Any, key_range: KeyRange, site: Site, limit: int | None = None
    ) -> Iterable[Any]:
        items = sitemap.items()
        if pages_by_key(items):
            items = in_range(on_write_database(items, None), "pk", key_range)
            items = items[:limit].iterator(CHUNK_ROWS)
        else:
            items = at_positions(items, key_range)
        return _in_languages(sitemap, items) if sitemap.i18n else items

    def _lines(
        self, sitemap: Any, site: Site, tally: Tally
    ) -> Callable[[list[Any]], str]:
        raises, origin = self.source.on_error == "raise", _origin(sitemap, site)
        lines = lines_of(_getters(sitemap, origin), origin, raises)
        return partial(lines.render, tally=tally)


class OwnPagesReader(SitemapReader):
    """Reads a class that decides itself what is on which page, by its own code.

    A save does not say which pages it concerns, so no model is tracked.
    """

    has_own_paging = True
    max_entries = MAX_ENTRIES
    tracked_model = None

    @property
    def planned_rows(self) -> int:
        limit = self.source.limit
        return max(1, getattr(self.source.make().paginator, "per_page", limit))

    def key_space(self) -> None:
        """Return None: the bounds of a page are its number and the next."""
        return

    def first_keys(
        self, step: int, site: Site, key_range: KeyRange = EVERYTHING
    ) -> Iterator[str]:
        paginator = self.source.make().paginator
        pages = range(paginator.num_pages if paginator.count else 0)
        return positions(pages, 1, key_range)

    def _rows_in(
        self, sitemap: Any, key_range: KeyRange, site: Site, limit: int | None = None
    ) -> Iterable[Any]:
        return _own_page(sitemap, key_range, site)

    def _lines(
        self, sitemap: Any, site: Site, tally: Tally
    ) -> Callable[[list[Any]], str]:
        lines = lines_of(_OWN_GETTERS, None, self.source.on_error == "raise")
        return partial(lines.render, tally=tally)


@reader_of.register
def _reader_of_sitemap(source: SitemapSource) -> SitemapReader:
    return (OwnPagesReader if source.has_own_paging else SitemapReader)(source)


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


def _getters(sitemap: Any, origin: str) -> dict[str, Getter]:
    """Return what takes the fields from rows: items, or items each with a language."""
    getters = {
        "location": called(sitemap._location),
        "lastmod": called(lambda row: _aware(sitemap._get("lastmod", row))),
        "changefreq": called(partial(sitemap._get, "changefreq")),
        "priority": called(partial(sitemap._get, "priority")),
    }
    if sitemap.i18n and sitemap.alternates:
        versions = _Versions(sitemap, origin)
        getters |= {"location": versions.paths, "alternates": versions.alternates}
    return getters


class _Versions:
    """The paths of items in their languages, each asked for once in a batch."""

    def __init__(self, sitemap: Any, origin: str) -> None:
        self._sitemap = sitemap
        self._origin = origin
        self._known: dict[tuple[int, str], Any] = {}

    def paths(self, rows: Sequence[tuple[Any, str]]) -> list[Any]:
        """Return the path of each item in its language."""
        self._known.clear()
        return [self._path(item, language) for item, language in rows]

    def alternates(self, rows: Sequence[tuple[Any, str]]) -> list[Any]:
        """Return the versions of each item."""
        items = {id(item): item for item, _ in rows}
        found = {key: attempt(self._versions, item) for key, item in items.items()}
        return [found[id(item)] for item, _ in rows]

    def _versions(self, item: Any) -> list[tuple[str, str]]:
        languages = self._sitemap.get_languages_for_item(item)
        paths = {language: self._path(item, language) for language in languages}
        for path in paths.values():
            if type(path) is Failed:
                raise path.error
        found = [(language, self._origin + paths[language]) for language in languages]
        default = settings.LANGUAGE_CODE
        if self._sitemap.x_default and default in paths:
            path = paths[default].replace(f"/{default}/", "/", 1)
            found.append(("x-default", self._origin + path))
        return found

    def _path(self, item: Any, language: str) -> Any:
        key = id(item), language
        if key not in self._known:
            self._known[key] = attempt(self._sitemap._location, (item, language))
        return self._known[key]


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
