"""Messages of checks: what is wrong, what to do, and where to read more."""

from __future__ import annotations

from django.core import checks

#: Where each of them is explained, in the repository; a wheel does not contain it.
PAGE = "docs/reference/checks.md"


def error(number: int, message: str, hint: str) -> checks.CheckMessage:
    """Return a fault that keeps the app from working."""
    return _message(checks.ERROR, f"E{number:03}", message, hint)


def warning(number: int, message: str, hint: str) -> checks.CheckMessage:
    """Return a fault with which the app works less well."""
    return _message(checks.WARNING, f"W{number:03}", message, hint)


def _message(level: int, code: str, message: str, hint: str) -> checks.CheckMessage:
    hint = f"{hint} See {PAGE}#{code.lower()}"
    return checks.CheckMessage(level, message, hint, id=f"sitemaps_plus.{code}")


def reason_and_remedy(fault: Exception) -> tuple[str, str]:
    """Return what an error says, and its last sentence."""
    reason, _, remedy = str(fault).rpartition(". ")
    return f"{reason}.", remedy
