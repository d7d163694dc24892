"""System checks: they report faults of the configuration.

An id is never used for another fault; docs/reference/checks.md has a line for each.
"""

from __future__ import annotations

from .crawlers import check_built, check_engines, check_keys, check_robots, check_urls
from .settings import (
    check_adopted,
    check_current_site,
    check_public_origin,
    check_settings,
    check_sites,
    check_token,
)
from .sources import check_sources
from .watching import check_routers, check_row_caches, check_views

CHECKS = (
    check_adopted,
    check_engines,
    check_robots,
    check_routers,
    check_row_caches,
    check_settings,
    check_sites,
    check_sources,
    check_urls,
)

#: Checks that ask the databases which a command names.
DATABASE_CHECKS = (check_built, check_current_site, check_views)

#: Checks of `check --deploy`: what other environments than that of production lack.
DEPLOY_CHECKS = (check_keys, check_public_origin, check_token)
