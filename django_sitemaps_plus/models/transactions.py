"""Transactions on our rows: what they lock, and how they are retried."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import ParamSpec, TypeVar

from django.db import OperationalError, connections, transaction

from django_sitemaps_plus.outages import has_lost

from .base import own_alias

P = ParamSpec("P")
R = TypeVar("R")

#: How often what loses against other transactions is tried.
TRIES = 3


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
