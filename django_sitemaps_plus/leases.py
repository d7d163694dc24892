"""Leases: a claim lasts as long as whoever holds it says so now and then."""

from __future__ import annotations

import time
from collections.abc import Callable

from .conf import get_settings


class Lease:
    """Begins the lease of a claim anew now and then; called while its work goes on.

    A builder that has stopped does not call it, however long it stays connected.
    """

    def __init__(self, renew: Callable[[], object]) -> None:
        self._renew = renew
        self._seconds = get_settings().lease_seconds / 6
        self._renewed = time.monotonic()

    def __call__(self) -> None:
        """Renew it, if a good part of it has gone by."""
        now = time.monotonic()
        if now - self._renewed > self._seconds:
            self._renew()
            self._renewed = now
