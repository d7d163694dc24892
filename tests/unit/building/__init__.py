"""Builds without a database."""

from __future__ import annotations
