"""Values of the setting that a test changes."""

from __future__ import annotations

from typing import Any


def configure(settings: Any, **values: Any) -> None:
    """Change values of ``SITEMAPS_PLUS`` until the test ends."""
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, **values}
