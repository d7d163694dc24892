"""Sources, read from a real database."""

from __future__ import annotations
