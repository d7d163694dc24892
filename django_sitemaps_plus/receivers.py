"""Receivers: which signal of Django calls which function."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from django.db.models import Model
from django.db.models.signals import m2m_changed, post_delete, post_save

from .tracking.recording import record, record_relations
from .tracking.watching import (
    Watched,
    WatchedRelation,
    watched_models,
    watched_relations,
)

_UID = "sitemaps_plus"

_connected: list[tuple[Any, Any]] = []  # signals and senders


def connect() -> None:
    """Connect the models of all registered sections, and no others.

    To be called again whenever the registry changes. No receiver is connected for all
    models: that would take Django's fast delete from each of them.
    """
    disconnect()
    for model, watchers in watched_models().items():
        _connect(post_save, model, partial(_saved, watchers))
        deletes = [watched for watched in watchers if watched.watches_deletions]
        if deletes:
            _connect(post_delete, model, partial(_deleted, deletes))
    for through, relations in watched_relations().items():
        _connect(m2m_changed, through, partial(_related, relations))


def disconnect() -> None:
    """Disconnect whatever :func:`connect` has connected."""
    while _connected:
        signal, sender = _connected.pop()
        signal.disconnect(sender=sender, dispatch_uid=_UID)


def _connect(signal: Any, sender: type[Model], receiver: Any) -> None:
    signal.connect(receiver, sender=sender, weak=False, dispatch_uid=_UID)
    _connected.append((signal, sender))


def _saved(
    watchers: Sequence[Watched],
    instance: Model,
    using: str,
    update_fields: Any = None,
    **kwargs: Any,
) -> None:
    # Fixtures (`raw`) are recorded as well: their rows are listed like any other.
    record(watchers, instance, using, update_fields=update_fields)


def _deleted(
    watchers: Sequence[Watched], instance: Model, using: str, **kwargs: Any
) -> None:
    record(watchers, instance, using, deleted=True)


def _related(
    relations: Sequence[WatchedRelation],
    instance: Model,
    using: str,
    action: str,
    model: type[Model],
    pk_set: set[Any] | None = None,
    **kwargs: Any,
) -> None:
    # Once it is cleared, its others are not found any more.
    if action.startswith("post_") or action == "pre_clear":
        added = action == "post_add"
        record_relations(relations, instance, using, model, added, pk_set)
