"""Watching: which saves concern which section, and by which path."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Any

from django.apps import apps
from django.db.models import ForeignKey, Model

from django_sitemaps_plus.conf import DEFAULT_SITE, Site
from django_sitemaps_plus.models.transactions import contained
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.sources import ModelSource, Source, reader_of, surroundings
from django_sitemaps_plus.sources.dependencies import columns, own_fields
from django_sitemaps_plus.sources.keys import own_field

from .relations import (
    concrete,
    many_to_many,
    parents,
    path_by_parent,
    path_model,
    related_paths,
    watched_paths,
)

#: Returns the names of the fields on which a section depends; None for all.
Columns = Callable[[], frozenset[str] | None]


@dataclass(frozen=True)
class Watched:
    """A model whose saves concern a section."""

    section: str
    source: Source
    #: Between its rows and the model, as a change records it; "" for its own model.
    path: str
    #: Asked for when a save is limited to some fields: a queryset may need tables that
    #: are not there while Django starts.
    columns: Columns = lambda: None
    #: Of a model behind a many-to-many relation, the key to the end of the path.
    link: ForeignKey[Any, Any] | None = None
    #: The model at the end of the path, where that is a parent with a table of its own.
    parent: type[Model] | None = None

    @property
    def watches_deletions(self) -> bool:
        """Whether a deletion is to be recorded; a parent takes its child with it."""
        return self.parent is None and getattr(self.source, "track_deletes", True)

    def depends_on(self, names: frozenset[str]) -> bool:
        """Return whether a save of these fields alone may change an entry."""
        columns = self.columns()
        return columns is None or not names.isdisjoint(columns)

    def key_of(self, instance: Model) -> Any:
        """Return the key by which a change names an object."""
        key = getattr(instance, self.key_attribute)
        if key is None:  # a child in a fixture has only the link to its parent
            owner: Any = self.parent or reader_of(self.source).tracked_model
            link: Any = instance._meta.get_ancestor_link(owner)
            key = getattr(instance, link.attname)
        return key

    @cached_property
    def key_attribute(self) -> str:
        """The attribute of an object that holds that key."""
        if self.path and self.parent is None:
            return "pk"
        owner: Any = self.parent or reader_of(self.source).tracked_model
        return str(own_field(owner, "pk" if self.parent else self._key).attname)

    @property
    def key_is_pk(self) -> bool:
        """Whether pages are cut by the primary key."""
        return self._key == "pk"

    @property
    def _key(self) -> str:
        return getattr(self.source, "key", "pk")


def watched_models() -> dict[type[Model], list[Watched]]:
    """Return every model that some section depends on, with what depends on it.

    A proxy and a child by multi-table inheritance are saved under their own name, and
    so are the models behind a proxy and the parents of a child that a section lists.
    """
    found: dict[type[Model], list[Watched]] = {}
    for name, source in registry.items():
        for sender, watched in _watched(name, source):
            found.setdefault(sender, []).append(watched)
    return found


def models_of(source: Source) -> set[type[Model]]:
    """Return every model whose saves concern a source, under whatever name."""
    return {sender for sender, _ in _watched("", source)}


def _watched(name: str, source: Source) -> Iterator[tuple[type[Model], Watched]]:
    """Yield the models under whose names rows are saved, with what depends on them."""
    for model, path, names in _dependencies(source):
        own = _senders(model)
        for sender in own:
            yield sender, Watched(name, source, path, names)
        for parent in parents(model):
            way = path_by_parent(model, path, parent)
            if way is not None:
                watched = Watched(name, source, way, names, parent=parent)
                # A save of the child sends a signal of its own for all its tables.
                others = [other for other in _senders(parent) if other not in own]
                yield from [(sender, watched) for sender in others]
    for crossing in many_to_many(source):
        # A model of the project's own is saved like any other, without m2m_changed.
        if (link := crossing.link) is not None:
            between = Watched(name, source, crossing.near, link=link)
            yield from [(sender, between) for sender in _senders(link.model)]


def _senders(model: type[Model]) -> list[type[Model]]:
    return [
        other
        for other in apps.get_models(include_auto_created=True)
        if issubclass(concrete(other), concrete(model))
    ]


def _dependencies(source: Source) -> Iterator[tuple[type[Model], str, Columns]]:
    model = reader_of(source).tracked_model
    if model is None:
        return
    yield model, "", cache(partial(_own_columns, source))
    if not isinstance(source, ModelSource):
        return
    for related, path in watched_paths(source):
        yield related, f"{related._meta.label}:{path}", lambda: None
    for path, names in related_paths(source).items():
        end = path_model(model, path)
        yield end, path, cache(partial(own_fields, end, names))


def _own_columns(source: Source) -> frozenset[str] | None:
    """Return the columns of its own model on which a source depends; None for all.

    A save asks for them, so a query of ``get_queryset()`` that fails must not end the
    transaction of that save.
    """
    if getattr(source, "announce_saves", False):  # what a sitemap does not hold as well
        return None
    try:
        with surroundings(Site(DEFAULT_SITE, "")), contained():
            return columns(source)
    except Exception:  # noqa: BLE001 - a source is the user's code; this is their save
        return None


@dataclass(frozen=True, slots=True)
class WatchedRelation:
    """A many-to-many relation that a path of a section crosses."""

    model: type[Model]  # at which it begins, seen from the section's rows
    near: Watched  # concerned when relations of an object of that model were set
    far: Watched  # concerned when an object at the other end was given some

    def begins_at(self, model: type[Model]) -> bool:
        """Return whether objects of a model are those at which the relation begins."""
        return issubclass(concrete(model), concrete(self.model))


def watched_relations() -> dict[Any, list[WatchedRelation]]:
    """Return the tables behind many-to-many relations that concern sections."""
    found: dict[Any, list[WatchedRelation]] = {}
    for name, source in registry.items():
        for crossing in many_to_many(source):
            near = Watched(name, source, crossing.near, parent=crossing.parent)
            far = Watched(name, source, crossing.far, parent=crossing.far_parent)
            relation = WatchedRelation(crossing.model, near, far)
            found.setdefault(crossing.through, []).append(relation)
    return found
