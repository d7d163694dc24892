"""Answers without a build."""

from __future__ import annotations
