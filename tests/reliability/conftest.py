"""Fixtures of the reliability tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from django_sitemaps_plus.registry import SourceRegistry
from django_sitemaps_plus.testing import temporary_registry


@pytest.fixture
def sections() -> Iterator[SourceRegistry]:
    """Give a registry without sections."""
    with temporary_registry() as registry:
        yield registry


@pytest.fixture
def figures(capsys: pytest.CaptureFixture[str]) -> Callable[..., None]:
    """Return what prints the figures of a test, whether it passes or not."""

    def figures(test: str, **values: object) -> None:
        words = " ".join(f"{name}={value}" for name, value in values.items())
        with capsys.disabled():
            print(f"\n  {test}: {words}")

    return figures
