"""Values of the setting that a test changes."""

from typing import Any


def configure(settings: Any, **values: Any) -> None:
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, **values}
