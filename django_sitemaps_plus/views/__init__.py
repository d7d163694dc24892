"""Views: what crawlers and engines fetch."""

from __future__ import annotations

from .converters import TextFileConverter
from .files import text_file
from .sitemaps import index, page

__all__ = ["TextFileConverter", "index", "page", "text_file"]
