"""Messages of checks: what is wrong, what to do, and where to read more."""

from __future__ import annotations

from typing import Any

from django.core import checks


def error(number: int, message: str, hint: str, obj: Any = None) -> checks.CheckMessage:
    """Return a fault that keeps the app from working."""
    code = f"E{number:03}"
    return checks.Error(message, _with_anchor(hint, code), obj, f"sitemaps_plus.{code}")


def warning(
    number: int, message: str, hint: str, obj: Any = None
) -> checks.CheckMessage:
    """Return a fault with which the app works less well."""
    code = f"W{number:03}"
    return checks.Warning(
        message, _with_anchor(hint, code), obj, f"sitemaps_plus.{code}"
    )


def _with_anchor(hint: str, code: str) -> str:
    return f"{hint} See docs/reference/checks.md#{code.lower()}"
