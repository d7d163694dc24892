"""A path converter that matches only the files that the settings define.

All other paths are left to the project's own URL patterns, as if it were not there.
"""

from __future__ import annotations

from django_sitemaps_plus.conf import get_settings

from .files import key_files


class TextFileConverter:
    """``robots.txt``, where ROBOTS is set, and files that engines look for."""

    regex = r"[A-Za-z0-9_-]{1,128}\.txt"

    def to_python(self, value: str) -> str:
        """Return the name, or raise ValueError."""
        has_robots = get_settings().robots is not None
        if not (has_robots if value == "robots.txt" else value in key_files()):
            raise ValueError("the settings define no such file")
        return value

    to_url = to_python
