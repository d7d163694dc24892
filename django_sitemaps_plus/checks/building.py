"""Checks of what builds need: an executor, and a storage that keeps bytes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.core.checks import CheckMessage

from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.executors.base import get_executor
from django_sitemaps_plus.storage import get_storage

from .messages import error, warning


def check_building(**kwargs: Any) -> list[CheckMessage]:
    """Return what is wrong with the executor and the storage."""
    return [*_executor(), *_storage()]


def _executor() -> Iterator[CheckMessage]:
    try:
        executor = get_executor()
    except ConfigurationError as fault:
        hint = "For Celery install the extra 'celery', and use "
        hint += "'django_sitemaps_plus.tasks.CeleryExecutor'."
        yield error(8, str(fault), hint)
    else:
        yield from [warning(10, *fault) for fault in executor.faults()]


def _storage() -> Iterator[CheckMessage]:
    try:
        storage: Any = get_storage()
    except Exception:  # noqa: BLE001 - another check reports it
        return
    if getattr(storage, "gzip", False):
        alias = get_settings().storage
        yield error(
            9,
            f"The storage {alias!r} compresses files by itself (option gzip), so views "
            "do not read what was stored.",
            "Define another alias in STORAGES for sitemaps, without that option.",
        )
