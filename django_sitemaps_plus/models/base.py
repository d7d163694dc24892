"""The base of all models: rows are read from the database that is written."""

from __future__ import annotations

from typing import Any, TypeVar

from django.db import models, router

M = TypeVar("M", bound=models.Model, covariant=True)


class RowQuerySet(models.QuerySet[M]):
    """Rows of ours: read where they are written, since a replica may lag behind."""

    @property
    def db(self) -> str:
        """The alias of the database; ``using()`` goes before the router."""
        rows: Any = self  # whose private names have no types
        return rows._db or router.db_for_write(self.model, **rows._hints)


class Row(models.Model):
    """A row of ours; the base manager reloads it, and reads what it refers to."""

    class Meta:
        abstract = True
        base_manager_name = "objects"

    def __str__(self) -> str:
        return f"{self._meta.verbose_name} {self.pk}"
