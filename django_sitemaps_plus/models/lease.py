"""Leases: a claim lasts while its process renews it with heartbeats."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from django_sitemaps_plus.conf import get_settings


@dataclass(slots=True)
class _Lease:
    renew: Callable[[], object]
    seconds: float  # between two renewals
    renewed_at: float


_leases: ContextVar[tuple[_Lease, ...]] = ContextVar("leases", default=())


@contextmanager
def keep(renew: Callable[[], object], seconds: float | None = None) -> Iterator[None]:
    """Let each heartbeat within renew a lease, by default of LEASE_SECONDS, in time."""
    lasts = get_settings().lease_seconds if seconds is None else seconds
    lease = _Lease(renew, lasts / 6, time.monotonic())
    token = _leases.set((*_leases.get(), lease))
    try:
        yield
    finally:
        _leases.reset(token)


def heartbeat() -> None:
    """Renew the leases that the current work depends on; call it as the work goes on.

    A builder that has stopped does not call it, however long it stays connected.
    """
    now = time.monotonic()
    for lease in _leases.get():
        if now - lease.renewed_at > lease.seconds:
            lease.renew()
            lease.renewed_at = now
