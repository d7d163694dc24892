"""What has changed, and what is left over: rows that go once they are dealt with."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now

from .base import Row, RowQuerySet
from .pages import Section


class Change(Row):
    """Something of a section was saved or deleted; kept on the object's database."""

    class Kind(models.TextChoices):
        """What `low` and `high` are."""

        KEY = "key", "key"  # low is the key of a row
        RANGE = "range", "range"  # the keys from low to high, both included
        RELATED = "related", "related"  # high is a path to a row, low is its pk
        AUDIT = "audit", "audit"  # nobody knows which rows: look at all pages

    section = models.CharField(max_length=64)
    kind = models.CharField(max_length=8, choices=Kind)
    low = models.TextField(blank=True)
    high = models.TextField(blank=True)
    at = models.DateTimeField(db_default=Now())

    objects = RowQuerySet.as_manager()

    class Meta(Row.Meta):
        indexes = [
            models.Index(fields=["section", "id"], name="sitemaps_plus_change_order")
        ]

    def __str__(self) -> str:
        return f"{self.section}: {self.kind} {self.low}"


class Publication(Row):
    """A flip whose changes of URLs are still to be worked out and told."""

    # Without a constraint: MySQL would lock the section's row at the end of a flip.
    section = models.ForeignKey(Section, models.CASCADE, db_constraint=False)
    old = models.JSONField(default=list)  # names of the objects before
    new = models.JSONField(default=list)  # names of the objects that replaced them
    #: Or keys of rows that were saved, whose URLs are told whatever became of them.
    keys = models.JSONField(default=list)
    announce = models.BooleanField(default=True)
    claimed_at = models.DateTimeField(null=True)  # by who works out what changed
    at = models.DateTimeField(db_default=Now())  # when what it tells was committed

    objects = RowQuerySet.as_manager()

    def __str__(self) -> str:
        return f"publication {self.pk} of section {self.section_id}"


class Leftover(Row):
    """An object that no row names; a prune removes it once it was one for long enough.

    Somebody who read its name a moment before it was replaced may still open it.
    """

    object = models.CharField(max_length=255, unique=True)
    section = models.ForeignKey(Section, models.CASCADE)
    noticed_at = models.DateTimeField(db_default=Now())

    objects = RowQuerySet.as_manager()

    def __str__(self) -> str:
        return self.object
