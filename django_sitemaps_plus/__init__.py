"""Sitemaps for Django: complete, valid and fast, live or as static files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .core.entries import Alternate, Entry, Image, News, Video
from .registry import register, registry
from .sources import ModelSource, Route, Source, ViewSource, under

__all__ = [
    "Alternate",
    "Entry",
    "Image",
    "ModelSource",
    "News",
    "Route",
    "Source",
    "Video",
    "ViewSource",
    "notify_changed",
    "register",
    "registry",
    "under",
]

if TYPE_CHECKING:
    from django.db.models import QuerySet


def notify_changed(queryset: QuerySet[Any]) -> int:
    """Record that rows were changed in a way that sends no signals.

    That is what ``update()``, ``bulk_create()``, ``bulk_update()`` and raw SQL do. Call
    it with the rows as they are found afterwards, in the same transaction.

    Args:
        queryset: rows of a model that some section lists, or of a parent of it.

    Returns:
        How many changes were recorded: one a row, or one for each range of many.
    """
    # Not at the top: models cannot be imported before Django is set up.
    from .tracking.recording import notify_changed as record_changed

    return record_changed(queryset)
