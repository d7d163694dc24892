"""Check that each database with tracked objects may have the table of changes."""

from __future__ import annotations

from typing import Any

from django.core.checks import CheckMessage
from django.db import router

from django_sitemaps_plus.tracking.databases import may_hold_changes
from django_sitemaps_plus.tracking.watching import watched_models

from .messages import warning


def check_routers(**kwargs: Any) -> list[CheckMessage]:
    """Return the databases of watched models where routers forbid our tables."""
    written = {router.db_for_write(it): it._meta.label for it in watched_models()}
    return [
        warning(
            5,
            f"{label} is on the database {alias!r}, which lacks the tables of "
            "sitemaps_plus, so saves and deletions there are not recorded.",
            "Let allow_migrate() of your routers return True there for sitemaps_plus.",
        )
        for alias, label in written.items()
        if not may_hold_changes(alias)
    ]
