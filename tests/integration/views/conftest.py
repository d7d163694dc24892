"""Sections that are served live, or from what was built."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.builds import build
from tests.integration.published import age
from tests.integration.shop import limited, make_products


@pytest.fixture(params=["live", "published"])
def served(request: Any, sections: Any) -> str:
    """Have 15 products on two pages; return how they are served."""
    make_products(15)
    sections.register("products", limited(10))
    if request.param == "published":
        build()
        age()
    return str(request.param)
