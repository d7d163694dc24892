"""Checks of contrib's sitemap classes, and of the dict of them that is adopted."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import Any

from django.contrib.sitemaps import Sitemap
from django.core.checks import CheckMessage
from django.db import Error

from django_sitemaps_plus import adoption
from django_sitemaps_plus.conf import DEFAULT_SITE, Site
from django_sitemaps_plus.exceptions import SourceError
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.section import open_section
from django_sitemaps_plus.sources.contrib import SitemapSource
from django_sitemaps_plus.sources.contrib_fields import contrib_origin
from django_sitemaps_plus.sources.keys import has_text, key_field

from .examining import error, examined, examining, is_of_project, warning
from .languages import check_codes


def check_contrib(source: SitemapSource) -> Generator[CheckMessage, None, bool]:
    """Yield what is wrong with a class; return whether its attributes can be read."""
    if not (yield from examined(_used(source, lambda site: source.make()))):
        return False
    yield from examined(_used(source, lambda site: contrib_origin(source.make(), site)))
    for part in (_unlocated, _paged_by_position, _codes):
        yield from examined(part(source))
    return True


def _used(
    source: SitemapSource, use: Callable[[Site], object]
) -> Generator[CheckMessage, None, bool]:
    """Use a class in one way; yield why it cannot work, and return whether it does."""
    site = Site(DEFAULT_SITE, "https://example.com")
    try:
        with open_section(source, site).reading():
            use(site)
    except (SourceError, Error) as raised:
        cause = raised.__cause__ if isinstance(raised, SourceError) else None
        fault = cause or raised
        if is_of_project(fault):  # which may work with other rows, or elsewhere
            raise
        if not isinstance(fault, Error):
            message = f"it cannot be used: {type(fault).__name__}: {fault}"
            hint = (
                "Register a Sitemap class that takes no arguments, an instance of one, "
                "or what returns an instance. Its limit, if it sets one, is a number."
            )
            yield error(40, message, hint)
        return False
    return True


def _unlocated(source: SitemapSource) -> Iterator[CheckMessage]:
    if source.kind.location is Sitemap.location and not source.has_own_paging:
        for model in source.models or ():  # known without a query
            if not hasattr(model, "get_absolute_url"):
                message = f"{model._meta.label} no get_absolute_url()."
                hint = "Write def location(self, item)."
                yield error(20, f"it has no location(), and {message}", hint)


def _paged_by_position(source: SitemapSource) -> Iterator[CheckMessage]:
    for model in source.models or ():
        key = key_field(model, "pk")
        if not (source.has_own_paging or has_text(key, lambda: None)):
            label = f"{model._meta.label}.{key.name}, a {type(key).__name__}"
            message = f"{label}, has no text by which pages could be cut."
            hint = (
                "Its pages are positions: each reads all rows before it, and a change "
                "of one row renders all of them. A ModelSource can name another key."
            )
            yield warning(16, message, hint)


def _codes(source: SitemapSource) -> Iterator[CheckMessage]:
    sitemap = source.make()
    yield from check_codes(sitemap._languages() if sitemap.i18n else ())


@examining("CONTRIB_SITEMAPS")
def check_adopted(**kwargs: Any) -> list[CheckMessage]:
    """Return what of the dict that CONTRIB_SITEMAPS names is not served."""
    hint = (
        "Name the dict that contrib's views take, by its module and its name there, "
        "such as 'project.urls.sitemaps'. Its keys become names of sections."
    )
    len(registry)  # which adopts them
    if registry.unread is not None:
        raise registry.unread
    return [error(42, str(fault), hint) for fault in adoption.faults]
