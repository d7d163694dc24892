"""Views to import in the place of those of ``django.contrib.sitemaps``.

They take the same arguments and answer the same URLs with the same entries. They add
validators, single flight and pages by key range, and no row breaks a page.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import cache, cached_property, partial, reduce
from inspect import unwrap
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from django.conf import settings
from django.contrib.sitemaps import Sitemap, views
from django.contrib.sitemaps.views import SitemapIndexItem, x_robots_tag
from django.contrib.sites.shortcuts import get_current_site
from django.core.exceptions import BadRequest, ObjectDoesNotExist
from django.core.paginator import EmptyPage, Paginator
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.template import TemplateDoesNotExist
from django.template.backends.django import DjangoTemplates
from django.template.loader import get_template
from django.template.response import TemplateResponse
from django.urls import get_script_prefix, get_urlconf
from django.utils import timezone, translation
from django.utils.cache import get_conditional_response, set_response_etag
from django.utils.http import http_date

from django_sitemaps_plus.conf import DEFAULT_SITE, Site, get_settings
from django_sitemaps_plus.core.documents import render_urlset
from django_sitemaps_plus.core.gzip import Document, inflate, write_document
from django_sitemaps_plus.core.key_ranges import EVERYTHING, KeyRange
from django_sitemaps_plus.core.locations import encode_url
from django_sitemaps_plus.models.claims import heartbeat
from django_sitemaps_plus.planning import Plan, first_plan
from django_sitemaps_plus.section import open_section
from django_sitemaps_plus.serving import live
from django_sitemaps_plus.serving.single_flight import SingleFlight
from django_sitemaps_plus.sources import Tally, as_requested, reader_of
from django_sitemaps_plus.sources.contrib import (
    OwnPagesReader,
    SitemapReader,
    SitemapSource,
)
from django_sitemaps_plus.sources.contrib_fields import aware, items_of
from django_sitemaps_plus.sources.querysets import instances, limited, pages_by_key
from django_sitemaps_plus.views.responses import read_only, respond
from django_sitemaps_plus.views.sitemaps import put_off

__all__ = ["SitemapIndexItem", "index", "sitemap", "x_robots_tag"]

_contrib: Any = views  # its types know dicts of sitemaps only

#: Where contrib has them, whether its app is installed or not.
_TEMPLATES = Path(views.__file__).parent / "templates"


@dataclass(frozen=True, slots=True)
class _Answer:
    """The print of contrib's default template, and the header it would have."""

    document: Document
    last_modified: str | None


@read_only
@x_robots_tag
@put_off
def index(
    request: HttpRequest,
    sitemaps: Mapping[str, Any],
    template_name: Any = "sitemap_index.xml",
    content_type: str = "application/xml",
    sitemap_url_name: str = "django.contrib.sitemaps.views.sitemap",
) -> HttpResponse:
    """Answer with the index of a dict of sitemaps, as contrib's view does."""
    visit = _Visit(request, sitemaps)
    if not _is_contribs(template_name, "sitemap_index.xml"):
        arguments = (template_name, content_type, sitemap_url_name)
        return _with_etag(request, visit.index(*arguments))
    render = partial(visit.printed_index, content_type, sitemap_url_name)
    answer = visit.kept(_Answer, render, content_type, sitemap_url_name)
    return _respond(request, answer, content_type)


@read_only
@x_robots_tag
@put_off
def sitemap(
    request: HttpRequest,
    sitemaps: Mapping[str, Any],
    section: str | None = None,
    template_name: Any = "sitemap.xml",
    content_type: str = "application/xml",
) -> HttpResponse:
    """Answer with a page of one sitemap or of all, as contrib's view does.

    Raises:
        Http404: there is no such section or page.
    """
    if section is not None and section not in sitemaps:
        raise Http404(f"No sitemap available for section: {section!r}")
    if not _is_contribs(template_name, "sitemap.xml"):
        arguments = (sitemaps, section, template_name, content_type)
        return _with_etag(request, _contrib.sitemap(request, *arguments))
    page = request.GET.get("p", "1")
    names = tuple(sitemaps) if section is None else (section,)
    try:
        number = int(page)
    except ValueError as error:
        raise Http404(f"No page '{page}'") from error
    visit = _Visit(request, sitemaps)
    try:
        render = partial(visit.printed_page, names, number)
        answer = visit.kept(_Answer, render, names, number)
    except EmptyPage as error:
        raise Http404(f"Page {page} empty") from error
    return _respond(request, answer, content_type)


