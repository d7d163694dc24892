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
from django_sitemaps_plus.executors.base import get_executor
from django_sitemaps_plus.storage import get_storage

from .messages import error, warning

#: The least values that work, where that is not 0.
_LEAST = {"max_builders": 1, "lease_seconds": 2}


def check_settings(**kwargs: Any) -> list[CheckMessage]:
    """Return what is wrong with the setting."""
    checks = (_unknown_keys, _wrong_values, _origin, _storage, _cache, _executor)
    return [message for check in checks for message in check()]


def _unknown_keys() -> Iterator[CheckMessage]:
    known = AppSettings.keys()
    unknown = get_settings().unknown
    if unknown is None:
        value = getattr(settings, SETTING)
        hint = f"Use a dict with these keys: {', '.join(known)}."
        yield error(2, f"{SETTING} is {value!r}, which is not a dict.", hint)
    for key in unknown or ():
        close = difflib.get_close_matches(str(key).upper(), known, n=1)
        hint = f"Did you mean {close[0]!r}?" if close else f"Keys: {', '.join(known)}."
        yield error(1, f"{SETTING} has an unknown key {key!r}.", hint)


def _wrong_values() -> Iterator[CheckMessage]:
    configured = get_settings()
    for item in dataclasses.fields(AppSettings)[:-1]:
        value = getattr(configured, item.name)
        if problem := _problem(item.name, str(item.type), value):
            yield error(
                2,
                f"{SETTING}[{item.name.upper()!r}] is {value!r}: {problem}.",
                f"The default is {item.default!r}.",
            )


def _problem(name: str, kind: str, value: Any) -> str:
    """Return what is wrong with a value, or ""."""
    if kind == "int":
        least = _LEAST.get(name, 0)
        is_number = isinstance(value, int) and not isinstance(value, bool)
        is_right = is_number and value >= least
        return "" if is_right else f"it must be a whole number, {least} or more"
    if kind.startswith("bool") and not isinstance(value, bool):
        return "" if value is None and "None" in kind else "it must be True or False"
    if name == "notify_retry_seconds":
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return "" if is_number and value > 0 else "it must be a number above 0"
    if kind.startswith("str") and not isinstance(value, str):
        return "" if value is None and "None" in kind else "it must be a string"
    if name == "scheme" and value not in ("http", "https"):
        return "it must be 'http' or 'https'"
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
        message = "Sitemaps have no origin. DEBUG is on, so the request's host is used."
        yield warning(1, message, hint)
    else:
        yield error(3, "Sitemaps have no origin, so URLs cannot be written.", hint)


def _storage() -> Iterator[CheckMessage]:
    alias = get_settings().storage
    if alias is None and not settings.MEDIA_ROOT:
        message = "Sitemap files have no place, so they cannot be built."
        hint = f"Set MEDIA_ROOT, or {SETTING}['STORAGE'] to an alias in STORAGES."
        # A new project has neither, and should see live sitemaps at once.
        yield warning(4, message, hint) if settings.DEBUG else error(5, message, hint)
    elif isinstance(alias, str) and alias not in settings.STORAGES:
        yield error(4, *_undefined("STORAGE", alias, "STORAGES"))
    elif _compresses():
        yield error(
            9,
            f"The storage {alias!r} compresses files by itself (option gzip), so views "
            "do not read what was stored.",
            "Define another alias in STORAGES for sitemaps, without that option.",
        )


def _compresses() -> bool:
    try:
        return bool(getattr(get_storage(), "gzip", False))
    except Exception:  # noqa: BLE001 - a build says why the storage cannot be made
        return False


def _cache() -> Iterator[CheckMessage]:
    alias = get_settings().cache
    if alias not in settings.CACHES:
        yield error(6, *_undefined("CACHE", alias, "CACHES"))
    elif not settings.DEBUG and not is_shared():
        yield warning(
            2,
            f"The cache {alias!r} belongs to one process. Each process makes its own "
            "live plans, and does not know which files others found damaged.",
            "Use a shared cache such as Redis. If only live plans matter, building the "
            "sitemaps is enough.",
        )


def _executor() -> Iterator[CheckMessage]:
    try:
        executor = get_executor()
    except ConfigurationError as fault:
        hint = "For Celery install the extra 'celery', and use "
        hint += "'django_sitemaps_plus.tasks.CeleryExecutor'."
        yield error(8, str(fault), hint)
    else:
        yield from [warning(10, *fault) for fault in executor.faults()]


def _undefined(key: str, alias: str, setting: str) -> tuple[str, str]:
    return (
        f"{SETTING}[{key!r}] is {alias!r}, which {setting} does not define.",
        f"Use one of these: {', '.join(getattr(settings, setting))}.",
    )
