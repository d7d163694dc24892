"""Views: what crawlers and engines fetch."""

from __future__ import annotations

from .converters import KeyFileConverter, RobotsConverter
from .files import key_file, robots
from .sitemaps import index, page

__all__ = ["KeyFileConverter", "RobotsConverter", "index", "key_file", "page", "robots"]
