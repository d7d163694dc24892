"""Fixtures of the tests with workers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from django_sitemaps_plus import Source
from django_sitemaps_plus.building.build import build


@pytest.fixture
def published(sections: Any) -> Callable[..., None]:
    """Return what registers a source here, and publishes it unless told otherwise."""

    def published(source: type[Source], *, builds: bool = True) -> None:
        sections.register("products", source)
        if builds:
            build()

    return published
