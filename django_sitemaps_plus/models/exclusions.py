"""Exclusions: objects that an editor keeps out of the sitemaps."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from .base import Row, RowQuerySet
from .prepared import Rows, prepared


class ExclusionQuerySet(RowQuerySet["Exclusion"]):
    """Exclusions by what they exclude."""

    @prepared
    def keys(self, *, model: Any) -> Rows:
        """Return the keys of those of a model, by its label."""
        return self.filter(model=model).values_list("key")

    def of_row(self, row: models.Model) -> ExclusionQuerySet:
        """Return the one of a row, if there is one."""
        return self.filter(model=label_of(type(row)), key=str(row.pk))


class Exclusion(Row):
    """A row of any model that no sitemap lists, though its source would.

    The row is named by text, so that an exclusion needs no relation, may lie on another
    database than the row, and outlives a row that comes back.
    """

    model = models.CharField(_("model"), max_length=100)  # "shop.product"
    key = models.CharField(_("key"), max_length=255)  # the primary key as text
    note = models.CharField(_("reason"), max_length=200, blank=True)
    at = models.DateTimeField(_("since"), default=timezone.now)
    by = models.CharField(_("by"), max_length=150, blank=True)  # name of a user

    objects = ExclusionQuerySet.as_manager()

    class Meta(Row.Meta):
        verbose_name = _("exclusion")
        verbose_name_plural = _("exclusions")
        constraints = [
            models.UniqueConstraint(
                fields=["model", "key"], name="sitemaps_plus_exclusion_key"
            )
        ]

    def __str__(self) -> str:
        return f"{self.model} {self.key}"


def label_of(model: type[models.Model]) -> str:
    """Return the name by which exclusions know a model: that of its first ancestor.

    A child has the row of its parent, and the same key.
    """
    meta: Any = model._meta.concrete_model._meta  # type: ignore[union-attr]
    while meta.pk.remote_field is not None and meta.pk.remote_field.parent_link:
        meta = meta.pk.related_model._meta
    label: str = meta.label_lower
    return label
