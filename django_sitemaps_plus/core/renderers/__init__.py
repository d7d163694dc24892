"""Documents as streams of bytes; the same input always gives the same bytes."""

from __future__ import annotations

from .index import page_lines, render_index
from .urlset import entry_line, render_urlset, url_line

__all__ = [
    "RENDERER_VERSION",
    "entry_line",
    "page_lines",
    "render_index",
    "render_urlset",
    "url_line",
]

#: Raised whenever the same entries come to be written in other bytes.
RENDERER_VERSION = 1
