"""Values and pure functions."""

from __future__ import annotations
