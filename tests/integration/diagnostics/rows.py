"""Rows about engines that tests add."""

from __future__ import annotations

from typing import Any

from django_sitemaps_plus.models import Delivery, EngineHost
from django_sitemaps_plus.models.deliveries import hash_target

ENGINE = {"BACKEND": "django_sitemaps_plus.testing.RecordingEngine"}

_USUAL = {"site": "default", "engine": "one", "host": "example.com"}


def deliver(target: str, **fields: Any) -> None:
    """Add a target that waits for an engine."""
    values = {**_USUAL, "wanted": 1, **fields}
    Delivery.objects.create(**values, target=target, target_hash=hash_target(target))


def know(**fields: Any) -> None:
    """Add what is known of an engine."""
    EngineHost.objects.create(**_USUAL | fields)
