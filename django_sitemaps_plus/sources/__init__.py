"""Where entries come from."""

from __future__ import annotations

from .base import Source
from .context import surroundings
from .contrib import SitemapSource
from .model import ModelSource
from .route import Route
from .tally import Tally
from .views import ViewSource

__all__ = [
    "ModelSource",
    "Route",
    "SitemapSource",
    "Source",
    "Tally",
    "ViewSource",
    "surroundings",
]
