"""Tests of the plan: which page owns which keys, and how that changes."""

from __future__ import annotations
