"""What a source depends on: its own rows, and rows of other models."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, NamedTuple, cast

from django.apps import apps
from django.core.exceptions import FieldDoesNotExist
from django.db.models import ForeignKey, ManyToManyField, Model

from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.sources import ModelSource, Source
from django_sitemaps_plus.sources.dependencies import columns, own_fields, paths
from django_sitemaps_plus.transactions import contained

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
    """

    section: str
    source: Source
    path: str
    columns: Columns
    link: ForeignKey[Any, Any] | None = None

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
    so are the models behind a proxy that a section lists.
    """
    found: dict[type[Model], list[Watched]] = {}
    for name, source in registry.items():
        for model, watched in _watched(name, source):
            for sender in _senders(model):
                found.setdefault(sender, []).append(watched)
    return found


def _watched(name: str, source: Source) -> Iterator[tuple[type[Model], Watched]]:
    for model, path, names in _dependencies(source):
        yield model, Watched(name, source, path, names)
    for path, link in links_between(source):
        yield link.model, Watched(name, source, path, every_column, link)


def concrete(model: type[Model]) -> type[Model]:
    """Return the model that has the table."""
    return cast("type[Model]", model._meta.concrete_model)


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
    for related, path in source.watch.items():
        yield related, f"{related._meta.label}:{path}", every_column
    for path, names in related_paths(source).items():
        end = path_model(model, path)
        yield end, path, cache(partial(own_fields, end, names))


def _own_columns(source: Source) -> frozenset[str] | None:
    """Return the columns of its own model on which a source depends; None for all.

    A save asks for them, so a query of ``get_queryset()`` that fails must not end the
    transaction of that save.
    """
    try:
        with contained():
            return columns(source)
    except Exception:  # noqa: BLE001 - the user's code, and perhaps no table yet
        return None


def links_between(source: Source) -> Iterator[tuple[str, ForeignKey[Any, Any]]]:
    """Yield where the project's own models stand behind many-to-many relations.

    Each as the path to where the relation begins, and the key of the model to there.
    Its rows may be saved and deleted like any others, and then Django says nothing of
    the relation.
    """
    for crossing in many_to_many(source):
        link = _link(crossing.relation)
        if link is not None and not link.model._meta.auto_created:
            yield crossing.near, link


def _link(relation: Any) -> ForeignKey[Any, Any] | None:
    """Return the key, in the table behind a relation, to where that begins.

    None for fields of others that act like many-to-many: their tables may be anything.
    """
    if isinstance(relation, ManyToManyField):
        through: Any = relation.remote_field.through
        name = relation.m2m_field_name()
    elif isinstance(getattr(relation, "field", None), ManyToManyField):
        through, name = relation.through, relation.field.m2m_reverse_field_name()
    else:
        return None
    return cast("ForeignKey[Any, Any]", through._meta.get_field(name))


class Crossing(NamedTuple):
    """A many-to-many relation on the way between rows and what they depend on.

    Attributes:
        model: the model at its end nearer to the rows.
        near: what leads from there to the rows, as a change records it.
        far: what leads to them from its other end.
        relation: what Django knows of it at the nearer end.
    """

    model: type[Model]
    near: str
    far: str
    relation: Any


def many_to_many(source: Source) -> Iterator[Crossing]:
    """Yield the many-to-many relations that declared paths and ``watch`` cross."""
    if not isinstance(source, ModelSource):
        return
    for path in related_paths(source):
        before, _, last = path.rpartition("__")
        model = path_model(source.model, before) if before else source.model
        relation = model._meta.get_field(last)
        if relation.many_to_many:
            yield Crossing(model, before, path, relation)
    for watched, path in source.watch.items():
        yield from _crossings_to_rows(watched, path.split("__"))


def _crossings_to_rows(model: type[Model], names: Sequence[str]) -> Iterator[Crossing]:
    """Yield the same of a path that leads the other way, to the rows."""
    for depth, name in enumerate(names):
        end = _related_model(model, name)
        if end is None:
            return  # a change by a path that leads nowhere marks all pages
        relation: Any = model._meta.get_field(name)
        if relation.many_to_many:
            far, near = _leads(model, names[depth:]), _leads(end, names[depth + 1 :])
            yield Crossing(end, near, far, relation.remote_field)
        model = end


def _leads(model: type[Model], names: Sequence[str]) -> str:
    return f"{model._meta.label}:{'__'.join(names)}" if names else ""


def related_paths(source: ModelSource) -> dict[str, set[str]]:
    """Return the relations that declared paths cross, with the columns at their end.

    Those by which its rows are linked are among them: they decide whose rows these are.
    """
    found: dict[str, set[str]] = {}
    for path in paths(source):
        names = path.split("__")
        model: Any = source.model
        for depth, name in enumerate(names[:-1], 1):
            before, model = model, _related_model(model, name)
            if model is None or not _has_field(model, names[depth]):
                break  # the rest is a transform or a lookup
            ends = {names[depth], *_linking(before._meta.get_field(name))}
            found.setdefault("__".join(names[:depth]), set()).update(ends)
    return found


def _linking(relation: Any) -> set[str]:
    """Return the columns at the end of a relation that say to whom a row belongs."""
    if relation.many_to_many:
        return set()  # they are in a table of their own, which is heard
    return {field.name for _, field in relation.get_joining_fields()}


def _related_model(model: type[Model], name: str) -> Any:
    if name == "pk" or not _has_field(model, name):
        return None
    return model._meta.get_field(name).related_model


def _has_field(model: type[Model], name: str) -> bool:
    if name == "pk":
        return True
    try:
        model._meta.get_field(name)
    except FieldDoesNotExist:
        return False
    return True


def path_model(model: type[Model], path: str) -> type[Model]:
    """Return the model at the end of a path of relations.

    Raises:
        FieldDoesNotExist: the path leads nowhere.
    """
    for name in path.split("__"):
        related: Any = model._meta.get_field(name).related_model
        if related is None:
            raise FieldDoesNotExist(f"{model._meta.label}.{name} is no relation")
        model = related
    return model
