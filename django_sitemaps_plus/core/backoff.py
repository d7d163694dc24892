"""Backoff: how long what fails is left alone."""

from __future__ import annotations


def pause_seconds(failures: int, first: float, longest: float) -> float:
    """Return the pause after failures in a row: each is twice as long as the last."""
    return min(first * 2.0 ** min(max(failures, 1) - 1, 20), longest)
