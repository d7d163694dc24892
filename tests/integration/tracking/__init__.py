"""Tests of noticing what has changed."""

from __future__ import annotations
