"""Sitemaps for Django: complete, valid and fast, live or as static files."""

from __future__ import annotations

from .core.entries import Alternate, Entry, Image, News, Video
from .registry import register, registry
from .sources import ModelSource, Route, Source, ViewSource

__all__ = [
    "Alternate",
    "Entry",
    "Image",
    "ModelSource",
    "News",
    "Route",
    "Source",
    "Video",
    "ViewSource",
    "register",
    "registry",
]
