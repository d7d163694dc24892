"""Mistakes that are planted to see that a test catches each."""

from __future__ import annotations
