"""Documents to compare with, in tests/golden."""

from __future__ import annotations

from pathlib import Path

GOLDEN = Path(__file__).parents[3] / "golden"


def golden(name: str) -> bytes:
    """Return the bytes that a document must have."""
    return (GOLDEN / name).read_bytes()
