"""Receivers: which signal of Django calls which function."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import count
from threading import RLock
from typing import Any

from django.db.backends.signals import connection_created
from django.db.models.signals import m2m_changed, post_delete, post_save

from django_sitemaps_plus.tracking.known import learn, unknown_sections

from .models import own_alias
from .registry import registry
from .tracking.recording import record, record_relations
from .tracking.watching import watched_models, watched_relations

_uids, _lock = count(), RLock()

_connected: list[tuple[Any, Any, str]] = []  # signals, senders, uids


def connect() -> None:
    """Connect the models of all registered sections, and no others.

    To be called again whenever the registry changes. No receiver of deletions is
    connected for all models: that would take Django's fast delete from each of them.
    """
    with _lock:
        before = len(_connected)
        models, through_models = watched_models(), watched_relations()
        for model, watchers in models.items():
            saved = [it for it in watchers if it.kind]
            _connect(post_save, model, partial(record, saved))
            deleted = [replace(it, kind=it.deletion) for it in watchers if it.deletion]
            if deleted:
                _connect(post_delete, model, partial(record, deleted))
        for through, relations in through_models.items():
            _connect(m2m_changed, through, partial(record_relations, relations))
        if registry.pending or unknown_sections():
            # A process that deletes has connected, so post_delete can be left out.
            _connect(post_save, None, _learn_by_save)
            _connect(connection_created, None, _learn_by_connection)

        # The former ones go last: better to record a save of another thread twice.
        for signal, sender, uid in _connected[:before]:
            signal.disconnect(sender=sender, dispatch_uid=uid)
        del _connected[:before]


def _learn_by_save(sender: Any, **kwargs: Any) -> None:
    if names := learn():  # receivers that it connects come too late for this save
        watchers = watched_models().get(sender, [])
        record([it for it in watchers if it.section in names], **kwargs)


def _learn_by_connection(connection: Any, **kwargs: Any) -> None:
    if connection.alias == own_alias():
        learn()


def _connect(signal: Any, sender: Any, receiver: Any) -> None:
    uid = f"sitemaps_plus {next(_uids)}"
    signal.connect(receiver, sender=sender, weak=False, dispatch_uid=uid)
    _connected.append((signal, sender, uid))
