"""Fixtures that every test may use."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.cache import cache

pytest_plugins = ["tests.support.servers.fixtures"]


@pytest.fixture(autouse=True)
def media_root(settings, tmp_path: Path) -> Path:
    """Give each test a MEDIA_ROOT of its own."""
    settings.MEDIA_ROOT = str(tmp_path / "media")
    return tmp_path / "media"


@pytest.fixture(autouse=True)
def empty_cache() -> Iterator[None]:
    """Begin and end each test without live plans."""
    cache.clear()
    yield
    cache.clear()
