"""What tests of projects that use this app need."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .registry import SourceRegistry, registry


@contextmanager
def temporary_source(name: str, source: Any) -> Iterator[SourceRegistry]:
    """Register a source for the time of a ``with`` block or a test.

    A section that has the name already comes back afterwards; all others stay.
    """
    before = dict(registry._registry)
    registry._registry.pop(name, None)
    try:
        registry.register(name, source)
        yield registry
    finally:
        registry._registry.clear()
        registry._registry.update(before)
        registry.changed()


@contextmanager
def temporary_registry() -> Iterator[SourceRegistry]:
    """Empty the registry for the time of a ``with`` block; then all is as before."""
    before = dict(registry._registry)
    registry._registry.clear()
    registry.changed()
    try:
        yield registry
    finally:
        registry._registry.clear()
        registry._registry.update(before)
        registry.changed()
