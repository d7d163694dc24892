"""Wake-ups: one message for many changes, and none for a while after a failure."""

from __future__ import annotations

import atexit
import logging
import time
from collections.abc import Callable
from queue import Full, Queue
from threading import Thread

from django.db import connections

logger = logging.getLogger(__name__)

#: Seconds without wake-ups after one that failed.
PAUSE_SECONDS = 30.0

#: Seconds for which a message waits at least, so that quick changes share one.
QUIET_SECONDS = 0.2

#: Seconds that a process which ends waits for its last messages.
EXIT_SECONDS = 0.25

#: Messages that wait for a broker that hangs; more count as a failure.
MAX_WAITING = 1_000


class Wakeups:
    """Sends wake-ups from a thread, so that no save waits for a broker.

    A message takes a dozen round trips: 5 ms on one machine, 1.4 s where each takes
    0.1 s. Time limits of sockets bound none of that as a whole.
    """

    def __init__(self, send: Callable[[str, float], object]) -> None:
        """Take what sends a message: a section, and in how many seconds to build it."""
        self._send = send
        self._due: dict[str, float] = {}  # when what was sent is built at the earliest
        self._paused_until = 0.0
        self._messages: Queue[tuple[str, float]] = Queue(MAX_WAITING)
        self._thread: Thread | None = None
        atexit.register(self.wait, EXIT_SECONDS)

    def wake(self, section: str, seconds: float) -> None:
        """Have a section built in some seconds; never raises, never waits.

        Nothing more is sent until then, except for an earlier time.
        """
        now = time.monotonic()
        due = now + max(seconds, QUIET_SECONDS)
        if now < self._paused_until or now < self._due.get(section, 0.0) <= due:
            return
        self._due[section] = due
        try:
            # In a forked child the thread of its parent is not alive, and a lock of
            # the queue may be held for ever.
            if self._thread is None or not self._thread.is_alive():
                messages = self._messages = Queue(MAX_WAITING)
                self._thread = Thread(target=self._run, args=[messages], daemon=True)
                self._thread.start()
            self._messages.put_nowait((section, due))
        except (Full, RuntimeError) as error:  # a broker hangs, or no more threads
            self._pause(section, error)

    def wait(self, seconds: float) -> None:
        """Wait until all messages are sent, at most so long."""
        messages, end = self._messages, time.monotonic() + seconds
        with messages.all_tasks_done:
            while messages.unfinished_tasks and (left := end - time.monotonic()) > 0:
                messages.all_tasks_done.wait(left)

    def _run(self, messages: Queue[tuple[str, float]]) -> None:
        while True:
            section, due = messages.get()
            try:
                now = time.monotonic()
                if now >= self._paused_until:
                    self._send(section, max(due - now, 0))
            except Exception as error:  # noqa: BLE001 - whatever the broker's client raises
                self._pause(section, error)
            finally:
                connections.close_all()  # what receivers of Celery's signals opened
                messages.task_done()

    def _pause(self, section: str, error: Exception) -> None:
        self._due.pop(section, None)
        self._paused_until = time.monotonic() + PAUSE_SECONDS
        logger.warning(
            "Could not reach the broker, so no worker was woken. Trying again in %s s; "
            "nothing is lost: %s: %s",
            int(PAUSE_SECONDS),
            type(error).__name__,
            error,
            extra={"action": "wake_failed"},
        )
