"""Checks of the setting SITEMAPS_PLUS and of what it names."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Iterator
from typing import Any

from django.apps import apps
from django.conf import settings
from django.core.checks import CheckMessage

from django_sitemaps_plus.cache import is_shared
from django_sitemaps_plus.conf import SETTING, AppSettings, get_settings, parse_base_url
from django_sitemaps_plus.exceptions import ConfigurationError

from .messages import error, warning


def check_settings(**kwargs: Any) -> list[CheckMessage]:
    """Return what is wrong with the setting."""
    return [
        *_unknown_keys(),
        *_wrong_values(),
        *_origin(),
        *_storage(),
        *_cache(),
    ]


def _unknown_keys() -> Iterator[CheckMessage]:
    known = AppSettings.keys()
    unknown = get_settings().unknown
    if unknown is None:
        yield error(2, f"{SETTING} is no dict.", f"Known keys: {', '.join(known)}.")
    for key in unknown or ():
        close = difflib.get_close_matches(str(key).upper(), known, n=1)
        hint = f"Did you mean {close[0]!r}?" if close else f"Known: {', '.join(known)}."
        yield error(1, f"{SETTING} has an unknown key {key!r}.", hint)


def _wrong_values() -> Iterator[CheckMessage]:
    configured = get_settings()
    for item in dataclasses.fields(AppSettings)[:-1]:
        value = getattr(configured, item.name)
        problem = _problem(item.name, str(item.type), value)
        if problem:
            yield error(
                2,
                f"{SETTING}[{item.name.upper()!r}] is {value!r}: {problem}.",
                f"The default is {item.default!r}.",
            )


def _problem(name: str, kind: str, value: Any) -> str:
    """Return what is wrong with a value, or ""."""
    if kind == "int":
        is_number = isinstance(value, int) and not isinstance(value, bool)
        return "" if is_number and value >= 0 else "not a whole number from 0 up"
    if kind.startswith("str") and not isinstance(value, str):
        return "" if value is None and "None" in kind else "not a string"
    if name == "scheme" and value not in ("http", "https"):
        return "neither http nor https"
    if name == "base_url" and value is not None:
        try:
            parse_base_url(value)
        except ConfigurationError as fault:
            return str(fault).rstrip(".")
    return ""


def _origin() -> Iterator[CheckMessage]:
    if get_settings().base_url or apps.is_installed("django.contrib.sites"):
        return
    hint = f"Set {SETTING}['BASE_URL'] to the address of your site, such as "
    hint += "'https://shop.example', or install django.contrib.sites."
    if settings.DEBUG:
        yield warning(
            1,
            "Sitemaps have no origin, so under DEBUG the request's host is used.",
            hint,
        )
    else:
        yield error(3, "Sitemaps have no origin, so no URL can be written.", hint)


def _storage() -> Iterator[CheckMessage]:
    alias = get_settings().storage
    if alias is None and not settings.MEDIA_ROOT:
        message = "There is no place for sitemap files, so none can be built."
        hint = f"Set MEDIA_ROOT, or {SETTING}['STORAGE'] to an alias in STORAGES."
        # A new project has neither, and is to see live sitemaps at once.
        yield warning(4, message, hint) if settings.DEBUG else error(5, message, hint)
    elif isinstance(alias, str) and alias not in settings.STORAGES:
        yield error(
            4,
            f"{SETTING}['STORAGE'] is {alias!r}, which STORAGES does not define.",
            f"Defined are: {', '.join(settings.STORAGES)}.",
        )


def _cache() -> Iterator[CheckMessage]:
    alias = get_settings().cache
    if alias not in settings.CACHES:
        yield error(
            6,
            f"{SETTING}['CACHE'] is {alias!r}, which CACHES does not define.",
            f"Defined are: {', '.join(settings.CACHES)}.",
        )
    elif not settings.DEBUG and not is_shared():
        yield warning(
            2,
            f"The cache {alias!r} belongs to one process, so each makes live plans of "
            "its own, and does not know what others have asked for or found lost.",
            "Use a shared cache such as Redis. For live plans alone it is enough to "
            "build the sitemaps.",
        )
