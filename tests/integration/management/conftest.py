"""A site whose engines are told by a command."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from django_sitemaps_plus import ViewSource
from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.registry import SourceRegistry
from django_sitemaps_plus.testing import RecordingEngine
from tests.support.shop import limited, make_products

from .notifying import FeedEngine


class Pages(ViewSource):
    """Views without rows, and so without dates."""

    views = ("home", "about")


@pytest.fixture
def told_site(configure: Any, sections: SourceRegistry) -> Iterator[SourceRegistry]:
    """Publish five products and two views; have an engine for URLs, one for feeds.

    They are told at once, by the names "one" and "two".
    """
    kinds = {"one": RecordingEngine, "two": FeedEngine}
    configure(
        ENGINES={
            name: {"BACKEND": f"{kind.__module__}.{kind.__qualname__}"}
            for name, kind in kinds.items()
        },
        NOTIFY=True,
        NOTIFY_DELAY_SECONDS=0,
    )
    make_products(5)
    sections.register("products", limited(10))
    sections.register("pages", Pages)
    build()
    yield sections
    RecordingEngine.clear()
    FeedEngine.clear()