def _is_contribs(template_name: Any, default: str) -> bool:
    """Return whether a template is contrib's: a project may have one of its name."""
    if template_name != default:
        return False
    try:
        template: Any = get_template(default)
    except TemplateDoesNotExist:
        return True
    return _TEMPLATES in Path(template.origin.name).parents


@cache
def _contribs_index() -> Any:
    """Return contrib's template of the index, which may not be installed."""
    options = {"NAME": "contrib", "DIRS": [_TEMPLATES], "APP_DIRS": False}
    return DjangoTemplates(options | {"OPTIONS": {}}).get_template("sitemap_index.xml")


def _with_etag(request: HttpRequest, response: Any) -> HttpResponse:
    def condition(rendered: HttpResponse) -> HttpResponse | None:
        set_response_etag(rendered)
        return get_conditional_response(request, rendered.get("ETag"), None, rendered)

    if not _is_of_project(request):
        response.add_post_render_callback(condition)
    return cast(HttpResponse, response)


def _respond(request: HttpRequest, answer: _Answer, content_type: str) -> HttpResponse:
    if _is_of_project(request):
        xml = SimpleNamespace(render=lambda *_: inflate(answer.document.gzip).decode())
        response: Any = TemplateResponse(request, cast(Any, xml), {}, content_type)
    else:
        response = respond(request, answer.document, False, content_type)
        del response["Cache-Control"]  # a decorator may want to say that
    if answer.last_modified:
        response["Last-Modified"] = answer.last_modified
    return cast(HttpResponse, response)


def _is_of_project(request: HttpRequest) -> bool:
    """Return whether a view or decorator of the project calls ours.

    It may read, keep or change the document, so it gets the whole of it, as contrib's.
    """

    view: Any = getattr(request.resolver_match, "func", None)
    known = "django.", "django_sitemaps_plus."
    while getattr(view, "__globals__", {}).get("__name__", "").startswith(known):
        if view in (unwrap(index), unwrap(sitemap)):
            return False
        view = getattr(view, "__wrapped__", None)
    return True


