"""Serving without a build: live pages, their cache and robots.txt."""

from __future__ import annotations
