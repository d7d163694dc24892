"""Views: what crawlers and engines fetch."""

from __future__ import annotations

from .converters import KeyFileConverter, RobotsConverter
from .files import text_file
from .sitemaps import index, page

__all__ = ["KeyFileConverter", "RobotsConverter", "index", "page", "text_file"]
