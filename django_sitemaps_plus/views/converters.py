"""Path converters that match only the files that the settings define.

All other paths are left to the project's own URL patterns, as if these were not there.
"""

from __future__ import annotations

from django_sitemaps_plus.conf import get_settings, sites_of_settings
from django_sitemaps_plus.sites import for_each

from .files import key_files


class RobotsConverter:
    """``robots.txt``, where ROBOTS is set."""

    regex = r"robots\.txt"

    def to_python(self, value: str) -> str:
        robots = for_each(sites_of_settings(), lambda: get_settings().robots)
        if all([it is None for it in robots]):
            raise ValueError("ROBOTS is not set")
        return value

    to_url = to_python


class KeyFileConverter:
    """The name of a file that a configured engine looks for."""

    regex = r"[A-Za-z0-9_-]{1,128}\.txt"

    def to_python(self, value: str) -> str:
        if value not in key_files():
            raise ValueError("no engine looks for such a file")
        return value

    to_url = to_python
