"""``PageSource``: the pages of a Wagtail site."""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from operator import attrgetter
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.contenttypes.models import ContentType
from django.db.models import (
    BooleanField,
    Case,
    CharField,
    Exists,
    F,
    Func,
    IntegerField,
    OuterRef,
    QuerySet,
    Value,
    When,
)
from django.db.models.functions import Coalesce, Concat, Length, Substr
from django.db.models.lookups import In
from django.urls import reverse, reverse_lazy
from django.utils.translation import get_language, override
from wagtail.coreutils import (
    WAGTAIL_APPEND_SLASH,
    get_supported_content_language_variant,
)
from wagtail.models import Page, PageViewRestriction, get_page_models
from wagtail.models import Site as WagtailSite

from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.core.key_ranges import KeyRange
from django_sitemaps_plus.sites import get_site, sample_site
from django_sitemaps_plus.sources import ModelSource, Tally, reader_of, under
from django_sitemaps_plus.sources.columns import Failed, attempt, called
from django_sitemaps_plus.sources.contrib_fields import own_getters
from django_sitemaps_plus.sources.lines import CHUNK_ROWS, describe
from django_sitemaps_plus.sources.querysets import in_range
from django_sitemaps_plus.sources.reading import ModelReader, listed_rows
from django_sitemaps_plus.sources.shapes import is_shape

#: Methods by which a type of page may have another URL than its ``url_path`` gives.
_URLS = (
    "get_sitemap_urls",
    "get_full_url",
    "get_url_parts",
    "_get_relevant_site_root_paths",
)

#: View restrictions that are constants of a query; more are a query within it.
MAX_RESTRICTIONS = 500


def _by_begin(column: Any, values: Iterable[tuple[str, Any]], default: Any) -> Case:
    """Return the value of the longest of some texts with which a column begins."""
    groups = defaultdict[tuple[int, Any], list[str]](list)
    for begin, value in values:
        groups[len(begin), value].append(begin)
    ordered = sorted(groups.items(), key=lambda group: -group[0][0])
    cases = [
        When(In(Substr(column, 1, length), begins), then=Value(value))
        for (length, value), begins in ordered
    ]
    return Case(*cases, default=default)


class _Restricted(Exists):
    """Whether a page, or one above it, has a view restriction.

    Databases without statistics plan badly what joins a table of few rows to pages. So
    restrictions, as roots, are read whenever a query is compiled: once for each page of
    the sitemap, as the query itself. They are no part of its shape.
    """

    def __init__(self, **options: Any) -> None:
        above = {"page__path": Substr(OuterRef("path"), 1, Length("page__path"))}
        super().__init__(PageViewRestriction.objects.filter(**above), **options)
        self.path: Any = F("path")

    def get_source_expressions(self) -> list[Any]:
        return [self.path, self.query]

    def set_source_expressions(self, exprs: Any) -> None:
        self.path, self.query = exprs

    def as_sql(self, compiler: Any, connection: Any, *args: Any, **options: Any) -> Any:
        if not is_shape(compiler):
            rows = PageViewRestriction.objects.using(connection.alias)
            paths = rows.values_list("page__path", flat=True)[: MAX_RESTRICTIONS + 1]
            values = [(path, True) for path in paths]
            if len(values) <= MAX_RESTRICTIONS:
                return compiler.compile(_by_begin(self.path, values, Value(False)))
        return super().as_sql(compiler, connection, *args, **options)


class _Root(NamedTuple):
    """A page with which the URLs of a site begin."""

    url_path: str
    language: str
    sites: list[dict[str, Any]]  # that it is the root of, or translates


class _OfRoot(Func):
    """A value of the nearest root above a page."""

    def __init__(self, value: Callable[[_Root], Any], default: Any, kind: Any) -> None:
        super().__init__("url_path", default, output_field=kind)
        self.value = value

    def as_sql(self, compiler: Any, connection: Any, *args: Any, **options: Any) -> Any:
        column, default = self.get_source_expressions()
        if not hasattr(compiler, "wagtail_roots"):  # of the same query
            roots = [] if is_shape(compiler) else _roots(connection.alias)
            compiler.wagtail_roots = roots
        values = [(it.url_path, self.value(it)) for it in compiler.wagtail_roots]
        return compiler.compile(_by_begin(column, values, default))


def _roots(using: str) -> list[_Root]:
    """Return the roots of all sites; with locales, those that translate them too."""
    names = {it: F(f"root_page__{it}") for it in ("url_path", "translation_key")}
    ordered = WagtailSite.objects.using(using).order_by("-is_default_site", "hostname")
    sites = defaultdict[Any, list[dict[str, Any]]](list)
    key = "translation_key" if _has_locales() else "url_path"
    for site in ordered.values("hostname", "is_default_site", **names):
        sites[site[key]].append(site)
    if not _has_locales():
        return [_Root(path, "", found[:1]) for path, found in sites.items()]
    pages = Page.objects.using(using).filter(translation_key__in=sites)
    rows = pages.values_list("url_path", "locale__language_code", "translation_key")
    return [_Root(path, code, sites[key]) for path, code, key in rows]


