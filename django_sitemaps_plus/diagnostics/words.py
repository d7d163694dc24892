"""Words: texts of others as far as they are shown, moments and times."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.utils import timezone
from django.utils.timesince import timesince
from django.utils.translation import get_language_bidi

#: Characters of what is said of one thing.
MAX_WORDS = 500


def at(moment: datetime) -> str:
    """Return a moment as people read it, in the time zone of the site."""
    if timezone.is_aware(moment):
        moment = timezone.localtime(moment, timezone.get_default_timezone())
    return f"{moment:%Y-%m-%d %H:%M %Z}".rstrip()


def shortened(words: str, most: int = MAX_WORDS) -> str:
    """Return words as far as they are shown, in a direction of their own."""
    words = words if len(words) <= most else f"{words[: most - 1]}…"
    return f"\u2068{words}\u2069" if words and get_language_bidi() else words


def span(seconds: float) -> str:
    """Return a time in words; 0 s for one that another clock puts into the future."""
    if seconds < 60:
        return f"{max(0.0, seconds):.0f} s"
    now = timezone.now()
    # Lines break elsewhere.
    return timesince(now - timedelta(seconds=seconds), now).replace("\xa0", " ")


def age_of(moment: datetime) -> float:
    """Return how many seconds ago a moment was."""
    return (timezone.now() - moment).total_seconds()
