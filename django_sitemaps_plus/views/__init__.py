"""Views: what crawlers and engines fetch, and a site map for people."""

from __future__ import annotations

from .files import KeyFileConverter, RobotsConverter, text_file
from .html_site_map import site_map
from .sitemaps import feed, index, moved, page, text

__all__ = [
    "KeyFileConverter",
    "RobotsConverter",
    "feed",
    "index",
    "moved",
    "page",
    "site_map",
    "text",
    "text_file",
]
