"""System checks: faults of the configuration, before anybody notices them."""

from __future__ import annotations

CHECKS: list = []
