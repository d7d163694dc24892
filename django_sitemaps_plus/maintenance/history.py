"""History: what the last 30 days came to, for the page of a section."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta

from django.utils import timezone

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.models import Figure
from django_sitemaps_plus.models.figures import KEPT


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """The days of a section, the oldest first."""

    days: list[date]
    entries: list[float | None]  # after the last build by then; None before the first
    rendered: list[float]  # pages, by all builds of the day

    @property
    def is_empty(self) -> bool:
        """Whether no build of these days has rendered a page."""
        return self.entries[-1] is None


def read_history(section: str, site: Site) -> History:
    """Return the history of a section in the current time zone, by one query."""
    today, kind = _day(timezone.now()), Figure.Kind
    days = [today - timedelta(days=ago) for ago in reversed(range(KEPT.days))]
    entries: list[float | None] = [None] * len(days)
    rendered = [0.0] * len(days)
    rows = Figure.objects.since(timezone.now() - KEPT)
    rows = rows.filter(
        site=site.name, name=section, kind__in=[kind.ENTRIES, kind.PAGES]
    )
    for hour, of, value in rows.order_by("hour").values_list("hour", "kind", "value"):
        # The first hours are of the day before; another clock may be ahead.
        at = min((_day(hour) - days[0]).days, len(days) - 1)
        if of == kind.ENTRIES:
            at = max(at, 0)
            entries[at:] = [value] * (len(days) - at)
        elif at >= 0:
            rendered[at] += value
    return History(days=days, entries=entries, rendered=rendered)


def _day(moment: datetime) -> date:
    # Without USE_TZ there are no zones.
    return moment.date() if timezone.is_naive(moment) else timezone.localdate(moment)
