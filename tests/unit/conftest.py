"""How Hypothesis works in the unit tests, and an empty registry for who asks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from django_sitemaps_plus.registry import SourceRegistry
from django_sitemaps_plus.testing import temporary_registry

# Time limits fail on a busy machine. The fixtures that run for every test set nothing
# that examples change.
settings.register_profile(
    "unit",
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
settings.load_profile("unit")


@pytest.fixture
def sections() -> Iterator[SourceRegistry]:
    """Give the registry, without sections."""
    with temporary_registry() as registry:
        yield registry
