"""A module of a project that cannot be imported."""

from __future__ import annotations

raise RuntimeError("no licence")
