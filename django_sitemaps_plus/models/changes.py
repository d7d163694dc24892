"""Changes: rows that are deleted once their pages are marked dirty."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now

from .base import Row, RowQuerySet


class Change(Row):
    """Something of a section was saved or deleted; kept on the object's database."""

    class Kind(models.TextChoices):
        """The kind of values in `low` and `high`."""

        KEY = "key", "key"  # low is the key of a row
        RANGE = "range", "range"  # the keys from low to high, both included
        RELATED = "related", "related"  # low leads to rows, by the way that high names
        UNKNOWN = "unknown", "unknown"  # any rows: all pages are compared

    section = models.CharField(max_length=64)
    kind = models.CharField(max_length=8, choices=Kind)
    low = models.TextField(blank=True)
    high = models.TextField(blank=True)
    at = models.DateTimeField(db_default=Now())
    #: When a build first saw it, which reads a replica; it was committed before.
    seen_at = models.DateTimeField(null=True)

    objects = RowQuerySet.as_manager()

    class Meta(Row.Meta):
        indexes = [
            models.Index(fields=["section", "id"], name="sitemaps_plus_change_order")
        ]

    def __str__(self) -> str:
        return f"{self.section}: {self.kind} {self.low}"
