"""The browser of all tests that need one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from .browser.looking import chromium


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Start one Chromium, whose event loop ends before tests of a database begin."""
    with chromium() as browser:
        yield browser
