"""The base of all models: rows, where they are written, and transactions on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from django.apps import apps
from django.core.exceptions import ImproperlyConfigured
from django.db import OperationalError, connections, models, router, transaction

from django_sitemaps_plus.outages import has_lost

from .prepared import delete_joined

if not apps.is_installed("django_sitemaps_plus"):  # else a model's name is in the error
    raise ImproperlyConfigured("Add 'django_sitemaps_plus' to INSTALLED_APPS.")

M = TypeVar("M", bound=models.Model, covariant=True)
P = ParamSpec("P")
R = TypeVar("R")

#: Rows that one statement deletes.
REMOVED_AT_ONCE = 500

#: How often a transaction is tried that loses against others.
TRIES = 3


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
        # MariaDB may scan the table for a list, and wait for what open transactions
        # have inserted.
        return delete_joined(self, keys)

    def remove_all(self) -> int:
        """Delete all, in the order of their keys, which are read without locks."""
        deleted, batch = 0, [0]
        ordered = self.order_by("pk").values_list("pk", flat=True)
        while batch := list(ordered.filter(pk__gt=batch[-1])[:REMOVED_AT_ONCE]):
            # A single statement leaves alone what has changed meanwhile.
            deleted += retried(self.remove)(batch)
        return deleted


def own_alias() -> str:
    """Return the alias of the database of our rows; changes may lie elsewhere too."""
    return router.db_for_write(apps.get_model("sitemaps_plus.Section"))


class Row(models.Model):
    """A row of ours; the base manager reloads it, and reads what it refers to."""

    class Meta:
        abstract = True
        base_manager_name = "objects"


def atomic() -> transaction.Atomic:
    """Open a transaction on our rows.

    Rows of sections are locked before those of pages: by ``Section.objects.lock`` or
    an update.
    """
    return transaction.atomic(using=own_alias())


def retried(work: Callable[P, R]) -> Callable[P, R]:
    """Make a function, that is a transaction, try again when it loses against another.

    Inside a transaction of the caller's nothing is tried again: that one is lost.
    """

    @wraps(work)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        for _ in range(TRIES - 1):
            try:
                return work(*args, **kwargs)
            except OperationalError as error:
                is_inside = connections[own_alias()].in_atomic_block
                if is_inside or not has_lost(error):
                    raise
        return work(*args, **kwargs)

    return call


@contextmanager
def as_django_errors() -> Iterator[None]:
    """Make errors of drivers Django's, which lets some of ``iterator()`` through."""
    try:
        yield
    except Exception:
        with ExitStack() as stack:
            for connection in connections.all(initialized_only=True):
                stack.enter_context(connection.wrap_database_errors)
            raise


@contextmanager
def contained() -> Iterator[None]:
    """Keep errors of the user's own queries from transactions that the caller is in.

    After one PostgreSQL takes no statement any more, except behind a savepoint.
    """
    with ExitStack() as stack:
        for connection in connections.all(initialized_only=True):
            if connection.vendor == "postgresql" and connection.in_atomic_block:
                stack.enter_context(transaction.atomic(using=connection.alias))
        with as_django_errors():
            yield
