"""Checks of the engines, and of sections whose changes they miss."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.contrib.sitemaps import GenericSitemap
from django.core.checks import CheckMessage
from django.db.models import DateField, DateTimeField

from django_sitemaps_plus.conf import SETTING, get_settings
from django_sitemaps_plus.notifications import Takes
from django_sitemaps_plus.notifications.configuration import (
    broken_engines,
    get_engines,
)
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.sources import ModelSource, SitemapSource, Source
from django_sitemaps_plus.sources.declarations import find_field

from .messages import error, warning
from .sites import for_each_site


@for_each_site
def check_engines(**kwargs: Any) -> list[CheckMessage]:
    """Return what is wrong with the engines, without a request to any of them."""
    hint = f"Correct it in {SETTING}['ENGINES']."
    return [
        *[error(25, engine.fault, hint) for engine in broken_engines()],
        *_unannounced_saves(),
    ]


def _urls_are_submitted() -> bool:
    takes = [engine.takes for engine in get_engines().values()]
    return Takes.URLS in takes and get_settings().notify is not False


def _unannounced_saves() -> Iterator[CheckMessage]:
    for name, source in registry.items() if _urls_are_submitted() else ():
        if fault := _lastmod_fault(source):
            yield warning(
                6,
                f"Section {name!r} has {fault}, so engines are notified when its rows "
                "are added, moved or removed, but not of every edit.",
                "Declare a lastmod with a time, or set announce_saves = True on a "
                "ModelSource to submit every save.",
            )


def _lastmod_fault(source: Source) -> str:
    """Return why a lastmod does not show every edit, as far as can be seen, or ""."""
    if isinstance(source, SitemapSource):
        found = getattr(source.given, "lastmod", None)
        if getattr(found, "__func__", None) is GenericSitemap.lastmod:
            found = source.given.date_field  # type: ignore[union-attr]
        return "no lastmod" if found is None and not source.has_own_paging else ""
    if not isinstance(source, ModelSource) or source.announce_saves:
        return ""
    if not isinstance(source.lastmod, str):
        return "no lastmod" if source.lastmod is None else ""
    field = find_field(source.model, source.lastmod)
    is_day = isinstance(field, DateField) and not isinstance(field, DateTimeField)
    return "a lastmod without a time" if is_day else ""
