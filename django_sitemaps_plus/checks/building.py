"""Checks of what builds need: an executor, and a storage that keeps bytes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.core.checks import CheckMessage

from django_sitemaps_plus.conf import SETTING, get_settings
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.executors.base import get_executor
from django_sitemaps_plus.storage import get_storage

from .messages import error, warning


def check_building(**kwargs: Any) -> list[CheckMessage]:
    """Return what is wrong with the executor and the storage."""
    return [*_executor(), *_storage(), *_numbers()]


def _executor() -> Iterator[CheckMessage]:
    try:
        executor = get_executor()
    except ConfigurationError as fault:
        hint = "For Celery install the extra 'celery', and use "
        hint += "'django_sitemaps_plus.tasks.CeleryExecutor'."
        yield error(8, str(fault), hint)
    else:
        for message, hint in executor.faults():
            yield warning(10, message, hint)


def _storage() -> Iterator[CheckMessage]:
    try:
        storage: Any = get_storage()
    except Exception:  # noqa: BLE001 - another check says that there is none
        return
    if getattr(storage, "gzip", False):
        alias = get_settings().storage
        yield error(
            9,
            f"The storage {alias!r} compresses and inflates files by itself (option "
            "gzip), so objects are not read as they were stored.",
            "Give sitemaps an alias of their own in STORAGES, without that option.",
        )


def _numbers() -> Iterator[CheckMessage]:
    configured = get_settings()
    if isinstance(configured.max_builders, int) and configured.max_builders < 1:
        yield error(
            2, f"{SETTING}['MAX_BUILDERS'] is 0, so nobody builds.", "The default is 8."
        )
    lease = configured.lease_seconds
    if isinstance(lease, int) and lease < 2:
        yield error(
            2,
            f"{SETTING}['LEASE_SECONDS'] is {lease!r}: a builder could not say in time "
            "that it is at work.",
            "The default is 60.",
        )
