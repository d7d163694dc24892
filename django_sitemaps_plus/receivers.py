"""All wiring: which signal of Django leads to which function of ours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from django.db.models import Model
from django.db.models.signals import m2m_changed, post_delete, post_save

from .conf import get_site, tells_engines
from .core.diff import Diff
from .executors.base import get_executor
from .models import Publication
from .notifications import outbox, telling, url_changes
from .notifications.listening import listening_engines
from .registry import registry
from .tracking.parents import concrete
from .tracking.recording import record, record_unlinked
from .tracking.relations import many_to_many
from .tracking.watching import Watched, every_column, watched_models

_UID = "sitemaps_plus"

_connected: list[tuple[Any, Any]] = []  # signals and senders


def connect_engines() -> None:
    """Let engines hear of what builds publish, and of what has been saved since."""
    hearer = url_changes.Hearer(tells_engines, _hear, _heard, _finished)
    url_changes.hearers[:] = [hearer]
    telling.gatherers[:] = [url_changes.tell_saves]


def _hear(publication: Publication, part: Diff) -> None:
    urls = [*part.added, *part.updated, *part.removed]
    saved = outbox.Saved(publication.section.name, part.keys)
    outbox.want_urls(get_site(), urls, publication.at, saved=saved)


def _heard(publication: Publication) -> None:
    if any([engine.follows_content for engine in listening_engines().values()]):
        outbox.want_feeds(get_site(), has_changed=True, at=publication.at)


def _finished(at: datetime) -> None:
    get_executor().notify(at)


def connect() -> None:
    """Connect the models of all registered sections, and no others.

    To be called again whenever the registry changes. No receiver is connected for all
    models: that would take Django's fast delete from each of them.
    """
    disconnect()
    for model, watchers in watched_models().items():
        _connect(post_save, model, partial(_saved, watchers))
        deletes = [watched for watched in watchers if watched.hears_deletions]
        if deletes:
            _connect(post_delete, model, partial(_deleted, deletes))
    for through, links in _many_to_many().items():
        _connect(m2m_changed, through, partial(_related, links))


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
    links: Sequence[_Link],
    instance: Model,
    using: str,
    action: str,
    model: type[Model],
    pk_set: set[Any] | None = None,
    **kwargs: Any,
) -> None:
    if not action.startswith("post_") and action != "pre_clear":
        return
    near = [link.near for link in links if link.begins_at(type(instance))]
    record(near, instance, using)
    # From the other side; of a relation of a model with itself both are.
    far = [link for link in links if link.begins_at(model)]
    if action == "post_add":
        record([link.far for link in far], instance, using)
    else:
        record_unlinked([link.near for link in far], instance, using, pk_set)


@dataclass(frozen=True, slots=True)
class _Link:
    """A many-to-many relation that a path of a section crosses.

    Attributes:
        model: the model at which the relation begins, seen from the section's rows.
        near: who is concerned when relations of an object of that model were set.
        far: who is concerned when an object at the other end was given some.
    """

    model: type[Model]
    near: Watched
    far: Watched

    def begins_at(self, model: type[Model]) -> bool:
        """Return whether objects of a model are those at which the relation begins."""
        return issubclass(concrete(model), concrete(self.model))


def _many_to_many() -> dict[Any, list[_Link]]:
    """Return the tables behind many-to-many relations that concern sections."""
    found: dict[Any, list[_Link]] = {}
    for name, source in registry.items():
        for crossing in many_to_many(source):
            field = crossing.relation
            relation = field if hasattr(field, "through") else field.remote_field
            who = partial(Watched, name, source, columns=every_column)
            near = who(crossing.near, parent=crossing.parent)
            far = who(crossing.far, parent=crossing.far_parent)
            link = _Link(crossing.model, near, far)
            found.setdefault(relation.through, []).append(link)
    return found
