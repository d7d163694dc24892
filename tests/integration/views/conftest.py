"""Sections that are served live, or from what was built."""

from collections.abc import Iterator
from typing import Any

import pytest

from django_sitemaps_plus.serving import robots_txt
from tests.support.builds import build_fully
from tests.support.published import age


@pytest.fixture(params=["live", "published"])
def served(request: Any, stock: Any) -> str:
    """Have 15 products on two pages; return how they are served."""
    stock(15)
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
def django_site(settings: Any) -> Iterator[dict[int, Any]]:
    """Have django.contrib.sites with one site in its cache, without its table."""
    settings.INSTALLED_APPS = [*settings.INSTALLED_APPS, "django.contrib.sites"]
    settings.SITE_ID = 1
    from django.contrib.sites.models import SITE_CACHE, Site

    SITE_CACHE[1] = Site(pk=1, domain="sites.example", name="A site")
    yield SITE_CACHE
    SITE_CACHE.clear()
