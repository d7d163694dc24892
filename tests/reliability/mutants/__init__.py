"""Mistakes that are planted to see that a test catches each."""

from __future__ import annotations

from . import admin, builds, deliveries, files, requests, serving, tasks, versions

__all__ = [
    "admin",
    "builds",
    "deliveries",
    "files",
    "requests",
    "serving",
    "tasks",
    "versions",
]
