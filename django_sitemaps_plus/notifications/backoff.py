"""Backoff: how long a failing engine is paused, and what it gets next."""

from __future__ import annotations

import random
from datetime import timedelta

from django_sitemaps_plus.exceptions import RetryLater
from django_sitemaps_plus.models.claims import pause_seconds

from .http.answers import MAX_RETRY_AFTER

#: The longest pause after a failure: 48 hours of failures are fewer than 60 requests.
LONGEST_PAUSE = timedelta(hours=1)

#: Single targets in a row that are rejected for the first time, until it is parked.
MAX_REJECTIONS = 20

#: Single targets that are blamed for failures, without a success in between.
MAX_BLAMED = 3


def pause(failures: int, error: RetryLater, first_seconds: float) -> timedelta:
    """Return the pause after failures in a row; the engine may ask for a longer one."""
    seconds = pause_seconds(failures, first_seconds, LONGEST_PAUSE.total_seconds())
    # The pause only grows, so that many hosts do not come at once, nor more often.
    seconds *= random.uniform(1.0, 1.2)  # noqa: S311
    # An engine of the project's own may ask for anything.
    asked = error.after if isinstance(error.after, int | float) else 0.0
    return timedelta(seconds=max(seconds, min(asked, MAX_RETRY_AFTER)))


def batch_after_failure(batch: int, sent: int, error: RetryLater) -> int:
    """Return the most targets of the next request; 0 for all that the engine takes."""
    # Retry-After means that the engine is busy: fewer targets would not help.
    return batch if error.after else sent // 2 or batch


def batch_after_success(batch: int, most: int) -> int:
    """Return the most targets of the next request, twice as many; 0 for ``most``."""
    return 2 * batch if 2 * batch < most else 0


def is_to_blame(targets: int, attempts: int, failures: int, blamed: int) -> bool:
    """Return whether a request failed because of its target, and not of the engine.

    The target has failed ``attempts`` times, the engine ``failures`` times in a row.
    """
    return targets == 1 and attempts > 0 and failures == 0 and blamed < MAX_BLAMED
