"""Sources: where entries come from."""

from __future__ import annotations

from .base import ModelSource, Source, Under, ViewSource, under
from .contrib import SitemapSource
from .languages import as_requested, surroundings
from .lines import Tally
from .reading import Reader, reader_of
from .route import Route

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
