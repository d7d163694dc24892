"""The form of our messages: what is wrong, what to do, where to read more."""

from __future__ import annotations

from typing import Any

from django.core.checks import CheckMessage, Error, Warning


def error(number: int, message: str, hint: str, obj: Any = None) -> CheckMessage:
    """Return what must be mended before the app can work."""
    code = f"E{number:03}"
    return Error(message, _with_anchor(hint, code), obj, f"sitemaps_plus.{code}")


def warning(number: int, message: str, hint: str, obj: Any = None) -> CheckMessage:
    """Return what works, but not as well as it could."""
    code = f"W{number:03}"
    return Warning(message, _with_anchor(hint, code), obj, f"sitemaps_plus.{code}")


def _with_anchor(hint: str, code: str) -> str:
    return f"{hint} See docs/reference/checks.md#{code.lower()}"
