"""Checks of the engines, and of sections whose changes they miss."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import suppress
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage
from django.db import Error
from django.db.models import DateField, DateTimeField

from django_sitemaps_plus import views
from django_sitemaps_plus.conf import SETTING, get_settings, get_site, is_test_run
from django_sitemaps_plus.models import Page
from django_sitemaps_plus.notifications import Takes
from django_sitemaps_plus.notifications.configuration import broken_engines, get_engines
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.sites import site_in_force
from django_sitemaps_plus.sources import ModelSource, SitemapSource, Source
from django_sitemaps_plus.sources.compiling import find_field

from .examining import error, examined, examining, warning
from .sites import for_each_site
from .urls import PUT_FIRST, are_included, is_answered_by


@for_each_site
@examining("ENGINES")
def check_engines(**kwargs: Any) -> list[CheckMessage]:
    """Return what is wrong with the engines, without a request to any of them."""
    saves = examined(_unannounced_saves(), "ENGINES")
    files = examined(_unserved_files(), "ENGINES")
    return [*_broken(is_lack=False), *saves, *files]


@for_each_site
def check_keys(**kwargs: Any) -> list[CheckMessage]:
    """Return what engines lack in this environment: keys, files, options."""
    return _broken(is_lack=True)


def _broken(*, is_lack: bool) -> list[CheckMessage]:
    hint = f"Correct it in {SETTING}['ENGINES']."
    found = [engine for engine in broken_engines() if engine.is_lack == is_lack]
    return [error(25, engine.fault, hint) for engine in found]


def _unserved_files() -> Iterator[CheckMessage]:
    """Yield the engines whose files our view does not serve.

    The name of a file may be the key, so no message has it.
    """
    configured = get_settings()
    has_urls = getattr(settings, "ROOT_URLCONF", None) and are_included()
    # Else the site may be in the database, which this check does not read.
    origin = configured.base_url or site_in_force()
    if configured.notify is False or not origin or not has_urls:
        return
    for engine in get_engines().values():
        paths: list[str] = []
        with suppress(Exception):  # it may be the user's, and its view logs this
            paths = [f"/{name}" for name in engine.files(get_site())]
        if not all([is_answered_by(views.text_file, path) for path in paths]):
            yield warning(
                11,
                f"The engine {engine.name!r} looks for its key file at the root of the "
                "site, where this app does not serve it.",
                f"{PUT_FIRST}, or have files() return a name of A-Z, a-z, 0-9, '_' "
                "and '-' before .txt.",
            )


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
        return "" if source.may_have_lastmod else "no lastmod"
    if not isinstance(source, ModelSource) or source.announce_saves:
        return ""
    if not isinstance(source.lastmod, str):
        return "no lastmod" if source.lastmod is None else ""
    field = find_field(source.model, source.lastmod)
    is_day = isinstance(field, DateField) and not isinstance(field, DateTimeField)
    return "a lastmod without a time" if is_day else ""


@examining("the sections")
def check_built(
    databases: Collection[str] | None = None, **kwargs: Any
) -> list[CheckMessage]:
    """Return the sections whose removals engines miss, since they have no pages.

    It reads the database, so it runs only where the command names one.
    """
    is_asked = Page.objects.db in (databases or ())
    if settings.DEBUG or is_test_run() or not is_asked or not _urls_are_submitted():
        return []
    try:
        built = set(Page.objects.values_list("section__name", flat=True).distinct())
    except Error:  # not migrated yet
        return []
    return [
        warning(
            7,
            f"Section {name!r} is not built, so engines are notified of saved rows, "
            "but neither of removed rows nor of the former URLs of moved ones.",
            "Build it with manage.py build_sitemaps or in workers.",
        )
        for name in registry
        if name not in built
    ]
