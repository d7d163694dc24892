"""Watching: which saves concern which section, and how."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

from django.apps import apps
from django.conf import settings
from django.db.models import Model

from django_sitemaps_plus.conf import DEFAULT_SITE, Site
from django_sitemaps_plus.models import Change
from django_sitemaps_plus.models.base import contained
from django_sitemaps_plus.outages import in_one_line, log_once
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.sources import ModelSource, SitemapSource, Source, reader_of
from django_sitemaps_plus.sources.dependencies import columns, own_fields
from django_sitemaps_plus.sources.keys import own_field
from django_sitemaps_plus.sources.languages import default_language, surroundings_in
from django_sitemaps_plus.sources.related import path_model

from . import relations

#: Returns the names of the fields on which a section depends; None for all. Asked only
#: when a save is limited to some fields: while Django starts, tables may be missing.
Columns = Callable[[], frozenset[str] | None]

NewChange = tuple[str, str, str, str]  # section, kind, low, high

logger = logging.getLogger(__name__)


def _all() -> None:
    return None


@dataclass(frozen=True)
class Watched:
    """The meaning of a model's saves for a section."""

    section: str
    #: The kind of change that a save records; None for none.
    kind: Change.Kind | None
    model: type[Model]
    #: The attribute of an object by which a change names it.
    attribute: str
    #: From there to rows, as a change records it; "" for an object that is a row.
    way: str = ""
    #: The kind of change that a deletion records; None for none.
    deletion: Change.Kind | None = None
    columns: Columns = _all

    def row(self, value: Any) -> NewChange:
        """Return the change of an object that has a value in that attribute."""
        return self.section, str(self.kind), str(value), self.way

    def depends_on(self, names: frozenset[str]) -> bool:
        """Return whether a save of these fields alone may change an entry."""
        columns = self.columns()
        return columns is None or not names.isdisjoint(columns)

    def is_of(self, model: type[Model]) -> bool:
        """Return whether objects of a model are among those that are watched."""
        return issubclass(relations.concrete(model), relations.concrete(self.model))


_Pair = tuple[type[Model], Watched]  # who sends the signal, and what it means


def watched_models() -> dict[type[Model], list[Watched]]:
    """Return every model that some section depends on, with what depends on it."""
    return _by_sender(_watched)


def models_of(source: Source) -> set[type[Model]]:
    """Return every model whose saves concern a source, under whatever name."""
    return {sender for sender, _ in _watched("", source)}


def watched_relations() -> dict[type[Model], list[Watched]]:
    """Return the tables behind many-to-many relations that concern sections."""

    def tables(name: str, source: Source) -> Iterator[_Pair]:
        for crossing in relations.many_to_many(source):
            yield crossing.through, _related(name, crossing.way, crossing.field)

    return _by_sender(tables)


def _by_sender(
    find: Callable[[str, Source], Iterator[_Pair]],
) -> dict[type[Model], list[Watched]]:
    """Return what is found of all sections, by the model; nothing of a broken one."""
    by_sender: dict[type[Model], list[Watched]] = {}
    for name, source in registry.items():
        try:
            pairs = list(find(name, source))
        except Exception as error:  # noqa: BLE001 - Django starts; a check names it
            words = f"Saves of section {name!r} are not recorded: {in_one_line(error)}"
            log_once(logger, words, "source_broken", name)
            continue
        for sender, watched in pairs:
            by_sender.setdefault(sender, []).append(watched)
    return by_sender


def _watched(name: str, source: Source) -> Iterator[_Pair]:
    """Yield the models under whose names rows are saved, with what depends on them.

    A proxy and a child by multi-table inheritance are saved under their own name, and
    so are the models behind a proxy and the parents of a child that a section lists.
    """
    if isinstance(source, SitemapSource) and not source.models:
        return  # it need not be made yet, while Django starts
    kind, tracks = Change.Kind, getattr(source, "track_deletes", True)
    for model, way, names in _dependencies(source):
        senders = _senders(model)
        if way == relations.Way(model):  # its objects are rows
            key = own_field(model, getattr(source, "key", "pk")).attname
            deletion = kind.KEY if tracks else None
            watched = Watched(name, kind.KEY, model, key, "", deletion, names)
        else:
            # Rows of a deleted object cannot be found any more, unless it holds their
            # key; those under a row of a tree are deleted with it, each by a signal.
            deletion = (
                kind.UNKNOWN if tracks and not relations.is_tree(source, way) else None
            )
            if tracks and way.to_saved and (held := relations.holder(way)):
                last = Watched(name, None, model, *held, kind.RELATED, names)
                yield from [(sender, last) for sender in senders]
                deletion = None
            watched = _related(name, way, model._meta.pk, deletion, names)
        yield from [(sender, watched) for sender in senders]
        for parent in relations.parents(model):
            watched = _related(name, way, parent._meta.pk, None, names)
            # A save of the child sends a signal of its own for all its tables, and so
            # does its deletion.
            others = [other for other in _senders(parent) if other not in senders]
            yield from [(sender, watched) for sender in others]
    for crossing in relations.many_to_many(source):
        # A model of the project's own is saved like any other, without m2m_changed. Of
        # its rows one that is deleted still says whom it concerned.
        through, link = crossing.through, crossing.link
        if link is not None and not through._meta.auto_created:
            deletion = kind.RELATED if tracks else None
            near = _related(name, crossing.way, crossing.field, deletion)
            watched = replace(near, attribute=link.attname)
            yield from [(sender, watched) for sender in _senders(through)]


def _related(
    name: str,
    way: relations.Way,
    field: Any,
    deletion: Change.Kind | None = None,
    names: Columns = _all,
) -> Watched:
    kind, attribute = Change.Kind.RELATED, field.attname
    return Watched(name, kind, field.model, attribute, way.by(field), deletion, names)


def _senders(model: type[Model]) -> list[type[Model]]:
    return [
        other
        for other in apps.get_models(include_auto_created=True)
        if issubclass(relations.concrete(other), relations.concrete(model))
    ]


def _dependencies(
    source: Source,
) -> Iterator[tuple[type[Model], relations.Way, Columns]]:
    for model in reader_of(source).tracked_models:
        yield model, relations.Way(model), cache(partial(_own_columns, source))
    if not isinstance(source, ModelSource):
        return
    for way in relations.watched_ways(source):
        yield way.model, way, _all
    for path, names in relations.related_paths(source).items():
        end = path_model(source.model, path)
        yield (
            end,
            relations.Way(source.model, "", path),
            cache(partial(own_fields, end, names)),
        )


def _own_columns(source: Source) -> frozenset[str] | None:
    """Return the columns of its own model on which a source depends; None for all.

    A save asks for them, so a query of ``get_queryset()`` that fails must not end the
    transaction of that save.
    """
    if getattr(source, "announce_saves", False):  # what a sitemap does not hold as well
        return None
    language = default_language() or settings.LANGUAGE_CODE
    try:
        # A save must not import the URLconf, as other surroundings would.
        with surroundings_in(language, Site(DEFAULT_SITE, "")), contained():
            return columns(source)
    except Exception:  # noqa: BLE001 - a source is the user's code; this is their save
        return None
