"""Sections that are served live, or from what was built."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from django_sitemaps_plus.models import INDEX, Page, Section
from django_sitemaps_plus.serving import robots_txt
from tests.support.builds import build_fully
from tests.support.published import age
from tests.support.settings import SITEMAPS_PLUS
from tests.support.shop import limited, make_products


@pytest.fixture(params=["live", "published"])
def served(request: Any, sections: Any) -> str:
    """Have 15 products on two pages; return how they are served."""
    make_products(15)
    sections.register("products", limited(10))
    if request.param == "published":
        build_fully()
        age()
    return str(request.param)


@pytest.fixture(autouse=True)
def untold_indexes() -> Iterator[None]:
    """Begin each test as a process that has named no index."""
    robots_txt._last.clear()
    yield
    robots_txt._last.clear()


@pytest.fixture
def set_robots(settings: Any) -> Any:
    """Have a robots_txt.txt; return what sets keys of ROBOTS."""

    def set_robots(**given: Any) -> None:
        settings.SITEMAPS_PLUS = {**SITEMAPS_PLUS, "ROBOTS": given}

    set_robots()
    return set_robots


@pytest.fixture
def indexes() -> None:
    """Have a second index, and a third that has nothing to list any more."""
    section = Section.objects.create(site="default", name=INDEX)
    Page.objects.create(section=section, number=0, built=1, entries=50_000)
    Page.objects.create(section=section, number=2, built=1, entries=1, object="x")
    Page.objects.create(section=section, number=3, built=1, entries=0)
