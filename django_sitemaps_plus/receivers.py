"""Receivers: which signal of Django calls which function."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from django.db.models.signals import m2m_changed, post_delete, post_save

from .tracking.recording import record, record_relations
from .tracking.watching import watched_models, watched_relations

_UID = "sitemaps_plus"

_connected: list[tuple[Any, Any]] = []  # signals and senders


def connect() -> None:
    """Connect the models of all registered sections, and no others.

    To be called again whenever the registry changes. No receiver is connected for all
    models: that would take Django's fast delete from each of them.
    """
    disconnect()
    for model, watchers in watched_models().items():
        _connect(post_save, model, partial(record, watchers))
        deleted = [replace(it, kind=it.deletion) for it in watchers if it.deletion]
        if deleted:
            _connect(post_delete, model, partial(record, deleted))
    for through, relations in watched_relations().items():
        _connect(m2m_changed, through, partial(record_relations, relations))


def disconnect() -> None:
    """Disconnect whatever :func:`connect` has connected."""
    while _connected:
        signal, sender = _connected.pop()
        signal.disconnect(sender=sender, dispatch_uid=_UID)


def _connect(signal: Any, sender: Any, receiver: Any) -> None:
    signal.connect(receiver, sender=sender, weak=False, dispatch_uid=_UID)
    _connected.append((signal, sender))
