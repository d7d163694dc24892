"""What a source depends on: its own rows, and rows of other models."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from django.apps import apps
from django.db.models import ForeignKey, Model

from django_sitemaps_plus.models.transactions import contained
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.sources import ModelSource, Source
from django_sitemaps_plus.sources.dependencies import columns, own_fields

from .parents import by_parent, concrete, parents
from .relations import links_between, path_model, related_paths, watched_paths

Columns = Callable[[], frozenset[str] | None]


def every_column() -> None:
    """Return the columns of which any counts."""


@dataclass(frozen=True, slots=True)
class Watched:
    """A model whose saves concern a section.

    Attributes:
        section: its name.
        source: its source.
        path: "" for the source's own model; else what leads from one to the other,
            as a change records it.
        columns: returns the names of the fields on which the section depends; None
            for all. Asked for when a save is limited to some, since a queryset may
            need tables that are not there while Django starts.
        link: where the model stands between two that are related many-to-many, its
            key to the object at the end of the path; None for any other model.
        parent: where only part of what the section depends on is saved under the name
            of the model, in the table of a parent: that parent, from which the path
            leads on to the child; None for any other model.
    """

    section: str
    source: Source
    path: str
    columns: Columns
    link: ForeignKey[Any, Any] | None = None
    parent: type[Model] | None = None

    @property
    def hears_deletions(self) -> bool:
        """Whether a deletion is to be recorded; a parent takes its child with it."""
        return self.parent is None and getattr(self.source, "track_deletes", True)

    def depends_on(self, names: frozenset[str]) -> bool:
        """Return whether a save of these fields alone may change an entry."""
        columns = self.columns()
        return columns is None or not names.isdisjoint(columns)

    @property
    def key_attribute(self) -> str:
        """The attribute of an object that holds its key."""
        meta = self.source.tracked_model._meta  # type: ignore[union-attr]
        field: Any = meta.pk if self.key_is_pk else meta.get_field(self._key)
        return str(field.attname)

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


def heard_models(source: Source) -> set[type[Model]]:
    """Return every model whose saves concern a source, under whatever name."""
    return {sender for sender, _ in _watched("", source)}


def _watched(name: str, source: Source) -> Iterator[tuple[type[Model], Watched]]:
    """Yield the models under whose names rows are saved, with what depends on them."""
    for model, path, names in _dependencies(source):
        own = _senders(model)
        for sender in own:
            yield sender, Watched(name, source, path, names)
        for parent in parents(model):
            way = by_parent(model, path, parent)
            if way is not None:
                watched = Watched(name, source, way, names, parent=parent)
                # A save of the child tells of all its tables.
                others = [other for other in _senders(parent) if other not in own]
                yield from [(sender, watched) for sender in others]
    for path, link in links_between(source):
        for sender in _senders(link.model):
            yield sender, Watched(name, source, path, every_column, link)


def _senders(model: type[Model]) -> list[type[Model]]:
    return [
        other
        for other in apps.get_models(include_auto_created=True)
        if issubclass(concrete(other), concrete(model))
    ]


def _dependencies(
    source: Source,
) -> Iterator[tuple[type[Model], str, Columns]]:
    model = source.tracked_model
    if model is None:
        return
    yield model, "", cache(partial(_own_columns, source))
    if not isinstance(source, ModelSource):
        return
    for related, path in watched_paths(source):
        yield related, f"{related._meta.label}:{path}", every_column
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
        with contained():
            return columns(source)
    except Exception:  # noqa: BLE001 - the user's code, and perhaps no table yet
        return None
