"""Checks of the engines, and of what sections let them know."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from importlib.util import find_spec
from typing import Any

from django.conf import settings
from django.contrib.sitemaps import GenericSitemap
from django.core.checks import CheckMessage
from django.db import Error
from django.db.models import DateField, DateTimeField

from django_sitemaps_plus import views
from django_sitemaps_plus.conf import SETTING, get_settings, get_site
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.models import Page
from django_sitemaps_plus.notifications import Engine, SearchConsole, Takes
from django_sitemaps_plus.notifications.configuration import (
    get_engines,
    make_engine,
    working_engines,
)
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.sources import ModelSource, SitemapSource, Source
from django_sitemaps_plus.sources.declarations import find_field

from .messages import error, warning
from .urls import PUT_FIRST, are_included, is_answered_by


def check_engines(**kwargs: Any) -> list[CheckMessage]:
    """Return what is wrong with the engines; none of them is asked."""
    configured: Any = get_settings().engines
    if not isinstance(configured, dict):
        hint = "Give a name to each, and BACKEND and OPTIONS to each name."
        return [error(2, f"{SETTING}['ENGINES'] is no dict.", hint), *_switches()]
    return [
        *_switches(),
        *_broken(configured),
        *_shown(configured),
        *_unseen_saves(),
        *_unserved_files(),
    ]


def _switches() -> Iterator[CheckMessage]:
    configured: Any = get_settings()
    if configured.notify not in (None, True, False):
        message = f"{SETTING}['NOTIFY'] is {configured.notify!r}: not True or False."
        yield error(2, message, "The default is None: only of a public address.")
    pause = configured.notify_retry_seconds
    is_number = isinstance(pause, int | float) and not isinstance(pause, bool)
    if not is_number or pause <= 0:
        message = f"{SETTING}['NOTIFY_RETRY_SECONDS'] is {pause!r}: no seconds above 0."
        yield error(2, message, "The default is 5.")


def _broken(configured: dict[str, Any]) -> Iterator[CheckMessage]:
    for name in configured:
        try:
            engine = make_engine(name)
        except ConfigurationError as fault:
            hint = "docs/reference/engines.md has the options of each."
            yield error(25, str(fault), hint)
        else:
            yield from _missing_extra(engine)


def _shown(configured: dict[str, Any]) -> Iterator[CheckMessage]:
    """Yield credentials under whose name Django does not expect a secret."""
    for name, entry in configured.items():
        options = entry.get("OPTIONS") if isinstance(entry, dict) else None
        given = options.get("credentials") if isinstance(options, dict) else None
        if isinstance(given, str) and given.lstrip().startswith("{"):
            yield warning(
                8,
                f"Django's debug page and mails show the credentials of {name!r}.",
                "Give the path of their file, or Secret(text) in place of the text.",
            )


def _missing_extra(engine: Engine) -> Iterator[CheckMessage]:
    needs = {}
    if type(engine).__module__.startswith("django_sitemaps_plus.notifications"):
        needs["engines"] = "urllib3"
    if isinstance(engine, SearchConsole):
        needs["google"] = "google.auth"
    for extra, module in needs.items():
        if not _is_installed(module):
            yield error(
                26,
                f"The engine {engine.name!r} needs {module}, which is not installed.",
                f"pip install 'django-sitemaps-plus[{extra}]'",
            )


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ImportError:  # of the package around it
        return False


def _unserved_files() -> Iterator[CheckMessage]:
    """Yield the engines whose files our view does not serve.

    The name of a file may be the key, so no message has it.
    """
    for engine, names in _file_names().items():
        unserved = [n for n in names if not is_answered_by(views.key_file, f"/{n}")]
        if unserved:
            yield warning(
                11,
                f"The engine {engine!r} looks for its key file at the root of the "
                "site, where this app does not serve it.",
                _file_hint(unserved),
            )


def _file_names() -> dict[str, list[str]]:
    """Return which files each engine looks for, as far as it is known.

    Without BASE_URL the site is in the database, which is not asked here.
    """
    configured = get_settings()
    has_urls = getattr(settings, "ROOT_URLCONF", None) and are_included()
    if configured.notify is False or not configured.base_url or not has_urls:
        return {}
    try:
        site, engines = get_site(), working_engines()
        return {name: list(engine.files(site)) for name, engine in engines.items()}
    except Exception:  # noqa: BLE001 - the user's code; who asks for a file logs it
        return {}


def _file_hint(names: list[str]) -> str:
    if all(re.fullmatch(views.KeyFileConverter.regex, str(name)) for name in names):
        return f"{PUT_FIRST}."
    return "Its name must be 1 to 128 of A-Z, a-z, 0-9, '_' and '-', and then '.txt'."


def _tells_urls() -> bool:
    """Return whether an engine takes URLs, and may be told of some."""
    if get_settings().notify is False:
        return False
    try:
        return any(engine.takes is Takes.URLS for engine in get_engines().values())
    except ConfigurationError:  # said above
        return False


def _unseen_saves() -> Iterator[CheckMessage]:
    if not _tells_urls():
        return
    for name, source in registry.items():
        if isinstance(source, SitemapSource):
            hint = "Declare a lastmod, or use a ModelSource; of views, a ViewSource."
            if not _has_lastmod(source):
                yield _without_lastmod(name, source, hint)
        elif isinstance(source, ModelSource) and not source.announce_saves:
            yield from _unseen_of_model(name, source)


def _unseen_of_model(name: str, source: ModelSource) -> Iterator[CheckMessage]:
    if source.lastmod is None:
        hint = "Declare a lastmod, or announce_saves = True to tell of every save."
        yield _without_lastmod(name, source, hint)
    elif _is_day(source):
        yield warning(
            6,
            f"The lastmod of section {name!r} is a day without a time, so of the edits "
            "of a row on one day engines hear of the first alone.",
            "Give the time too, or set announce_saves = True to tell of every save.",
            source,
        )


def _without_lastmod(name: str, source: Source, hint: str) -> CheckMessage:
    return warning(
        6,
        f"Section {name!r} has no lastmod, so engines hear of its rows when they come, "
        "move or go, and not when their content changes.",
        hint,
        source,
    )


def _has_lastmod(source: SitemapSource) -> bool:
    """Return whether a contrib class gives one, as far as can be seen."""
    found = getattr(source.given, "lastmod", None)
    if getattr(found, "__func__", None) is GenericSitemap.lastmod:
        return source.given.date_field is not None  # type: ignore[union-attr]
    return found is not None or source.has_own_paging


def _is_day(source: ModelSource) -> bool:
    """Return whether the lastmod is a date that two edits of a day share."""
    if not isinstance(source.lastmod, str):
        return False
    field = find_field(source.model, source.lastmod)
    return isinstance(field, DateField) and not isinstance(field, DateTimeField)


def check_built(
    databases: Collection[str] | None = None, **kwargs: Any
) -> list[CheckMessage]:
    """Return the sections of which engines hear no removals, since they have no pages.

    Asks the database, so only where the command names it.
    """
    if settings.DEBUG or Page.objects.db not in (databases or ()) or not _tells_urls():
        return []
    try:
        built = set(Page.objects.values_list("section__name", flat=True).distinct())
    except Error:  # not migrated yet
        return []
    return [
        warning(
            7,
            f"Section {name!r} is not built, so engines hear of saves of its rows, and "
            "not of rows that are gone, nor of URLs that rows had before.",
            "Build it, by manage.py build_sitemaps or in workers.",
        )
        for name in registry
        if name not in built
    ]
