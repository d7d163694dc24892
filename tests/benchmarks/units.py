"""Figures as people read them."""

from __future__ import annotations

_MEASURED = ("s", "MiB")


def amount(value: float, unit: str) -> str:
    """Return a figure with its unit."""
    if unit == "s" and abs(value) < 1:
        value, unit = value * 1_000, "ms"
    elif unit not in _MEASURED:
        return f"{value:,.0f} {unit}"
    return f"{value:.{decimals(value)}f} {unit}"


def decimals(value: float) -> int:
    """Return how many decimals make three digits of a figure, about."""
    return 0 if value >= 100 else 1 if value >= 10 else 2
