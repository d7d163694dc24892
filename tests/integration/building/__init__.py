"""Builds, from rows to published objects."""

from __future__ import annotations
