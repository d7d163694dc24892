"""What engines were told."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime


@dataclass(slots=True)
class DeliveryReport:
    """What engines were told.

    Attributes:
        sent: targets that were accepted.
        rejected: targets that an engine will not have.
        requests: how many were made.
        failures: what went wrong, in words; it is tried again by itself.
        next_at: when the next of those that wait may be told; None where none waits,
            or an engine that is parked alone is to be told.
        refused: engines and hosts that were not ours to tell, when last tried.
    """

    sent: int = 0
    rejected: int = 0
    requests: int = 0
    failures: list[str] = field(default_factory=list)
    next_at: datetime | None = None
    refused: list[tuple[str, str]] = field(default_factory=list)

    def then(self, later: DeliveryReport) -> DeliveryReport:
        """Return what was done here and later."""
        return DeliveryReport(
            self.sent + later.sent,
            self.rejected + later.rejected,
            self.requests + later.requests,
            self.failures + later.failures,
            later.next_at,
            later.refused,
        )
