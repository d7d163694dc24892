"""System checks: faults of the configuration, told before a crawler finds them.

An id is never used for another fault; docs/reference/checks.md has a line for each.
"""

from __future__ import annotations

from .settings import check_settings
from .sources import check_sources
from .urls import check_urls

CHECKS = (check_settings, check_sources, check_urls)

__all__ = ["CHECKS", "check_settings", "check_sources", "check_urls"]
