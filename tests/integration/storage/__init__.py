"""Storage on a real file system."""

from __future__ import annotations
