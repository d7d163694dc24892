"""Publishing: stable file names for web servers."""

from __future__ import annotations
