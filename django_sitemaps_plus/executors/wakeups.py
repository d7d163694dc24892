"""Wake-ups: told to who builds, never at the cost of who tells."""

from __future__ import annotations

import atexit
import logging
import time
from collections.abc import Callable
from threading import Event, Thread

from django.db import connections

logger = logging.getLogger(__name__)

#: Seconds without wake-ups after one that failed.
PAUSE_SECONDS = 30.0

#: Seconds that a wake-up waits for others of its section, for which it speaks too.
QUIET_SECONDS = 0.2

#: Seconds after which a wake-up that is still being told counts as failed.
PATIENCE_SECONDS = 1.0


class Wakeups:
    """Tells wake-ups in the background, and none for a while after one that failed.

    A cache and a broker may have no time limit, or one that is far too long for a
    user's save. So each is told by a thread of its own, for which nobody waits, and
    one that hangs keeps others from being started.
    """

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._coming: dict[str, tuple[Thread, Event]] = {}
        self._threads: dict[Thread, float] = {}  # and when each begins to tell
        self._paused_until = 0.0
        atexit.register(self.wait, PATIENCE_SECONDS / 4)

    def wake(self, section: str) -> None:
        """Tell of a section; never raises, never waits.

        What one that is coming will tell is told later than this change, so it need not
        be told again. One that was told may have been heard before this change.
        """
        now = time.monotonic()
        if now < self._paused_until or self._hangs(now) or self._is_coming(section):
            return
        go = Event()
        thread = Thread(target=self._run, args=(section, go), daemon=True)
        self._coming[section] = thread, go
        self._threads[thread] = now + QUIET_SECONDS
        try:
            thread.start()
        except RuntimeError as error:  # no more threads, or Python is shutting down
            self._pause(error)

    def wait(self, seconds: float) -> None:
        """Wait for what is being told, at most so long."""
        end = time.monotonic() + seconds
        for _, go in list(self._coming.values()):
            go.set()
        for thread in list(self._threads):
            if thread.ident is not None:
                thread.join(max(end - time.monotonic(), 0))

    def _hangs(self, now: float) -> bool:
        known = list(self._threads.items())  # others come and go meanwhile
        for thread, _ in known:
            if not thread.is_alive():
                self._threads.pop(thread, None)
        return any(
            [t.is_alive() and now - began > PATIENCE_SECONDS for t, began in known]
        )

    def _is_coming(self, section: str) -> bool:
        # In a forked child the threads of its parent are not alive.
        thread, _ = self._coming.get(section, (None, None))
        return thread is not None and thread.is_alive()

    def _run(self, section: str, go: Event) -> None:
        go.wait(QUIET_SECONDS)
        self._coming.pop(section, None)
        try:
            self._tell(section)
        except Exception as error:  # noqa: BLE001 - whatever a cache or a broker raises
            self._pause(error)
        finally:
            connections.close_all()  # of this thread, where the cache is a table

    def _pause(self, error: Exception) -> None:
        now = time.monotonic()
        if now < self._paused_until:
            return  # one that was told at the same time has said so
        self._paused_until = now + PAUSE_SECONDS
        logger.warning(
            "Nobody was told to build, and nobody will be for %s s. The next refresh "
            "finds what has changed: %s: %s",
            int(PAUSE_SECONDS),
            type(error).__name__,
            error,
            extra={"action": "wake_failed"},
        )
