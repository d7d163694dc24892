"""Views: what crawlers and engines fetch; and, apart, a site map for people."""

from __future__ import annotations

from .files import KeyFileConverter, RobotsConverter, text_file
from .sitemaps import feed, index, moved, page, text

__all__ = [
    "KeyFileConverter",
    "RobotsConverter",
    "feed",
    "index",
    "moved",
    "page",
    "text",
    "text_file",
]
