"""A cache that fails."""

from __future__ import annotations

from typing import Any

from django.core.cache.backends.locmem import LocMemCache


class FailingCache(LocMemCache):
    """Its server is gone."""

    def get(self, *args: Any, **kwargs: Any) -> Any:
        """Fail."""
        raise ConnectionError("no cache")

    def set(self, *args: Any, **kwargs: Any) -> None:
        """Fail."""
        raise ConnectionError("no cache")
