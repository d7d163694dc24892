"""Fixtures of the tests of noticing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from django_sitemaps_plus.building.refresh import refresh
from django_sitemaps_plus.models import Section
from django_sitemaps_plus.registry import SourceRegistry
from django_sitemaps_plus.tracking import recording


@pytest.fixture(autouse=True)
def unknown_plans() -> Iterator[None]:
    """Begin each test as a process that knows of no plan."""
    recording._planned.clear()
    yield
    recording._planned.clear()


@pytest.fixture
def publish(sections: SourceRegistry) -> Callable[..., Section]:
    """Return what registers a source, builds it and gives its section."""

    def publish(source: Any, name: str = "products") -> Section:
        sections.register(name, source)
        refresh([name])
        return Section.objects.get(name=name)

    return publish
