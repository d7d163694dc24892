"""The relations that lead from the rows of a source to what its pages depend on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

from django.core.exceptions import FieldDoesNotExist
from django.db.models import ForeignKey, ManyToManyField, Model

from django_sitemaps_plus.sources import ModelSource, Source
from django_sitemaps_plus.sources.dependencies import paths

from .parents import concrete, parents, path_to_parent


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


def watched_paths(source: ModelSource) -> Iterator[tuple[type[Model], str]]:
    """Yield the models of ``watch`` with their paths, wherever these lead.

    What is no model and no path is left out: a project must start, for a system check
    to name it.
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


class Crossing(NamedTuple):
    """A many-to-many relation on the way between rows and what they depend on.

    Attributes:
        model: the model at its end nearer to the rows.
        near: what leads from there to the rows, as a change records it.
        far: what leads to them from its other end.
        relation: what Django knows of it at the nearer end.
        parent: the model, where it is a parent of the one that the path names.
        far_parent: the same of the model at the other end.
    """

    model: type[Model]
    near: str
    far: str
    relation: Any
    parent: type[Model] | None = None
    far_parent: type[Model] | None = None


def many_to_many(source: Source) -> Iterator[Crossing]:
    """Yield the many-to-many relations that declared paths and ``watch`` cross."""
    if not isinstance(source, ModelSource):
        return
    for path in related_paths(source):
        before, _, last = path.rpartition("__")
        model = path_model(source.model, before) if before else source.model
        relation = model._meta.get_field(last)
        if relation.many_to_many:
            yield _crossing_from_rows(model, before, path, relation)
    for watched, path in watched_paths(source):
        yield from _crossings_to_rows(watched, path.split("__"))


def _crossing_from_rows(
    model: type[Model], near: str, far: str, relation: Any
) -> Crossing:
    parent = _parent_with(model, relation)
    if parent is None:
        return Crossing(model, near, far, relation)
    near = "__".join(filter(None, [near, path_to_parent(model, parent)]))
    return Crossing(parent, near, far, relation, parent)


def _parent_with(model: type[Model], relation: Any) -> type[Model] | None:
    """Return the parent from which a model inherits a relation, which holds its keys.

    None for a relation of the model itself.
    """
    parent = concrete(relation.model)
    return parent if parent in parents(model) else None


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
