"""Rows of the queue: claimed for one request, and settled after it."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from datetime import datetime

from django.db.models import Case, DateTimeField, F, Value, When
from django.utils import timezone

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.exceptions import BatchRejected, EngineError
from django_sitemaps_plus.models import Delivery
from django_sitemaps_plus.models.deliveries import DeliveryQuerySet
from django_sitemaps_plus.models.transactions import atomic, retried

from . import backoff
from .base import Engine

# Rows of one statement.
_ROWS = 1_000


def rows_of(site: Site, engine: Engine) -> DeliveryQuerySet:
    """Return all rows of an engine."""
    return Delivery.objects.filter(site=site.name, engine=engine.name)


@retried
def claim(due: DeliveryQuerySet, most: int) -> list[Delivery]:
    """Take the next rows; nobody else tells this engine of this host.

    What no request has failed with comes first, longest waiting first. The rest is told
    apart from it, what has failed least first: it may be what the engine fails at.

    Args:
        due: the rows of one engine and host that may be told now.
        most: how many are taken.
    """
    fresh = due.filter(attempts=0).order_by("not_before", "id")
    failed = due.filter(attempts__gt=0).order_by("attempts", "not_before", "id")
    rows = list(fresh[:most]) or list(failed[:most])
    token = secrets.token_hex(16)
    # Whose token is still there has died with it. Asked before the token is set: MySQL
    # reads columns as they are by then.
    attempts = Case(When(token="", then=F("attempts")), default=F("attempts") + 1)
    with atomic():
        for part in _parts(rows):
            part.update(attempts=attempts, token=token, sending=F("wanted"))
    for row in rows:
        row.token = token
    return rows


def release(rows: list[Delivery], error: EngineError, **fields: object) -> None:
    """Give up rows that were not accepted; they wait on."""
    update(rows, token="", error=backoff.words_of(error), **fields)


def named(rows: list[Delivery], error: BatchRejected) -> list[Delivery]:
    """Return the rows that an engine names as bad, which has accepted all others.

    One that names all of them, or what it was not told, is not believed.
    """
    bad = [row for row in rows if row.target in error.targets]
    return bad if len(bad) == len(error.targets) < len(rows) else []


def reject(rows: list[Delivery], error: EngineError, again: datetime) -> None:
    """Note that rows are dead, but for those that have changed since they were claimed.

    Args:
        rows: what an engine will not have.
        error: what it says of them.
        again: when such a row, or a later change of one, may be told.
    """
    # What has changed may be right by now; it is told after a while.
    is_same = When(wanted=F("sending"), then=Value(timezone.now(), DateTimeField()))
    update(
        rows,
        token="",
        error=backoff.words_of(error),
        rejections=F("rejections") + 1,
        dead_since=Case(is_same),
        not_before=again,
    )


@retried
def update(rows: list[Delivery], **fields: object) -> None:
    """Update rows that still have our token; a sleeper's are somebody else's."""
    for part in _parts(rows):
        part.filter(token=rows[0].token).update(**fields)


def _parts(rows: list[Delivery]) -> Iterator[DeliveryQuerySet]:
    """Yield querysets of rows, each for one statement."""
    ids = [row.pk for row in rows]
    for start in range(0, len(ids), _ROWS):
        yield Delivery.objects.filter(pk__in=ids[start : start + _ROWS])
