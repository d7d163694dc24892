"""Documents as streams of bytes; the same input always gives the same bytes."""

from __future__ import annotations

from .index import page_lines, render_index
from .text import render_text
from .urlset import render_urlset

__all__ = [
    "RENDERER_VERSION",
    "page_lines",
    "render_index",
    "render_text",
    "render_urlset",
]

#: Raised whenever the same entries come to be written in other bytes.
RENDERER_VERSION = 1
