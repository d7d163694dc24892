"""Wake-ups: one message for many changes, and none for a while after a failure."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

logger = logging.getLogger(__name__)

#: Seconds without wake-ups after one that failed.
PAUSE_SECONDS = 30.0

#: Seconds for which a message waits at least, so that quick changes share one.
QUIET_SECONDS = 0.2


class Wakeups:
    """Sends wake-ups; the messages of one process are few, and a failure is a pause."""

    def __init__(self, send: Callable[[str, float], object]) -> None:
        """Take what sends a message.

        Args:
            send: called with a section, and the seconds after which it is to be built.
                It may raise, and must not keep its caller waiting: a user saves.
        """
        self._send = send
        self._due: dict[str, float] = {}  # when what was sent is built at the earliest
        self._paused_until = 0.0

    def wake(self, section: str, seconds: float) -> None:
        """Have a section built in some seconds; never raises.

        Until then all changes are part of that build, and nothing more is sent, except
        for an earlier time.
        """
        now = time.monotonic()
        due = now + max(seconds, QUIET_SECONDS)
        if now < self._paused_until or now < self._due.get(section, 0.0) <= due:
            return
        self._due[section] = due
        try:
            self._send(section, due - now)
        except Exception as error:  # noqa: BLE001 - whatever the broker's client raises
            self._due.pop(section, None)
            self._pause(error)

    def _pause(self, error: Exception) -> None:
        self._paused_until = time.monotonic() + PAUSE_SECONDS
        logger.warning(
            "Could not reach the broker, so no worker was woken. Trying again in %s s; "
            "nothing is lost: %s: %s",
            int(PAUSE_SECONDS),
            type(error).__name__,
            error,
            extra={"action": "wake_failed"},
        )
