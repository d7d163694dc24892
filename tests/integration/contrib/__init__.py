"""Tests of what stands in the place of other packages."""

from __future__ import annotations
