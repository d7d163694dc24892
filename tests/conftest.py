"""Fixtures that every test may use."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.cache import cache
from hypothesis import HealthCheck, settings

from django_sitemaps_plus.registry import SourceRegistry
from django_sitemaps_plus.testing import temporary_registry

pytest_plugins = ["tests.support.servers.fixtures"]

# Time limits fail on a busy machine. The fixtures that run for every test set nothing
# that examples change.
settings.register_profile(
    "tests",
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
settings.load_profile("tests")


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


@pytest.fixture
def sections() -> Iterator[SourceRegistry]:
    """Give a registry without sections."""
    with temporary_registry() as registry:
        yield registry
