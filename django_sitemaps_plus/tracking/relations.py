"""The relations between rows of a source and what its pages depend on.

A path of relations is given in one of two ways, as a change records it: from the row
(``author``); or, behind the label of a model and a colon, from there to the row
(``shop.Author:book``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

from django.core.exceptions import FieldDoesNotExist
from django.db.models import ForeignKey, ManyToManyField, Model

from django_sitemaps_plus.sources import ModelSource, Source
from django_sitemaps_plus.sources.dependencies import paths


def concrete(model: type[Model]) -> type[Model]:
    """Return the model that has the table."""
    return cast("type[Model]", model._meta.concrete_model)


def parents(model: type[Model]) -> list[type[Model]]:
    """Return the models that have further tables of its rows, nearest first."""
    own = concrete(model)
    found = [concrete(parent) for parent in own._meta.all_parents]
    return [parent for parent in dict.fromkeys(found) if parent is not own]


def path_to_parent(model: type[Model], parent: type[Model]) -> str:
    """Return the field path that leads from a child to its row in a parent's table."""
    return "__".join([link.name for link in _parent_links(model, parent)])


def path_by_parent(model: type[Model], path: str, parent: type[Model]) -> str | None:
    """Return the path between rows and a parent of the model at its end.

    None where the link of the child hides it from the parent (``related_name="+"``).
    """
    _, colon, to_rows = path.rpartition(":")
    if not colon:  # the path begins at the rows
        return _joined(path, path_to_parent(model, parent))
    down = [link.remote_field for link in reversed(_parent_links(model, parent))]
    if any([step.hidden for step in down]):
        return None
    return _leads(parent, [*(step.name for step in down), to_rows])


def _parent_links(model: type[Model], parent: type[Model]) -> list[Any]:
    steps: Any = concrete(model)._meta.get_path_to_parent(parent)
    return [step.join_field for step in steps]


def _joined(*paths: str) -> str:
    return "__".join(filter(None, paths))


def _leads(model: type[Model], names: Sequence[str]) -> str:
    return f"{model._meta.label}:{'__'.join(names)}" if names else ""


def path_model(model: type[Model], path: str) -> type[Model]:
    """Return the model at the end of a path of relations.

    Raises:
        FieldDoesNotExist: the path leads nowhere.
    """
    for name in path.split("__"):
        related: Any = model._meta.get_field(name).related_model
        if related is None:
            raise FieldDoesNotExist(f"{model._meta.label}.{name} is not a relation")
        model = related
    return model


def watched_paths(source: ModelSource) -> Iterator[tuple[type[Model], str]]:
    """Yield the models of ``watch`` with their paths, wherever these lead.

    What is not a model and a path is left to a system check, so that a project starts.
    """
    watch: object = source.watch
    for model, path in watch.items() if isinstance(watch, Mapping) else ():
        if is_model(model) and isinstance(path, str):
            yield model, path


def is_model(value: object) -> bool:
    """Return whether it is a model class that may have rows."""
    if not (isinstance(value, type) and issubclass(value, Model)):
        return False
    return not value._meta.abstract


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
        return set()  # they are in a table of their own, which is watched
    return {field.name for _, field in relation.get_joining_fields()}


def _related_model(model: type[Model], name: str) -> Any:
    if name == "pk" or not _has_field(model, name):
        return None
    return model._meta.get_field(name).related_model


def _has_field(model: type[Model], name: str) -> bool:
    try:
        return name == "pk" or bool(model._meta.get_field(name))
    except FieldDoesNotExist:
        return False


class Crossing(NamedTuple):
    """A many-to-many relation on the way between rows and what they depend on."""

    model: type[Model]  # at its end nearer to the rows
    near: str  # the path between rows and that end
    far: str  # the path between rows and its other end
    relation: Any  # its field or reverse relation at the nearer end
    parent: type[Model] | None = None  # the model, if the path names a child of it
    far_parent: type[Model] | None = None  # the same of the model at the other end

    @property
    def through(self) -> Any:
        """The model of the table behind the relation."""
        relation = self.relation
        return getattr(relation, "through", None) or relation.remote_field.through

    @property
    def link(self) -> ForeignKey[Any, Any] | None:
        """The key from that table to the nearer end, where the project has its model.

        None for fields of others that act like many-to-many: their tables may be
        anything.
        """
        relation = self.relation
        if isinstance(relation, ManyToManyField):
            name = relation.m2m_field_name()
        elif isinstance(getattr(relation, "field", None), ManyToManyField):
            name = relation.field.m2m_reverse_field_name()
        else:
            return None
        if self.through._meta.auto_created:
            return None
        return cast("ForeignKey[Any, Any]", self.through._meta.get_field(name))


def many_to_many(source: Source) -> Iterator[Crossing]:
    """Yield the many-to-many relations that declared paths and ``watch`` cross."""
    if not isinstance(source, ModelSource):
        return
    for path in related_paths(source):
        before, _, last = path.rpartition("__")
        model = path_model(source.model, before) if before else source.model
        relation: Any = model._meta.get_field(last)
        if relation.many_to_many:
            parent = _parent_with(model, relation)
            near = _joined(before, path_to_parent(model, parent) if parent else "")
            yield Crossing(parent or model, near, path, relation, parent)
    for watched, path in watched_paths(source):
        yield from _crossings_to_rows(watched, path.split("__"))


def _crossings_to_rows(model: type[Model], names: Sequence[str]) -> Iterator[Crossing]:
    """Yield the same of a path that leads the other way, to the rows."""
    for depth, name in enumerate(names):
        end = _related_model(model, name)
        if end is None:
            return  # a change by a path that leads nowhere marks all pages
        relation: Any = model._meta.get_field(name)
        if relation.many_to_many:
            parent = _parent_with(model, relation)
            far = _leads(parent or model, names[depth:])
            near = _leads(end, names[depth + 1 :])
            yield Crossing(end, near, far, relation.remote_field, far_parent=parent)
        model = end


def _parent_with(model: type[Model], relation: Any) -> type[Model] | None:
    """Return the parent from which a model inherits a relation, with its keys."""
    parent = concrete(relation.model)
    return parent if parent in parents(model) else None
