"""The project whose database and files are kept: its sections and its engines."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

from django.test import override_settings

from django_sitemaps_plus import ModelSource, Route, ViewSource
from django_sitemaps_plus.notifications import Batch, Takes
from django_sitemaps_plus.testing import RecordingEngine, temporary_registry
from tests.support.shop import limited
from tests.support.testapp.models import Label

KEPT = Path(__file__).parent / "1.0.0rc1"

#: Names of tables that the project itself has, of which the rows are kept.
TABLES = ("testapp_product", "testapp_label")


class LabelSource(ModelSource):
    model = Label
    location = Route("label-detail", code="code")
    limit = 3


class PageSource(ViewSource):
    views = ["home", "about"]


class UrlEngine(RecordingEngine):
    """Takes URLs."""


class FeedEngine(RecordingEngine):
    takes = Takes.FEEDS
    follows_content = True
    batches: ClassVar[list[Batch]] = []


@contextmanager
def project(media_root: Path, **values: Any) -> Iterator[None]:
    """Be a process of the project for the time of a ``with`` block."""
    engines = {"urls": UrlEngine, "feeds": FeedEngine}
    setting = {
        "BASE_URL": "https://example.com",
        "TRACK": True,
        "NOTIFY": True,
        "NOTIFY_DELAY_SECONDS": 0,
        "NOTIFY_INTERVAL_SECONDS": 0,
        "ENGINES": {
            name: {"BACKEND": f"{kind.__module__}.{kind.__qualname__}"}
            for name, kind in engines.items()
        },
    }
    for kind in engines.values():
        kind.clear()
    with (
        override_settings(MEDIA_ROOT=str(media_root), SITEMAPS_PLUS=setting | values),
        temporary_registry() as registry,
    ):
        registry.register("products", limited(10))
        registry.register("labels", LabelSource)
        registry.register("pages", PageSource)
        yield
