"""Helpers for the tests of projects that use this app."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from django.conf import settings
from django.test import override_settings

from .conf import SETTING
from .notifications import Batch, Engine
from .registry import SourceRegistry, registry


@contextmanager
def temporary_source(name: str, source: Any) -> Iterator[SourceRegistry]:
    """Register a source during a ``with`` block or a test.

    A section that has the name already comes back afterwards; all others stay.
    """
    with _restored_registry():
        registry._registry.pop(name, None)
        registry.register(name, source)
        yield registry


@contextmanager
def temporary_registry() -> Iterator[SourceRegistry]:
    """Empty the registry during a ``with`` block; then all is as before."""
    with _restored_registry():
        registry._registry.clear()
        registry.changed()
        yield registry


@contextmanager
def _restored_registry() -> Iterator[None]:
    before = dict(registry.items())
    try:
        yield
    finally:
        registry._registry.clear()
        registry._registry.update(before)
        registry.changed()


@contextmanager
def tracking() -> Iterator[None]:
    """Record saves and deletions during a ``with`` block or a test.

    While tests run they are not recorded, unless ``TRACK`` is True. The block begins
    like a process that knows of no build; settings that it overrides itself must hold
    ``TRACK`` too.
    """
    given = getattr(settings, SETTING, {})
    with override_settings(SITEMAPS_PLUS={**given, "TRACK": True}):
        yield


class RecordingEngine(Engine):
    """An engine that remembers what is submitted to it, in place of a real one.

    Its memory belongs to the class, for the engines of a project are made from its
    settings and not by a test. A subclass has a memory of its own; give it ``takes`` or
    ``max_batch`` where a test is about those.

    Attributes:
        batches: what it has accepted in this process, oldest first.
    """

    max_batch = 1_000
    batches: ClassVar[list[Batch]] = []
    _failure: ClassVar[Exception | None] = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.batches = []
        cls._failure = None

    def send(self, batch: Batch) -> None:
        """Remember a batch, unless it is to fail."""
        if self._failure is not None:
            raise self._failure
        self.batches.append(batch)

    @classmethod
    def told(cls) -> list[str]:
        """Return all targets that it has accepted, in order, each time anew."""
        return [target for batch in cls.batches for target in batch.targets]

    @classmethod
    def clear(cls) -> None:
        """Forget everything, as before each test."""
        cls.batches.clear()

    @classmethod
    @contextmanager
    def failing(cls, failure: Exception) -> Iterator[None]:
        """Accept nothing during a ``with`` block.

        Args:
            failure: what it raises, such as ``RetryLater("down")``.
        """
        before, cls._failure = cls._failure, failure
        try:
            yield
        finally:
            cls._failure = before
