"""The browser of all tests that need one."""

from collections.abc import Iterator
from typing import Any

import pytest

from .browser.looking import chromium

#: Files that take half a minute, by what their names end with.
_LONG = ("crawlers.py", "documented.py", "edits.py", "dashboard.py", "browser.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that take longest, so that no process waits for them."""
    items.sort(key=lambda item: not item.path.name.endswith(_LONG))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Start one Chromium, whose event loop ends before tests of a database begin."""
    with chromium() as browser:
        yield browser
