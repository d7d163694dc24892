"""A clock that tests move, and engines that they configure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db.models import QuerySet
from django.utils import timezone

from django_sitemaps_plus.notifications import dispatch
from django_sitemaps_plus.notifications.dispatch import notify_engines
from django_sitemaps_plus.testing import RecordingEngine
from tests.support.shop import limited, make_products
from tests.support.testapp.models import Product

from .engines import ENGINES, path_of


class Clock:
    """The time by which engines are told."""

    def __init__(self) -> None:
        self._real = timezone.now
        self._passed = timedelta()

    def __call__(self) -> datetime:
        return self._real() + self._passed

    def forward(self, **passed: float) -> None:
        """Let time pass, in the words of a timedelta."""
        self._passed += timedelta(**passed)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Give the clock."""
    clock = Clock()
    monkeypatch.setattr(timezone, "now", clock)
    return clock


@pytest.fixture
def tell(settings: Any) -> Iterator[Callable[..., None]]:
    """Return what has engines told: by their names, and without any delay."""

    def tell(**configured: Any) -> None:
        names = [name for name in configured if not name.isupper()]
        given = {name: configured.pop(name) for name in names}
        settings.SITEMAPS_PLUS = {
            **settings.SITEMAPS_PLUS,
            "NOTIFY": True,
            "NOTIFY_DELAY_SECONDS": 0,
            "NOTIFY_INTERVAL_SECONDS": 0,
            "NOTIFY_RETRY_SECONDS": 60,
            **configured,
            "ENGINES": {
                name: {"BACKEND": path_of(engine)}
                if isinstance(engine, type)
                # One with options.
                else engine
                for name, engine in given.items()
            },
        }

    for engine in (RecordingEngine, *ENGINES):
        engine.clear()
    yield tell
    for engine in (RecordingEngine, *ENGINES):
        engine.clear()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no call wait for what may be told later."""

    def never(seconds: float) -> None:
        raise AssertionError(f"it waits {seconds} s")

    monkeypatch.setattr(dispatch.time, "sleep", never)


@pytest.fixture
def recording(tell: Callable[..., None]) -> type[RecordingEngine]:
    """Have one engine told, which remembers it."""
    tell(recording=RecordingEngine)
    return RecordingEngine


class Rows:
    """What a section that is served live lists, as long as that can be read.

    Attributes:
        reads: how often it was asked for.
    """

    def __init__(self) -> None:
        self.reads = 0
        self._fails = False

    def fail(self, *, fails: bool = True) -> None:
        """Be like a database that is away, or there again."""
        self._fails = fails

    def __call__(self) -> QuerySet[Product]:
        self.reads += 1
        if self._fails:
            raise OSError("away")
        return Product.objects.filter(published=True)


@pytest.fixture
def live_rows() -> Rows:
    """Give what the section of live products lists."""
    return Rows()


@pytest.fixture
def live_products(
    tell: Callable[..., None], sections: Any, live_rows: Rows
) -> list[Product]:
    """Serve products from their rows; saves are told after 100 seconds."""
    tell(
        recording=RecordingEngine, NOTIFY_DELAY_SECONDS=100, NOTIFY_INTERVAL_SECONDS=600
    )
    source = limited(10, get_queryset=lambda source: live_rows())
    sections.register("products", source)
    return make_products(5)


@pytest.fixture
def queued(live_products: list[Product]) -> list[Product]:
    """Queue the URLs of three of the live products."""
    for product in live_products[1:4]:
        product.save()
    notify_engines()
    assert RecordingEngine.told() == []
    return live_products
