"""Figures: what each hour came to, and the dashboard that shows it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db import models
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from .base import Row, RowQuerySet, retried
from .prepared import Update, prepared
from .sections import Section

#: How long figures are kept, whatever the size of a site.
KEPT = timedelta(days=30)


class FigureQuerySet(RowQuerySet["Figure"]):
    """Figures by what they are of."""

    def since(self, moment: datetime) -> FigureQuerySet:
        """Return those of hours that were not over at a moment."""
        return self.filter(hour__gt=moment - timedelta(hours=1))

    def add(self, site: str, name: str, added: Mapping[Figure.Kind, float]) -> None:
        """Add to the figures of the present hour; some kinds keep the last number."""
        hour = timezone.now().replace(minute=0, second=0, microsecond=0)
        for kind, value in added.items():
            self._add(value, site=site, name=name, kind=kind.value, hour=hour)

    # Added one at a time: what was added before a deadlock is not added twice.
    @retried
    def _add(self, value: float, **key: Any) -> None:
        is_state = key["kind"] in Figure.STATES
        if not self.added(is_state, value=value, **key):
            self.bulk_create([Figure(**key)], ignore_conflicts=True)
            self.added(is_state, value=value, **key)

    @prepared
    def added(self, is_state: bool, /, *, value: Any, **key: Any) -> Update:
        """Set the number of a state, or add to another."""
        return self.filter(**key), {"value": value if is_state else F("value") + value}


class Figure(Row):
    """A number of one hour, of a section or an engine."""

    class Kind(models.TextChoices):
        """The things that are counted."""

        ENTRIES = "entries"  # that a section has after its last build of the hour
        PAGES = "pages"  # with entries, the same
        SKIPPED = "skipped"  # rows that it leaves out after its last build of the hour
        ACCEPTED = "accepted"  # targets
        FAILED = "failed"  # targets of requests that are made again
        RATE = "rate"  # entries a second of one process, by its last build of the hour
        FINDINGS = "findings"  # of the last audit of the hour, of the index

    #: Kinds that say how a section is: the last number of an hour counts, no sum.
    STATES = (Kind.ENTRIES, Kind.PAGES, Kind.SKIPPED, Kind.RATE, Kind.FINDINGS)

    site = models.CharField(max_length=64)
    name = models.CharField(max_length=64)  # of a section or an engine
    kind = models.CharField(max_length=8, choices=Kind)
    hour = models.DateTimeField()  # when it began
    value = models.FloatField(default=0)

    objects = FigureQuerySet.as_manager()

    class Meta(Row.Meta):
        constraints = [
            models.UniqueConstraint(
                fields=["site", "kind", "name", "hour"], name="sitemaps_plus_figure_key"
            )
        ]
        indexes = [models.Index(fields=["hour"], name="sitemaps_plus_figure_hour")]

    def __str__(self) -> str:
        return f"{self.kind} of {self.name} at {self.hour}"


class Dashboard(Section):
    """The admin's dashboard, with the permissions of its users."""

    class Meta(Section.Meta):
        proxy = True
        verbose_name = _("dashboard")
        verbose_name_plural = _("Dashboard")
        default_permissions = ("view",)
        permissions = [
            ("refresh_sections", "Can have sections built"),
            ("rebuild_sections", "Can have every page of sections built"),
            ("release_sections", "Can let the guard pass held sections"),
            ("pause_engines", "Can pause and resume engines"),
            ("retry_deliveries", "Can have rejected targets submitted again"),
            ("submit_urls", "Can submit URLs to engines"),
        ]
