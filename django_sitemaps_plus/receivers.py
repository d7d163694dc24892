"""All wiring: which signal of Django leads to which function of ours."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from django.db.models import Model
from django.db.models.signals import m2m_changed, post_delete, post_save

from .registry import registry
from .sources import ModelSource
from .tracking.recording import record, record_unlinked
from .tracking.watching import (
    Watched,
    concrete,
    every_column,
    path_model,
    related_paths,
    watched_models,
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
        deletes = [w for w in watchers if getattr(w.source, "track_deletes", True)]
        if deletes:
            _connect(post_delete, model, partial(_deleted, deletes))
    for through, watchers in _many_to_many().items():
        _connect(m2m_changed, through, partial(_related, watchers))


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
    watchers: Sequence[Watched],
    instance: Model,
    using: str,
    action: str,
    model: type[Model],
    pk_set: set[Any] | None = None,
    **kwargs: Any,
) -> None:
    if not action.startswith("post_") and action != "pre_clear":
        return
    rows = [w for w in watchers if not w.path and _lists(w, type(instance))]
    record(rows, instance, using)
    # The others are rows: of a relation between rows both sides are.
    far = [w for w in watchers if w.path and _lists(w, model)]
    if action == "post_add":
        record(far, instance, using)
    elif far:
        record_unlinked(far, instance, using, pk_set)


def _lists(watched: Watched, model: type[Model]) -> bool:
    tracked = watched.source.tracked_model
    return tracked is not None and issubclass(concrete(model), concrete(tracked))


def _many_to_many() -> dict[Any, list[Watched]]:
    """Return the tables behind many-to-many relations that declared paths cross.

    Each has two watchers: one for a row whose relations were set, one for a related
    object that was added to rows or taken from them.
    """
    found: dict[Any, list[Watched]] = {}
    for name, source in registry.items():
        if not isinstance(source, ModelSource):
            continue
        for path in related_paths(source):
            *before, last = path.split("__")
            model = (
                path_model(source.model, "__".join(before)) if before else source.model
            )
            field: Any = model._meta.get_field(last)
            if field.many_to_many and not before:
                relation = field if hasattr(field, "through") else field.remote_field
                found.setdefault(relation.through, []).extend(
                    [Watched(name, source, to, every_column) for to in ("", path)]
                )
    return found
