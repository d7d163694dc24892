"""Workers: which kinds of them have run, and when one of each was last seen."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.db import models

from .base import Row, RowQuerySet
from .clock import Now

#: How long a worker may be unseen before it counts as gone.
GONE = timedelta(seconds=60)

#: Commands that start a kind of worker, where that is no command of ours.
COMMANDS = {"celery": "celery -A PROJECT worker"}


class WorkerQuerySet(RowQuerySet["Worker"]):
    """Kinds of workers."""

    def seen(self) -> list[Worker]:
        """Return all, by name, with the database's time."""
        rows: Any = self.order_by("kind")
        return list(rows.annotate(now=Now()))

    def note(self, kind: str, *, has_ended: bool = False) -> None:
        """Record that a worker of a kind is there, or that it has ended by itself."""
        if not self.filter(kind=kind).update(seen_at=Now(), has_ended=has_ended):
            row = Worker(kind=kind, seen_at=Now(), has_ended=has_ended)
            self.bulk_create([row], ignore_conflicts=True)


class Worker(Row):
    """A kind of worker; one row for all its processes, since one of them is enough."""

    #: ``celery``, ``tasks``, or the command that runs.
    kind = models.CharField(max_length=32, unique=True)
    seen_at = models.DateTimeField()
    #: Whether the last one ended by itself, as tasks and runs of cron do: none of these
    #: is missed, and what waits too long tells. Others note that they run.
    has_ended = models.BooleanField()

    #: Set by `seen`: the database's time.
    now: datetime

    objects = WorkerQuerySet.as_manager()

    def __str__(self) -> str:
        return self.kind

    @property
    def age(self) -> timedelta:
        """How long ago one was seen, by the database's clock alone."""
        return self.now - self.seen_at

    @property
    def is_there(self) -> bool:
        """Whether one was seen lately, and did not end."""
        return not self.has_ended and self.age < GONE

    @property
    def is_missed(self) -> bool:
        """Whether none is there any more, though the last one did not end by itself."""
        return not self.has_ended and self.age >= GONE
