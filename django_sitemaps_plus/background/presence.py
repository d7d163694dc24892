"""Presence: a process tells others that a worker is there."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread

from django.db import connections

from .work import note_worker

#: Seconds between two notes.
NOTE_SECONDS = 10.0

#: Seconds that a process which ends waits for a database, to say so.
EXIT_SECONDS = 2.0


class Presence(Thread):
    """Notes in a thread that a worker is there, so that no work delays the note."""

    def __init__(self, kind: str, is_there: Callable[[], bool] = lambda: True) -> None:
        """Take the kind of worker, and what says whether it can take work now."""
        super().__init__(name="sitemaps-presence", daemon=True)
        self._kind = kind
        self._is_there = is_there
        self._has_ended = Event()

    def run(self) -> None:
        """Note it every ten seconds, and at last that the worker ends."""
        while True:
            if self._is_there():
                self._note(has_ended=False)
            if self._has_ended.wait(NOTE_SECONDS):
                self._note(has_ended=True)
                return

    def end(self) -> None:
        """Note that the worker ends by itself."""
        self._has_ended.set()
        self.join(EXIT_SECONDS)

    def _note(self, *, has_ended: bool) -> None:
        note_worker(self._kind, has_ended=has_ended)
        connections.close_all()  # the database may restart, and processes may fork
