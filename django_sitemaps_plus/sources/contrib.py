"""Sitemap classes of ``django.contrib.sitemaps``, used as they are."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import nullcontext, suppress
from datetime import datetime
from functools import cached_property
from typing import Any

from django.contrib.sitemaps import GenericSitemap, Sitemap
from django.core.paginator import EmptyPage
from django.db.models import Model, Q, QuerySet
from django.utils.translation import override

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.core.key_ranges import EVERYTHING, KeyRange
from django_sitemaps_plus.core.limits import MAX_ENTRIES, MAX_NEWS
from django_sitemaps_plus.exceptions import ConfigurationError, StalePlanError
from django_sitemaps_plus.sites import django_site, get_site, sample_site

from . import querysets
from .base import Source
from .columns import called
from .contrib_fields import (
    Fields,
    aware,
    contrib_origin,
    items_of,
    methods_of,
    models_of,
    own_getters,
)
from .dependencies import dependence
from .fields import NAMESPACE_OF
from .keys import KeySpace, has_text, key_field
from .lines import CHUNK_ROWS, Lines, Tally, describe
from .reading import Reader, reader_of, without_repeated

#: Items up to which a live index asks each for its lastmod.
MAX_DATED_ITEMS = 100

# A class that overrides one of these has its own idea of pages; only its own code
# knows what is on them.
_OWN_PAGING = ("get_urls", "_urls", "paginator", "_items")


class SitemapSource(Source):
    """A contrib ``Sitemap``; its own methods are asked for everything it lists.

    Plain model querysets are paged by primary key. Other ``items()`` are paged by
    position, and so is a class that overrides how it is paged.

    Args:
        sitemap: an instance, or what can be called without arguments to make one: a
            class, or any other callable.
    """

    def __init__(self, sitemap: Sitemap[Any] | Callable[[], Sitemap[Any]]) -> None:
        self.given = sitemap
        #: The models that it lists; None until a build has asked ``items()``, save for
        #: a ``GenericSitemap``.
        self.models = None
        with suppress(Exception):  # a property may need rows, or a request
            self.models = models_of(getattr(sitemap, "queryset", None)) or None

    @cached_property
    def sample(self) -> Any:
        """The class, or an instance, from which attributes are read."""
        given = self.given
        return given if isinstance(given, type | Sitemap) else self._made()

    @property
    def kind(self) -> type[Sitemap[Any]]:
        """The class."""
        return self.sample if isinstance(self.sample, type) else type(self.sample)

    @property
    def limit(self) -> int:  # type: ignore[override]
        """The sitemap's own limit where it sets one; contrib's 50,000 is no choice."""
        ancestors = self.kind.__mro__[: self.kind.__mro__.index(Sitemap)]
        if any("limit" in vars(owner) for owner in (self.sample, *ancestors)):
            return self.own_limit
        return MAX_NEWS if "news" in methods_of(self.sample) else Source.limit

    @property
    def own_limit(self) -> int:
        """The sitemap's limit, which may be a property of its class."""
        limit: Any = self.sample.limit
        return int(self._made().limit if hasattr(limit, "__get__") else limit)

    @property
    def max_age(self) -> int | None:  # type: ignore[override]
        """The sitemap's own; without one, an hour where no changes are noticed."""
        age: int | None = None if self.models else Source.max_age
        return getattr(self.sample, "max_age", age)

    @property
    def sites(self) -> Collection[str | int] | None:  # type: ignore[override]
        """The sitemap's own list of names; without it, it is on all sites."""
        names = getattr(self.given, "sites", None)
        return names if isinstance(names, list | tuple | set | frozenset) else None

    @property
    def live(self) -> bool:  # type: ignore[override]
        """Whether the sitemap says so; any other ``live`` is its own affair."""
        with suppress(Exception):  # a callable may fail, and a build says why
            return getattr(self.sample, "live", False) is True
        return False

    @property
    def track_deletes(self) -> bool:
        """Whether deletions are noticed by signals; the sitemap may turn that off."""
        return bool(getattr(self.sample, "track_deletes", True))

    @property
    def extensions(self) -> Collection[str]:  # type: ignore[override]
        """Kinds of extension element that entries may have."""
        if self.has_own_paging:
            return ["xhtml"]
        names = {*methods_of(self.sample)}
        if self.sample.alternates:
            names.add("alternates")
        return sorted(NAMESPACE_OF[name] for name in names)

    @property
    def has_own_paging(self) -> bool:
        """Whether the class decides itself what is on which page."""
        kind = self.kind
        return any(getattr(kind, it) is not getattr(Sitemap, it) for it in _OWN_PAGING)

    @property
    def may_have_lastmod(self) -> bool:
        """Whether entries may have one; what a callable makes is not asked."""
        given = self.given
        if not isinstance(given, type | Sitemap) or self.has_own_paging:
            return True
        lastmod: Any = getattr(given, "lastmod", None)
        if getattr(lastmod, "__func__", None) is GenericSitemap.lastmod:
            lastmod = lastmod.__self__.date_field
        return lastmod is not None

    def make(self) -> Any:
        """Return a sitemap for one use; nothing that it remembers reaches another."""
        made, limit = self._made(), self.limit
        with suppress(AttributeError):  # as of a property, which gives it by itself
            made.limit = limit
        return made

    def _made(self) -> Any:
        given = self.given
        made = copy.copy(given) if isinstance(given, Sitemap) else given()
        if not isinstance(made, Sitemap):
            raise ConfigurationError(
                f"{given!r} returns {made!r}. Return an instance of a Sitemap class."
            )
        return made

    def listed_models(self) -> tuple[type[Model], ...] | None:
        """Ask ``items()`` which models it lists; None where it lists nothing yet.

        A class with its own paging need not have any that works.
        """
        with suppress(Exception) if self.has_own_paging else nullcontext():
            return models_of(items_of(self.make()))
        return ()

    def __repr__(self) -> str:
        given: Any = self.given
        named = given if hasattr(given, "__qualname__") else type(given)
        return f"<{named.__module__}.{named.__qualname__}>"


