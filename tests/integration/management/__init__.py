"""The commands."""

from __future__ import annotations
