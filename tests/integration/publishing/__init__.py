"""The public tree: stable names that web servers serve."""

from __future__ import annotations
