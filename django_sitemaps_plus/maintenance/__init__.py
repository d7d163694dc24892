"""What looks after the rest: status and pruning."""

from __future__ import annotations
