"""Sources: where entries come from."""

from __future__ import annotations

from .base import ModelSource, Source, ViewSource
from .context import as_requested, surroundings
from .contrib import SitemapSource
from .lines import Tally
from .reading import Reader, reader_of
from .route import Route
from .trees import Under, under

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
