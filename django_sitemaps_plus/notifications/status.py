"""How the engines are: the numbers behind ``sitemap_status``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db.models import Count, Max, Min, Q
from django.utils import timezone

from django_sitemaps_plus.conf import Site, get_settings
from django_sitemaps_plus.models import Delivery, EngineHost

from .base import Takes
from .configuration import get_engines


@dataclass(slots=True, kw_only=True)
class EngineStatus:
    """How one engine is."""

    engine: str
    waiting: int = 0  # targets that it is still to be told
    dead: int = 0  # targets that it rejected
    sent_at: datetime | None = None  # when it was last told something
    oldest: datetime | None = None  # when what waits longest was committed
    parked: dict[str, str] = field(default_factory=dict)  # hosts, and why
    failing: dict[str, str] = field(default_factory=dict)  # hosts, and the last error
    error: str = ""  # of a target that it rejected
    feedback: dict[str, Any] = field(default_factory=dict)  # what it says, by feed

    @property
    def problems(self) -> list[str]:
        """What needs a person, in words."""
        mend = "Set it right, then run notify_search_engines --retry"
        found = [
            f"{self.engine} is told nothing of {host}: {why.rstrip('.')}. {mend}"
            for host, why in self.parked.items()
        ]
        if self.dead:
            found.append(
                f"{self.engine} rejected {self.dead:,} targets: {self.error}. {mend}"
            )
        return found

    def age(self) -> float | None:
        """Return for how many seconds it has not been told what waits longest."""
        if self.oldest is None:
            return None
        return (timezone.now() - self.oldest).total_seconds()


def status(site: Site) -> list[EngineStatus]:
    """Return how every engine is that is configured or has rows, by name."""
    found: dict[str, EngineStatus] = {}
    for row in _rows(site):
        found[row["engine"]] = EngineStatus(
            **{name: value for name, value in row.items() if value is not None}
        )
    for name in get_settings().engines:
        found.setdefault(name, EngineStatus(engine=name))
    for recipient in EngineHost.objects.filter(site=site.name):
        engine = found.setdefault(
            recipient.engine, EngineStatus(engine=recipient.engine)
        )
        engine.sent_at = max(
            filter(None, (engine.sent_at, recipient.sent_at)), default=None
        )
        if recipient.parked_reason:
            engine.parked[recipient.host] = recipient.parked_reason
        elif recipient.failures:
            engine.failing[recipient.host] = recipient.error
    for target, name, said in _feedback(site):
        found[name].feedback[target] = said
    return [found[name] for name in sorted(found)]


def _feedback(site: Site) -> Iterable[tuple[str, str, Any]]:
    # Asked for by engine, or the database looks through all URLs that were ever told.
    takers = [e.name for e in get_engines().values() if e.takes is Takes.FEEDS]
    rows = Delivery.objects.filter(site=site.name, engine__in=takers, wanted__gt=0)
    rows = rows.filter(feedback__isnull=False).order_by("engine", "target")
    return rows.values_list("target", "engine", "feedback")


def _rows(site: Site) -> list[dict[str, Any]]:
    waiting, dead = Q(state=Delivery.State.WAITING), Q(state=Delivery.State.DEAD)
    rows: Any = (
        # The rest was told, and may be millions.
        Delivery.objects.filter(waiting | dead, site=site.name)
        .values("engine")
        .annotate(
            waiting=Count("pk", filter=waiting),
            dead=Count("pk", filter=dead),
            oldest=Min("changed_at", filter=waiting),
            error=Max("error", filter=dead),
        )
        .order_by()
    )
    return list(rows)
