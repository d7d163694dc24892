"""While developing: changes wait, since neither cron nor a worker builds them."""

from __future__ import annotations

import logging
from contextlib import suppress

from django.conf import settings

from django_sitemaps_plus.conf import AppSettings, get_settings
from django_sitemaps_plus.models.transactions import contained
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.tracking.collecting import waiting_changes

logger = logging.getLogger(__name__)

_is_known = False


def say_that_changes_wait() -> None:
    """Log once, until they are built, that what is served is not up to date.

    Under DEBUG only, and not where an executor wakes workers.
    """
    global _is_known
    if not settings.DEBUG or get_settings().executor != AppSettings().executor:
        return
    with suppress(Exception), contained():  # an answer needs none of it
        waiting = sum([number for number, _ in waiting_changes(registry).values()])
        if waiting and not _is_known:
            words = "1 change waits" if waiting == 1 else f"{waiting:,} changes wait"
            logger.warning(
                "%s: run manage.py build_sitemaps, or a worker",
                words,
                extra={"action": "changes_wait"},
            )
        _is_known = bool(waiting)
