"""``PageSource``: the pages of a Wagtail site."""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterator
from operator import attrgetter
from typing import Any, cast
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.contenttypes.models import ContentType
from django.db.models import CharField, Exists, OuterRef, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce, Concat, Length, Substr
from django.urls import reverse_lazy
from wagtail.coreutils import WAGTAIL_APPEND_SLASH
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

#: Methods by which a type of page may have another URL than its ``url_path`` gives.
_URLS = (
    "get_sitemap_urls",
    "get_full_url",
    "get_url_parts",
    "_get_relevant_site_root_paths",
)

# The root of a site and its translations share this key.
_ROOT_KEY = "root_page__translation_key"


def _begins(begin: str, whole: str) -> dict[str, Any]:
    """Return a filter: a column holds the beginning of one of the outer query."""
    return {begin: Substr(OuterRef(whole), 1, Length(begin))}


def _root(column: str) -> Subquery:
    """Return a column of the site of a page: the one with the nearest root above it."""
    sites = WagtailSite.objects.filter(**_begins("root_page__url_path", "url_path"))
    nearest = sites.order_by("-root_page__url_path", "-is_default_site", "hostname")
    return Subquery(nearest.values(column)[:1])


def _has_locales() -> bool:
    return bool(getattr(settings, "WAGTAIL_I18N_ENABLED", False))


class PageSource(ModelSource):
    """The pages that Wagtail's own ``Sitemap`` class lists, in all locales.

    They are the live pages of one site that have no view restriction. Rows are read as
    tuples. Pages whose type overrides how its URL is made are asked for their
    ``get_sitemap_urls()``, and so are all where ``WAGTAIL_I18N_ENABLED`` is true or
    ``WAGTAIL_APPEND_SLASH`` is false.

    Attributes:
        hostname: that of the site to list; None for the default site, or, with
            ``SITES``, for the site that has the host of ours.
    """

    model = Page
    title = "title"
    hostname: str | None = None
    location = Concat(
        Value(reverse_lazy("wagtail_serve", args=[""]), output_field=CharField()),
        Substr("url_path", Length(_root("root_page__url_path")) + 1),
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
        private = PageViewRestriction.objects.filter(**_begins("page__path", "path"))
        pages = super().get_queryset().filter(~Exists(private), live=True)
        if _has_locales():
            # The nearest page above that translates the root of a site.
            roots = Page.objects.filter(
                translation_key__in=WagtailSite.objects.values(_ROOT_KEY),
                **_begins("url_path", "url_path"),
            )
            nearest = roots.order_by("-url_path").values("translation_key")[:1]
            pages = pages.alias(sitemaps_plus_root=Subquery(nearest))
            sites = WagtailSite.objects.filter(**self.site_filter)
            listed = pages.filter(sitemaps_plus_root__in=sites.values(_ROOT_KEY))
        else:
            ((name, value),) = self.site_filter.items()
            pages = pages.alias(sitemaps_plus_site=_root(name))
            listed = pages.filter(sitemaps_plus_site=value)
        return cast("QuerySet[Any]", listed)

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
    if _has_locales() or not WAGTAIL_APPEND_SLASH:
        return types
    return [
        it for it in types if any(getattr(it, n) is not getattr(Page, n) for n in _URLS)
    ]
