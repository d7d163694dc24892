"""Prepared queries and the verbs of rows."""

from __future__ import annotations
