"""A cache that fails."""

from typing import Any

from django.core.cache.backends.locmem import LocMemCache


class FailingCache(LocMemCache):
    def _fail(self, *args: Any, **kwargs: Any) -> Any:
        raise ConnectionError("no cache")

    get = set = add = touch = delete = _fail
