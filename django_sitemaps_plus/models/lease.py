"""Leases: a claim lasts as long as whoever holds it says so now and then."""

from __future__ import annotations

import time
from collections.abc import Callable

from django_sitemaps_plus.conf import get_settings


class Lease:
    """Begins the lease of a claim anew now and then; called while its work goes on.

    A builder that has stopped does not call it, however long it stays connected.
    """

    def __init__(
        self, renew: Callable[[], object], seconds: float | None = None
    ) -> None:
        """Take what renews it.

        Args:
            renew: begins it anew.
            seconds: that it lasts; LEASE_SECONDS unless told.
        """
        self._renew = renew
        lasts = get_settings().lease_seconds if seconds is None else seconds
        self._seconds = lasts / 6
        self._renewed = time.monotonic()

    def __call__(self) -> None:
        """Renew it, if a good part of it has gone by."""
        now = time.monotonic()
        if now - self._renewed > self._seconds:
            self._renew()
            self._renewed = now
