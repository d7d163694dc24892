"""Recipients: when an engine takes requests about a host, and from whom."""

from __future__ import annotations

import logging
import random
import secrets
from datetime import datetime, timedelta

from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone

from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.exceptions import EngineError, EngineRefused, RetryLater
from django_sitemaps_plus.models import EngineHost, RowQuerySet
from django_sitemaps_plus.models.transactions import retried

from .http.answers import MAX_RETRY_AFTER

logger = logging.getLogger(__name__)

#: The longest pause between two requests to an engine that fails. With pauses that
#: double up to it, 48 hours of failures are fewer than 60 requests.
LONGEST_PAUSE = timedelta(hours=1)

#: Single targets in a row, none of them rejected before, that an engine may reject
#: before it is parked.
MAX_REJECTIONS = 20


@retried
def take(site: str, engine: str, host: str) -> EngineHost | None:
    """Become the only one to tell an engine of a host; None where that may not be now.

    Somebody else is at it, it has failed a moment ago, or it is parked.
    """
    rows = EngineHost.objects.filter(site=site, engine=engine, host=host)
    recipient = rows.first()
    if recipient is None:
        EngineHost.objects.bulk_create(
            # By our clock, as all times of pauses; that of a database may differ.
            [
                EngineHost(
                    site=site, engine=engine, host=host, not_before=timezone.now()
                )
            ],
            ignore_conflicts=True,
        )
        recipient = rows.get()
    given_up = Q(token="") | Q(claimed_at__lt=Now() - get_settings().lease)
    free = rows.filter(given_up, parked_reason="", not_before__lte=timezone.now())
    recipient.token = secrets.token_hex(16)
    if not free.update(token=recipient.token, claimed_at=Now()):
        return None
    recipient.refresh_from_db()
    return recipient


def renew(recipient: EngineHost) -> bool:
    """Begin its lease anew; return False where somebody else has taken it over."""
    return bool(_mine(recipient).update(claimed_at=Now()))


def words_of(error: EngineError) -> str:
    """Return what an engine said, as far as it is kept."""
    return str(error)[:2_000]


def may_be_told(recipient: EngineHost) -> datetime:
    """Return when it may be told: after its pause, and once nobody else is at it."""
    if not recipient.token:
        return recipient.not_before
    return max(recipient.not_before, timezone.now() + get_settings().lease)


@retried
def leave(recipient: EngineHost) -> None:
    """Let others tell it."""
    _mine(recipient).update(token="", claimed_at=None)


def note(recipient: EngineHost, **fields: object) -> None:
    """Note what is known of a recipient, as long as it is still ours."""
    for name, value in fields.items():
        setattr(recipient, name, value)
    _mine(recipient).update(**fields)


def is_well(recipient: EngineHost, sent_at: datetime, most: int) -> None:
    """Note that a request was accepted; twice as much may be told next, up to most."""
    # One after failures had fewer targets, which says nothing of more.
    wider = recipient.batch if recipient.failures else 2 * recipient.batch
    batch = wider if wider < most else 0
    note(recipient, failures=0, rejections=0, error="", sent_at=sent_at, batch=batch)


def pause(recipient: EngineHost, error: RetryLater, fewer: int) -> None:
    """Let a recipient rest, longer after each failure, or for as long as it asks.

    Args:
        recipient: the one that failed.
        error: how.
        fewer: targets that are told at once from then on; 0 for as many as now.
    """
    failures = recipient.failures + 1
    pause = rest(failures, error)
    note(
        recipient,
        failures=failures,
        not_before=timezone.now() + pause,
        batch=fewer or recipient.batch,
        error=words_of(error),
    )
    logger.warning(
        "%s is told again in %.0f s: %s",
        recipient,
        pause.total_seconds(),
        error,
        extra={"action": "engine_failed"},
    )


def rest(failures: int, error: RetryLater) -> timedelta:
    """Return for how long nothing is tried again, after failures in a row."""
    # An engine of the project's own may ask for any time.
    asked = error.after if isinstance(error.after, int | float) else 0.0
    seconds = max(_pause_seconds(failures), min(asked, MAX_RETRY_AFTER))
    return timedelta(seconds=seconds)


def _pause_seconds(failures: int) -> float:
    first = get_settings().notify_retry_seconds
    doubled: float = first * 2 ** min(failures - 1, 20)
    # Only ever longer, so that many recipients do not come at once, nor more often.
    return min(doubled, LONGEST_PAUSE.total_seconds()) * random.uniform(1.0, 1.2)  # noqa: S311


def park(recipient: EngineHost, error: EngineRefused) -> None:
    """Tell a recipient nothing more, until somebody has set right what it says."""
    note(recipient, parked_reason=words_of(error) or type(error).__name__)
    logger.error(
        "%s is told nothing more: %s. Set it right, then run: manage.py "
        "notify_search_engines --retry",
        recipient,
        error,
        extra={"action": "engine_parked"},
    )


def _mine(recipient: EngineHost) -> RowQuerySet[EngineHost]:
    return EngineHost.objects.filter(pk=recipient.pk, token=recipient.token)
