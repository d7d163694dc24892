"""Template tags."""

from __future__ import annotations
