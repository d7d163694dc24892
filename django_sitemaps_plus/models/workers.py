"""Workers: which kinds of them have run, and when one of each was last seen."""

from __future__ import annotations

from datetime import timedelta

from django.db import models
from django.utils import timezone

from .base import Row, RowQuerySet
from .clock import Now

#: How long a worker may be unseen before it counts as gone.
GONE = timedelta(seconds=60)

#: How long one is remembered: then nobody expects it any more.
FORGOTTEN = timedelta(days=7)

#: What starts a kind of worker, where that is no command of ours.
COMMANDS = {"celery": "celery -A PROJECT worker"}


class WorkerQuerySet(RowQuerySet["Worker"]):
    """Kinds of workers."""

    def note(self, kind: str, *, has_ended: bool = False) -> None:
        """Record that a worker of a kind is there, or that it has ended by itself."""
        if not self.filter(kind=kind).update(seen_at=Now(), has_ended=has_ended):
            row = Worker(kind=kind, seen_at=Now(), has_ended=has_ended)
            self.bulk_create([row], ignore_conflicts=True)


class Worker(Row):
    """A kind of worker; one row for all its processes, since one of them is enough."""

    #: What runs: ``celery``, or the command.
    kind = models.CharField(max_length=32, unique=True)
    seen_at = models.DateTimeField()
    #: Whether the last one ended by itself; others of its kind note that they run.
    has_ended = models.BooleanField()

    objects = WorkerQuerySet.as_manager()

    def __str__(self) -> str:
        return self.kind

    @property
    def is_there(self) -> bool:
        """Whether one was seen lately, and did not end."""
        return not self.has_ended and timezone.now() - self.seen_at < GONE

    @property
    def is_missed(self) -> bool:
        """Whether none is there any more, though the last one did not end by itself."""
        return not self.has_ended and not self.is_there
