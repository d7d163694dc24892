"""Words: texts of others as far as they are shown, moments and times."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone
from django.utils.timesince import timesince
from django.utils.translation import get_language_bidi, ngettext_lazy
from django.utils.translation import gettext as _

# Whole phrases, since "3 days" has another form in "3 days ago" in some languages.
_AGO: dict[str, Any] = {
    "year": ngettext_lazy("%(num)d year ago", "%(num)d years ago", "num"),
    "month": ngettext_lazy("%(num)d month ago", "%(num)d months ago", "num"),
    "week": ngettext_lazy("%(num)d week ago", "%(num)d weeks ago", "num"),
    "day": ngettext_lazy("%(num)d day ago", "%(num)d days ago", "num"),
    "hour": ngettext_lazy("%(num)d hour ago", "%(num)d hours ago", "num"),
    "minute": ngettext_lazy("%(num)d minute ago", "%(num)d minutes ago", "num"),
}

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


def age(moment: datetime | None) -> str:
    """Return how long ago a moment was, in one unit; a dash for None."""
    if moment is None:
        return "\N{EN DASH}"
    if timezone.now() - moment < timedelta(minutes=1):
        return _("just now")
    return timesince(moment, time_strings=_AGO, depth=1)
