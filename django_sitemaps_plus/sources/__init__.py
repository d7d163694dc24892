"""Where entries come from."""

from __future__ import annotations

from .adapter import SitemapSource
from .base import Source
from .model import ModelSource
from .rendering import rendering
from .route import Route
from .tally import Tally
from .view import ViewSource

__all__ = [
    "ModelSource",
    "Route",
    "SitemapSource",
    "Source",
    "Tally",
    "ViewSource",
    "rendering",
]
