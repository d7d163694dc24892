"""Transactions on our rows: what they lock, and how they are retried."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from django.db import Error, OperationalError, connections, transaction

from django_sitemaps_plus.outages import has_lost

from .sections import Section, own_alias

if TYPE_CHECKING:
    from .page_queries import PageQuerySet

P = ParamSpec("P")
R = TypeVar("R")

#: How often what loses against other transactions is tried.
TRIES = 3


def atomic() -> transaction.Atomic:
    """Open a transaction on our rows.

    Rows of sections are locked before those of pages: by :func:`lock` or an update.
    """
    return transaction.atomic(using=own_alias())


def lock(sections: Iterable[int]) -> None:
    """Lock rows of sections, in the order of their keys, until the transaction ends.

    Code that changes several pages at once does so first, so that no two processes
    wait for each other's pages.
    """
    keys, connection = sorted(set(sections)), connections[own_alias()]
    if not connection.in_atomic_block:
        raise transaction.TransactionManagementError("a lock needs a transaction")
    if connection.features.has_select_for_update:
        Section.objects.locked(sections=keys)
    else:
        # SQLite refuses at once who reads first and then finds another at work, but
        # lets who begins with a write wait.
        Section.objects.touched(sections=keys)


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


@retried
def update_pages(pages: PageQuerySet, sections: Iterable[int], **values: Any) -> int:
    """Update pages of sections, which are locked first; return how many there were."""
    with atomic():
        lock(sections)
        return pages.update(**values)


@contextmanager
def as_django_errors() -> Iterator[None]:
    """Make errors of drivers Django's, which lets some of ``iterator()`` through."""
    used = connections.all(initialized_only=True)
    with ExitStack() as stack:
        for alias in {own_alias(), *(connection.alias for connection in used)}:
            stack.enter_context(connections[alias].wrap_database_errors)
        yield


@contextmanager
def contained() -> Iterator[None]:
    """Keep errors of the user's own queries from transactions that the caller is in.

    After one PostgreSQL takes no statement any more, except behind a savepoint.
    """
    with ExitStack() as stack:
        for connection in connections.all(initialized_only=True):
            if connection.vendor == "postgresql" and connection.in_atomic_block:
                stack.enter_context(transaction.atomic(using=connection.alias))
        stack.enter_context(as_django_errors())
        yield


def is_well() -> bool:
    """Return whether our rows can be read; close connections that broke."""
    for connection in connections.all(initialized_only=True):
        if not connection.in_atomic_block:
            connection.close_if_unusable_or_obsolete()
    try:
        with contained():
            Section.objects.exists()
    except Error:
        return False
    return True