class SitemapReader(Reader[SitemapSource]):
    """Reads ``items()``: by primary key if it is a plain queryset, else by position."""

    @cached_property
    def sitemap(self) -> Any:
        """The sitemap that this reader asks."""
        return self.source.make()

    @cached_property
    def _languages(self) -> int:  # type: ignore[override]
        return max(1, len(self.sitemap._languages()) if self.sitemap.i18n else 1)

    @property
    def tracked_models(self) -> tuple[type[Model], ...]:  # type: ignore[override]
        return self.source.models or ()

    @property
    def rows_depend(self) -> bool:  # type: ignore[override]
        rows = self._rows()
        return querysets.pages_by_key(rows) and bool(dependence(rows, rows))

    @property
    def has_titles(self) -> bool:
        return True

    def latest_lastmod(self, until: datetime) -> Any:
        sitemap, kind = self.sitemap, self.source.kind
        is_own = kind.get_latest_lastmod is not Sitemap.get_latest_lastmod
        if not is_own and callable(getattr(sitemap, "lastmod", None)):
            # Contrib's method would ask all items, one by one.
            items = items_of(sitemap)
            if querysets.pages_by_key(items):
                items = querysets.on_write_database(items, None).order_by()
            items = list(items[: MAX_DATED_ITEMS + 1])
            if len(items) > MAX_DATED_ITEMS:
                return None
            sitemap.items = lambda: items
        return aware(sitemap.get_latest_lastmod())

    def key_space(self) -> KeySpace | None:
        rows = self._rows()
        if not querysets.pages_by_key(rows):
            return None
        return KeySpace(rows.model, "pk", rows.db)

    def chunks(self, key_range: KeyRange, tally: Tally) -> Iterator[str]:
        rows = self._rows()
        render = self._renderer(rows, tally)
        if querysets.pages_by_key(rows):
            rows = self._in_range(self._written(rows), key_range)
            items = querysets.instances(querysets.limited(rows, self.max_entries + 1))
        else:
            items = querysets.at_positions(rows, key_range)
        # To make some items, and then to ask these, takes a quarter less than in turn.
        for batch in querysets.batches(items, max(1, CHUNK_ROWS // self._languages)):
            yield render(batch)

    def lines_by_key(
        self, keys: Collection[Any], tally: Tally
    ) -> Iterator[tuple[str, str]]:
        rows = self._rows()
        if not querysets.pages_by_key(rows):
            return
        render = self._renderer(rows, tally)
        rows = self._written(querysets.narrowed(rows, Q(pk__in=keys)))
        for item in querysets.instances(querysets.by_key(rows, "pk")):
            if hasattr(item, "pk"):  # a class that fetches rows may give anything
                yield str(item.pk), render([item])

    def _rows(self) -> Iterable[Any]:
        items: Iterable[Any] = querysets.listing(items_of(self.sitemap), "items()")
        if not querysets.pages_by_key(items):
            return items
        rows = querysets.on_write_database(items, None)
        key = key_field(rows.model, "pk")
        if has_text(key, lambda: querysets.keys_of(rows, "pk").first()):
            return rows
        ordered = rows if rows.ordered else querysets.by_key(rows, "pk")
        return querysets.instances(ordered)

    def _in_range(self, rows: QuerySet[Any], key_range: KeyRange) -> QuerySet[Any]:
        return querysets.in_range(rows, "pk", key_range)

    def _lastmod(self, value: Any) -> Any:
        return aware(value)

    def _renderer(self, rows: object, tally: Tally) -> Callable[[Sequence[Any]], str]:
        """Return what makes the lines of some of the rows, in all their languages."""
        origin = contrib_origin(self.sitemap, get_site())
        title = self._title if self.titles_in is not None else None
        fields = Fields(self.sitemap, origin, self._lastmod, title)
        lines = self._lines(fields.getters, origin)
        if isinstance(rows, QuerySet):
            lines = without_repeated(lines, rows)

        def render(items: Sequence[Any]) -> str:
            asked, values = fields.rows(items)
            return lines.render(values, tally, lambda _, row: describe(asked[row]))

        return render

    def _title(self, item: Any) -> Any:
        """Return what the sitemap's own method says of an item, else the text of a row.

        With languages, it comes with one of them.
        """
        if isinstance(item, tuple) and self.sitemap.i18n:
            item, *_ = item
        title = getattr(self.sitemap, "title", None)
        with override(self.titles_in):
            if callable(title):
                return title(item)
            return str(item) if isinstance(item, Model) else None


class OwnPagesReader(SitemapReader):
    """Reads a class that decides itself what is on which page, by its own code."""

    has_own_paging = True
    max_entries = MAX_ENTRIES
    chunks = Reader.chunks
    lines_by_key = Reader.lines_by_key
    key_space = Reader.key_space

    @property
    def planned_rows(self) -> int:
        return max(1, getattr(self._paginator(), "per_page", self.source.limit))

    def first_keys(self, step: int, key_range: KeyRange = EVERYTHING) -> Iterator[str]:
        return super().first_keys(1, key_range)

    def _rows(self) -> Iterable[Any]:
        paginator = self._paginator()
        return range(paginator.num_pages if paginator.count else 0)

    def _page(self, key_range: KeyRange) -> Iterable[Any]:
        number, urls = querysets.position(key_range.low or "0") + 1, list[Any]()
        with suppress(EmptyPage):  # it has fewer pages by now
            urls = self._urls(number, get_site())
        if key_range.high is None and (pages := self._paginator().num_pages) > number:
            raise StalePlanError(f"there are {pages:,} pages, the plan has {number:,}")
        return urls

    def _paginator(self) -> Any:
        """Return what cuts its pages.

        Its ``items()`` may need what ``get_urls()`` keeps, which contrib asks first.
        """
        try:
            return self.sitemap.paginator
        except Exception:  # noqa: BLE001 - its items() may raise anything
            self._urls(1, sample_site())
            return self.sitemap.paginator

    def _urls(self, number: int, site: Site) -> list[Any]:
        scheme, current = site.origin.partition("://")[0], django_site(site)
        # Now: a generator would not have kept the site yet.
        return [*self.sitemap.get_urls(page=number, site=current, protocol=scheme)]

    def _writer(self) -> Lines:
        title = called(lambda url: self._title(url.get("item")))
        return self._lines(own_getters(self._lastmod) | {"title": title}, None)


@reader_of.register
def _reader_of_sitemap(source: SitemapSource) -> SitemapReader:
    return (OwnPagesReader if source.has_own_paging else SitemapReader)(source)
