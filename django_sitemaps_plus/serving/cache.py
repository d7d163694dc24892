"""What Django's cache keeps for us: checked bytes, and never anything that matters."""

from __future__ import annotations

import hashlib
import logging
import time
from typing import Any

from django.conf import settings
from django.core.cache import caches
from django.core.signals import setting_changed
from django.dispatch import receiver

from django_sitemaps_plus.conf import get_settings

logger = logging.getLogger(__name__)

#: Seconds for which a cache that failed is not asked again.
PAUSE_SECONDS = 5.0

_PER_PROCESS = (
    "django.core.cache.backends.locmem.LocMemCache",
    "django.core.cache.backends.dummy.DummyCache",
)

_PREFIX = "sitemaps_plus:"
_CHECKSUM = 16  # characters

_paused_until: dict[str, float] = {}  # by alias, and the monotonic clock


def is_shared() -> bool:
    """Return whether other processes find what is kept here."""
    found = settings.CACHES.get(get_settings().cache, {})
    return found.get("BACKEND") not in _PER_PROCESS


def remember(key: str, data: bytes, seconds: int) -> None:
    """Keep bytes for a while; a cache that fails only costs work."""
    _ask("set", key, _checksum(data) + data, seconds)


def recall(key: str) -> bytes | None:
    """Return what was kept; None where it is gone, or is not what we put there."""
    found = _ask("get", key)
    if not isinstance(found, bytes) or len(found) < _CHECKSUM:
        return None
    data = found[_CHECKSUM:]
    return data if found[:_CHECKSUM] == _checksum(data) else None


def forget(key: str) -> None:
    """Let go of what was kept."""
    _ask("delete", key)


def first_to(key: str, seconds: int) -> bool:
    """Return whether nobody else has asked for this key in the last seconds.

    True where the cache cannot tell, or answers nonsense: then everybody does the work.
    """
    return _ask("add", key, b"", seconds) is not False


def still(key: str, seconds: int) -> None:
    """Let what was kept, or what :func:`first_to` has said, last so long from now."""
    _ask("touch", key, seconds)


def _ask(verb: str, key: str, *args: Any) -> Any:
    """Return what the cache answers; None if it failed, now or a moment ago.

    One that does not answer costs its client's time limit each time it is asked, and
    a request asks it several times.
    """
    alias = get_settings().cache
    if time.monotonic() < _paused_until.get(alias, 0.0):
        return None
    try:
        return getattr(caches[alias], verb)(_PREFIX + key, *args)
    except Exception as error:  # noqa: BLE001 - whatever its client raises
        _paused_until[alias] = time.monotonic() + PAUSE_SECONDS
        logger.warning(
            "The cache failed, so work is done that it would spare: %s: %s",
            type(error).__name__,
            error,
            extra={"action": "cache_failed"},
        )
        return None


def _checksum(data: bytes) -> bytes:
    return hashlib.sha256(data).hexdigest()[:_CHECKSUM].encode()


@receiver(setting_changed)
def _end_pause(*, setting: str, **kwargs: object) -> None:
    if setting == "CACHES":
        _paused_until.clear()
