"""Tests without a database; they mirror the package."""

from __future__ import annotations
