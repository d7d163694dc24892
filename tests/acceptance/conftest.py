"""The browser of all tests that need one, and the rows of the example project."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from .browser.looking import chromium
from .site import Site


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Start one Chromium, whose event loop ends before tests of a database begin."""
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="session")
def atlas(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Return what gives a database with cities, which is filled once; tests copy it."""

    @functools.cache
    def atlas(*arguments: str) -> Path:
        site = Site(tmp_path_factory.mktemp("atlas"))
        site.load(*arguments)
        site.close()
        return site.directory / "db.sqlite3"

    return atlas
