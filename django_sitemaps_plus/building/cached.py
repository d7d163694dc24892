"""What Django's cache keeps for us: checked bytes, and never anything that matters."""

from __future__ import annotations

import hashlib
import logging
from typing import Any

from django.core.cache import caches

from django_sitemaps_plus.conf import get_settings

logger = logging.getLogger(__name__)

_PREFIX = "sitemaps_plus:"
_CHECKSUM = 16  # characters


def remember(key: str, data: bytes, seconds: int) -> None:
    """Keep bytes for a while; a cache that fails only costs work."""
    checked = _checksum(data) + data
    try:
        caches[get_settings().cache].set(_PREFIX + key, checked, seconds)
    except Exception as error:  # noqa: BLE001 - whatever its client raises
        _warn(error)


def recall(key: str) -> bytes | None:
    """Return what was kept; None where it is gone, or is not what we put there."""
    try:
        found: Any = caches[get_settings().cache].get(_PREFIX + key)
    except Exception as error:  # noqa: BLE001 - the same, or what unpickling raises
        _warn(error)
        return None
    if not isinstance(found, bytes) or len(found) < _CHECKSUM:
        return None
    data = found[_CHECKSUM:]
    return data if found[:_CHECKSUM] == _checksum(data) else None


def forget(key: str) -> None:
    """Let go of what was kept."""
    try:
        caches[get_settings().cache].delete(_PREFIX + key)
    except Exception as error:  # noqa: BLE001 - the same
        _warn(error)


def first_to(key: str, seconds: int) -> bool:
    """Return whether nobody else has asked for this key in the last seconds.

    True where the cache cannot tell: then everybody does the work.
    """
    try:
        return bool(caches[get_settings().cache].add(_PREFIX + key, b"", seconds))
    except Exception as error:  # noqa: BLE001 - the same
        _warn(error)
        return True


def _checksum(data: bytes) -> bytes:
    return hashlib.sha256(data).hexdigest()[:_CHECKSUM].encode()


def _warn(error: Exception) -> None:
    logger.warning(
        "The cache failed, so something is worked out once more: %s: %s",
        type(error).__name__,
        error,
        extra={"action": "cache_failed"},
    )
