"""Suggestions: what somebody may have meant by a name that is unknown."""

from __future__ import annotations

import difflib
from collections.abc import Collection


def suggest(
    name: str, known: Collection[str], otherwise: str = "", cutoff: float = 0.6
) -> str:
    """Return the hint for an unknown name: the closest that is known, or another."""
    close = difflib.get_close_matches(name, known, n=1, cutoff=cutoff)
    return f"Did you mean {close[0]!r}?" if close else otherwise
