"""The browser of all tests that need one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from .browser.looking import chromium


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Start one Chromium: Playwright runs once in a process."""
    with chromium() as browser:
        yield browser
