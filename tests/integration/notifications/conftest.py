"""A clock that tests move, and engines that they configure."""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from django_sitemaps_plus.notifications import dispatch
from django_sitemaps_plus.testing import RecordingEngine

from .engines import ENGINES, path_of


class Clock:
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
    clock = Clock()
    monkeypatch.setattr(timezone, "now", clock)
    return clock


@pytest.fixture
def tell(settings: Any) -> Iterator[Callable[..., None]]:
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
    def never(seconds: float) -> None:
        raise AssertionError(f"it waits {seconds} s")

    monkeypatch.setattr(dispatch.time, "sleep", never)


@pytest.fixture
def recording(tell: Callable[..., None]) -> type[RecordingEngine]:
    tell(recording=RecordingEngine)
    return RecordingEngine
