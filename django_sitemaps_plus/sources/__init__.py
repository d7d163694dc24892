"""Sources: where entries come from."""

from __future__ import annotations

from .base import Source
from .context import as_requested, surroundings
from .contrib import SitemapSource
from .lines import Tally
from .model import ModelSource
from .reading import Reader, reader_of
from .route import Route
from .trees import Under, under
from .views import ViewSource

__all__ = [
    "ModelSource",
    "Reader",
    "Route",
    "SitemapSource",
    "Source",
    "Tally",
    "Under",
    "ViewSource",
    "as_requested",
    "reader_of",
    "surroundings",
    "under",
]
