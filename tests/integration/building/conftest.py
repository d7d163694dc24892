"""What a test of builds may compare at its end."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.reliability.tools.shop import wrong_totals


@pytest.fixture
def right_totals(_django_db_helper: Any) -> Iterator[None]:
    """Compare the rows of sections with their pages, whatever builders have done."""
    yield
    assert wrong_totals() == []
