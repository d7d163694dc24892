"""Maintenance: status, advice and pruning."""

from __future__ import annotations