def _begin(root: _Root) -> str:
    """Return what the paths of pages below a root begin with."""
    language = root.language or get_language()
    with suppress(LookupError):  # the language in force is not of the content
        if get_supported_content_language_variant(get_language()) == language:
            language = get_language()
    with override(language):
        return reverse("wagtail_serve", args=[""])


def _has_locales() -> bool:
    return bool(getattr(settings, "WAGTAIL_I18N_ENABLED", False))


class PageSource(ModelSource):
    """The pages that Wagtail's own ``Sitemap`` class lists, in all locales.

    They are the live pages of one site that have no view restriction. Rows are read as
    tuples. Pages whose type overrides how its URL is made are asked for their
    ``get_sitemap_urls()``, and so are all where ``WAGTAIL_APPEND_SLASH`` is false.

    Attributes:
        hostname: that of the site to list; None for the default site, or, with
            ``SITES``, for the site that has the host of ours.
    """

    model = Page
    title = "title"
    hostname: str | None = None
    location = Concat(
        _OfRoot(
            _begin,
            Value(reverse_lazy("wagtail_serve", args=[""]), CharField()),
            CharField(),
        ),
        Substr(
            "url_path",
            _OfRoot(lambda it: len(it.url_path), Value(0), IntegerField()) + 1,
        ),
    )
    lastmod = Coalesce("last_published_at", "latest_revision_created_at")
    # Publishing, unpublishing, moving and new slugs all save the page itself.
    watch = {
        Page: under("path"),
        PageViewRestriction: lambda it: it.page.get_descendants(inclusive=True),
        WagtailSite: lambda site: Page.objects.all(),
    }

    def get_queryset(self) -> QuerySet[Any]:
        """Return the live and public pages of the site."""
        ((name, value),) = self.site_filter.items()

        def is_listed(root: _Root) -> bool:
            return any(site[name] == value for site in root.sites)

        listed = _OfRoot(is_listed, Value(False), BooleanField())
        return super().get_queryset().filter(~_Restricted(), listed, live=True)

    @property
    def site_filter(self) -> dict[str, Any]:
        """The filter of the site to list."""
        hostname = self.hostname
        if hostname is None and get_settings().sites is not None:
            hostname = urlsplit(sample_site().origin).hostname
        return {"hostname": hostname} if hostname else {"is_default_site": True}


class PageReader(ModelReader):
    """Reads columns of pages, and asks those whose type has URLs of its own."""

    @property
    def extensions(self) -> Collection[str]:
        own = super().extensions
        return list(dict.fromkeys([*own, "xhtml"])) if _asked_types() else own

    def chunks(self, key_range: KeyRange, tally: Tally) -> Iterator[str]:
        plain, asked = self._halves()
        yield from plain.chunks(key_range, tally)
        for _, lines in self._asked(in_range(asked, "pk", key_range), tally):
            yield lines

    def lines_by_key(
        self, keys: Collection[Any], tally: Tally
    ) -> Iterator[tuple[str, str]]:
        plain, asked = self._halves()
        yield from plain.lines_by_key(keys, tally)
        yield from self._asked(asked.filter(pk__in=keys), tally)

    def _halves(self) -> tuple[ModelReader, QuerySet[Any]]:
        """Return a reader of the pages that are read by columns, and the others."""
        rows, plain = self._written(listed_rows(self.source)), copy.copy(self.source)
        types = ContentType.objects.get_for_models(*_asked_types()).values()
        asked = rows.filter(content_type__in=[it.pk for it in types])
        columns = rows.exclude(content_type__in=[it.pk for it in types])
        vars(plain)["get_queryset"] = lambda: columns
        reader = ModelReader(plain)
        reader.has_excluded = True  # rows are chosen here
        reader.titles_in, reader.max_entries = self.titles_in, self.max_entries
        return reader, asked

    def _asked(self, pages: Any, tally: Tally) -> Iterator[tuple[str, str]]:
        """Yield the key of each page, and the lines of what it returns."""
        if not _asked_types():
            return
        source: Any = self.source
        own = WagtailSite.objects.filter(**source.site_filter).first()
        root = "" if own is None else own.root_url

        def locate(url: Any) -> str:
            """Return a URL below the root as its path, whatever its scheme."""
            location: str = url["location"]
            path = location.removeprefix(root)
            return path if path.startswith("/") else location

        getters = own_getters() | {"location": called(locate)}
        title = source.title
        if isinstance(title, str):
            title = attrgetter(title.replace("__", "."))
        getters["title"] = lambda urls: [attempt(title, page)] * len(urls)
        lines = self._lines(getters, get_site().origin)
        for page in pages.defer_streamfields().specific().iterator(CHUNK_ROWS):
            urls = attempt(lambda it: list(it.get_sitemap_urls()), page)
            if type(urls) is not Failed:
                rendered = lines.render(urls, tally, lambda *_, it=page: describe(it))
                yield str(page.pk), rendered
            elif lines.raises:
                raise urls.error
            else:
                tally.leave_out(describe(page), "location", urls.error)


reader_of.register(PageSource, PageReader)


def _asked_types() -> list[Any]:
    """Return the types of page that may have other URLs than that of ``url_path``."""
    types: list[Any] = get_page_models()
    if not WAGTAIL_APPEND_SLASH:
        return types
    return [
        it for it in types if any(getattr(it, n) is not getattr(Page, n) for n in _URLS)
    ]
