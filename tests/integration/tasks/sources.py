"""Sources that workers register; what is odd about a row is in the row itself."""

import os
import signal
import time
from typing import Any

from django.core.cache import cache

from tests.support.shop import limited
from tests.support.testapp.models import Product


class ProductSource(limited(1)):
    """A page for each row."""


class RoomySource(limited(10)):
    """Enough entries on few pages for merges, and for the shrink guard."""


class PoisonSource(ProductSource):
    """A row named "poison" kills who renders it, as a lack of memory would."""

    def location(self, item: Product) -> str:
        if item.name == "poison":
            os.kill(os.getpid(), signal.SIGKILL)
        return f"/products/{item.slug}/"


class SlowSource(ProductSource):
    """Each page takes a while, so that several workers find something to do."""

    def location(self, item: Product) -> str:
        time.sleep(0.1)
        return f"/{os.getpid()}/{item.slug}/"


class HangingSource(ProductSource):
    """A row named "slow" takes longer than any time limit, the first time."""

    def location(self, item: Product) -> str:
        if item.name == "slow" and cache.add("hung", 1):
            time.sleep(600)
        return f"/products/{item.slug}/"


class BrokenSource(ProductSource):
    def get_queryset(self) -> Any:
        raise RuntimeError("its service is away")
