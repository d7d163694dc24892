"""Feedback: what engines themselves report about feeds that were submitted."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Q
from django.utils import timezone

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.exceptions import EngineError
from django_sitemaps_plus.models import Delivery, EngineHost
from django_sitemaps_plus.outages import ends_work

from .base import Engine, Takes
from .outbox import present_feeds
from .secrets import without_text

logger = logging.getLogger(__name__)

#: Time between two questions about the same feed.
ASK_AGAIN = timedelta(days=1)


def read_back(
    site: Site, engines: Iterable[Engine], until: datetime | None = None
) -> None:
    """Ask engines once a day about the feeds that they accepted; keep the answers."""
    for engine in engines:
        if engine.takes is not Takes.FEEDS or not _may_ask(site, engine):
            continue
        rows = Delivery.objects.of(site.name, engine.name)
        rows = rows.to(present_feeds(site, engine) or ()).filter(sent__gt=0)
        before = timezone.now() - ASK_AGAIN
        rows = rows.filter(Q(feedback_at=None) | Q(feedback_at__lt=before))
        for row in rows:
            if until is not None and timezone.now() >= until:
                return
            if rows.filter(pk=row.pk).update(feedback_at=timezone.now()):
                feedback = _ask(engine, site, row)
                Delivery.objects.filter(pk=row.pk).update(feedback=feedback)


def _may_ask(site: Site, engine: Engine) -> bool:
    # Engines that report nothing inherit this.
    if type(engine).read_back is Engine.read_back:
        return False
    hosts = EngineHost.objects.filter(site=site.name, engine=engine.name)
    is_closed = ~Q(parked_reason="") | Q(not_before__gt=timezone.now())
    return not hosts.filter(is_closed).exists()


def _ask(engine: Engine, site: Site, row: Delivery) -> dict[str, Any] | None:
    """Return what an engine reports; if it fails, what it last reported, and why."""
    try:
        feedback = engine.read_back(site, row.target)
        json.dumps(feedback, allow_nan=False)  # or the row could not hold it
        return feedback
    except EngineError as error:
        reason = str(error)[:2_000]
    except Exception as error:  # an engine may be the user's code
        if ends_work(error):
            raise
        why = without_text(error)
        logger.error("%r could not be asked about %s: %s", engine, row.target, why)
        reason = f"it raised {type(error).__name__}"
    before = row.feedback if isinstance(row.feedback, dict) else {}
    return {**before, "error": reason}
