"""The base of all models: rows are read from the database that is written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from django.apps import apps
from django.core.exceptions import ImproperlyConfigured
from django.db import connections, models, router

from .prepared import delete_joined

if not apps.is_installed("django_sitemaps_plus"):  # else a model's name is in the error
    raise ImproperlyConfigured("Add 'django_sitemaps_plus' to INSTALLED_APPS.")

M = TypeVar("M", bound=models.Model, covariant=True)


class RowQuerySet(models.QuerySet[M]):
    """Rows of ours: read where they are written, since a replica may lag behind."""

    @property
    def db(self) -> str:
        """The alias of the database; ``using()`` goes before the router."""
        rows: Any = self  # whose private names have no types
        return rows._db or router.db_for_write(self.model, **rows._hints)

    def remove(self, keys: Sequence[int]) -> int:
        """Delete those of the rows that have some keys, and lock no others."""
        if connections[self.db].vendor != "mysql":
            return self.filter(pk__in=keys)._raw_delete(self.db)
        # For a list MariaDB may scan the table, and wait for what open transactions
        # have inserted.
        return delete_joined(self, keys)


def own_alias() -> str:
    """Return the alias of the database of our rows; changes may lie elsewhere too."""
    return router.db_for_write(apps.get_model("sitemaps_plus.Section"))


class Row(models.Model):
    """A row of ours; the base manager reloads it, and reads what it refers to."""

    class Meta:
        abstract = True
        base_manager_name = "objects"