class _Visit:
    """A request, and what is kept for others like it."""

    def __init__(self, request: HttpRequest, sitemaps: Mapping[str, Any]) -> None:
        self.request, self.sitemaps = request, sitemaps
        try:
            origin = f"{request.scheme}://{get_current_site(request).domain}"
            self.site = Site(DEFAULT_SITE, encode_url(origin), get_script_prefix())
        except ValueError as error:  # Django lets ports above 65,535 pass
            raise BadRequest(str(error)) from error
        except ObjectDoesNotExist as error:  # without SITE_ID, the host decides
            raise Http404("No site has this host") from error
        # A view of the project may pass what depends on anything, so it is not kept.
        match = request.resolver_match
        is_of_url = match and match.kwargs.get("sitemaps") is sitemaps
        self.seconds = get_settings().live_cache if is_of_url else 0

    def kept(self, kind: type[Any], compute: Callable[[], Any], *parts: Any) -> Any:
        """Return what is kept of all that may decide it, or what is computed now."""

        def is_small(value: _Answer | Plan) -> bool:
            return isinstance(value, Plan) or len(value.document.gzip) < live.MAX_BYTES

        key = self._key(kind, *parts)
        with as_requested():
            return SingleFlight(key, kind, self.seconds, compute, is_small).value()

    def _key(self, *parts: Any) -> str:
        around = (
            *(self.request.get_host(), self.request.path, self.site, get_urlconf()),
            *(translation.get_language(), timezone.get_current_timezone_name()),
        )
        return live.cache_key("contrib", *around, *parts)

    def index(self, *arguments: Any) -> Any:
        """Return contrib's index of stand-ins, which know what it asks sitemaps."""
        with as_requested():
            listed = {name: self._listed(name) for name in self.sitemaps}
        return _contrib.index(self.request, listed, *arguments)

    def printed_index(self, *arguments: Any) -> _Answer:
        """Return the index as contrib's template prints it."""
        response = self.index(_contribs_index(), *arguments).render()
        document = write_document([response.content])
        return _Answer(document, response.get("Last-Modified"))

    def printed_page(self, names: Iterable[str], number: int) -> _Answer:
        """Return a page of each sitemap, one after the other."""
        lines, extensions, lastmods = list[str](), {"xhtml"}, list[date | None]()
        for name in names:
            source = PrintedSource(self.sitemaps[name])
            plan = self._plan(name, source)
            chunks, kinds, newest = self._read(name, source, plan, number)
            if not chunks and self.seconds and not source.has_own_paging:
                make = partial(self._plan, name, source)
                if newer := live.newer_plan(self._key(Plan, name), plan, make):
                    chunks, kinds, newest = self._read(name, source, newer, number)
            lines += chunks
            extensions.update(kinds)
            lastmods.append(newest)

        # Without entries, contrib's template prints an empty line.
        document = write_document(render_urlset(lines or ["\n"], extensions))
        # The header is the newest lastmod of the sitemaps, if all have one.
        last_modified = None
        if None not in lastmods:
            latest = reduce(_contrib._get_latest_lastmod, lastmods, None)
            last_modified = http_date(latest.timestamp()) if latest else None
        return _Answer(document, last_modified)

    def _read(
        self, name: str, source: PrintedSource, plan: Plan, number: int
    ) -> tuple[list[str], Collection[str], date | None]:
        """Return lines, extensions and newest lastmod; None if an entry has none."""
        (bounds,) = Paginator(plan.ranges, 1).page(number)
        lines = []
        section = open_section(source, self.site)
        with section.reading():
            reader: Any = section.reader
            for chunk in reader.chunks(bounds, Tally(name)):
                heartbeat()
                lines.append(chunk)
            return lines, reader.extensions, reader.newest

    def _plan(self, name: str, source: PrintedSource) -> Any:
        section = open_section(source, self.site)
        make = partial(first_plan, section)
        with section.reading():
            if source.has_own_paging:  # what is kept would not follow its own code
                return make()
        return self.kept(Plan, make, name)

    def _listed(self, name: str) -> SimpleNamespace:
        source = PrintedSource(self.sitemaps[name])
        pages, lastmod = len(self._plan(name, source).ranges), None
        section = open_section(source, self.site)
        reader: Any = section.reader
        with section.reading():
            protocol = reader.sitemap.protocol
        with live.optional_lastmod(), section.reading():
            lastmod = reader.index_lastmod(self.seconds)
        return SimpleNamespace(
            protocol=protocol,
            get_latest_lastmod=lambda: lastmod,
            paginator=SimpleNamespace(num_pages=pages),
        )


class PrintedSource(SitemapSource):
    """A contrib ``Sitemap`` as contrib's own view prints it."""

    limit = SitemapSource.own_limit  # also contrib's 50,000


class PrintedReader(SitemapReader):
    """Reads the pages that contrib's index counts."""

    planned_rows = SitemapReader.rows_per_page

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
            newest = max(self._lastmods, default=None)
        except TypeError:
            return None
        return newest if isinstance(newest, date) else None

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
        lastmod = aware(sitemap.get_latest_lastmod())
        if isinstance(lastmod, datetime):
            age = datetime.now(UTC) - lastmod
            if timedelta() <= age < timedelta(seconds=seconds):
                return None
        return lastmod

    def _in_range(self, rows: QuerySet[Any], key_range: KeyRange) -> QuerySet[Any]:
        # A single page keeps the order of items(), if they have one.
        if key_range != EVERYTHING or not rows.ordered:
            rows = super()._in_range(rows, key_range)
        # Rows may have come since the page was planned.
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
