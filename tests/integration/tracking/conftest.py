"""Fixtures of the tests of tracking."""

from datetime import datetime

import pytest
from django.conf import settings
from django.db import connections
from django.utils import timezone

from django_sitemaps_plus.models import Change

from .rows import NOW


class Clock:
    time: datetime = NOW

    def __call__(self) -> datetime:
        return self.time if settings.USE_TZ else timezone.make_naive(self.time)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("django.utils.timezone.now", clock)
    return clock


@pytest.fixture
def both(other_database: str) -> str:
    """A second database that has changes of its own."""
    with connections[other_database].schema_editor() as editor:
        editor.create_model(Change)
    return other_database
