"""Maintenance: status and pruning."""

from __future__ import annotations
