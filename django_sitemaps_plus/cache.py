"""Django's cache, asked in one place: it may be away, and losing it costs work only."""

from __future__ import annotations

import logging
import time
from typing import Any, TypeVar

from django.conf import settings
from django.core.cache import caches

from django_sitemaps_plus.conf import get_settings, is_test_run

logger = logging.getLogger(__name__)

T = TypeVar("T")

#: Seconds for which a cache that failed is not asked again.
PAUSE_SECONDS = 5.0

_PER_PROCESS = (
    "django.core.cache.backends.locmem.LocMemCache",
    "django.core.cache.backends.dummy.DummyCache",
)

_PREFIX = "sitemaps_plus:"

_paused_until: dict[str, float] = {}  # by alias, and the monotonic clock


def is_shared() -> bool:
    """Return whether other processes find what is kept here."""
    options = settings.CACHES.get(get_settings().cache, {})
    return options.get("BACKEND") not in _PER_PROCESS


def keeps() -> bool:
    """Return whether a value is found again; raise whatever the cache's client does."""
    cache, key = caches[get_settings().cache], f"{_PREFIX}probe"
    cache.set(key, True, 60)
    return cache.get(key) is True


def remember(key: str, value: object, seconds: int) -> None:
    """Keep a value for a while, unless a site might take it for its own."""
    if not _is_of_others():
        _ask("set", key, value, seconds)


def recall(key: str, kind: type[T]) -> T | None:
    """Return the value that was kept; None where it is gone, or of another type."""
    value = None if _is_of_others() else _ask("get", key)
    return value if isinstance(value, kind) else None


def _is_of_others() -> bool:
    """Return whether a test run, whose rows are others, may share it with a site."""
    return is_test_run() and is_shared()


def forget(key: str) -> None:
    """Delete the value that was kept."""
    _ask("delete", key)


def first_to(key: str, seconds: int) -> bool:
    """Return whether no other caller asked for this key lately, as far as is known."""
    return _ask("add", key, b"", seconds) is not False


def extend(key: str, seconds: int) -> None:
    """Let a value, or the turn that :func:`first_to` gave, last so long from now."""
    _ask("touch", key, seconds)


def _ask(verb: str, key: str, *args: Any) -> Any:
    """Return what the cache answers; None if it failed, now or a moment ago."""
    alias = get_settings().cache
    if time.monotonic() < _paused_until.get(alias, 0.0):
        return None
    try:
        return getattr(caches[alias], verb)(_PREFIX + key, *args)
    except Exception as error:  # noqa: BLE001 - whatever its client raises
        _paused_until[alias] = time.monotonic() + PAUSE_SECONDS
        logger.warning(
            "The cache failed, so work is done that it would save: %s: %s",
            type(error).__name__,
            error,
            extra={"action": "cache_failed"},
        )
        return None
