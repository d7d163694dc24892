"""The relations between rows of a source and what its pages depend on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, cast

from django.core.exceptions import FieldDoesNotExist
from django.db.models import ForeignKey, ManyToManyField, Model, QuerySet

from django_sitemaps_plus.sources import ModelSource, Source, Under
from django_sitemaps_plus.sources.dependencies import image_paths, paths
from django_sitemaps_plus.sources.related import path_model

#: In the place of a path to rows: code in ``watch`` finds them.
BY_CODE = "*"


def concrete(model: type[Model]) -> type[Model]:
    """Return the model that has the table."""
    return cast("type[Model]", model._meta.concrete_model)


def parents(model: type[Model]) -> list[type[Model]]:
    """Return the models that have further tables of its rows, nearest first."""
    own = concrete(model)
    ancestors = [concrete(parent) for parent in own._meta.all_parents]
    return [parent for parent in dict.fromkeys(ancestors) if parent is not own]


class Way(NamedTuple):
    """How saved objects lead to rows that are listed, by field paths of one model.

    A change holds it as text: ``shop.Book::author__id`` of a book by its author,
    ``shop.Review:book:id`` of a book by its reviews, and ``shop.Category:*:id`` of the
    rows that code in ``watch`` finds.
    """

    model: type[Model]
    to_rows: str = ""
    to_saved: str = ""

    def by(self, field: Any) -> str:
        """Return the way by the value that saved objects have in a field."""
        to_saved = "__".join(filter(None, [self.to_saved, field.name]))
        return f"{self.model._meta.label}:{self.to_rows}:{to_saved}"


def watched_ways(source: ModelSource) -> Iterator[Way]:
    """Yield the ways from the models of ``watch``; a check names what cannot be one."""
    watch: object = source.watch
    for model, rows in watch.items() if isinstance(watch, Mapping) else ():
        if is_model(model) and isinstance(rows, str):
            yield Way(model, rows)
        elif is_model(model) and is_code(rows):
            yield Way(model, BY_CODE)


def is_code(rows: object) -> bool:
    """Return whether a value of ``watch`` finds rows by code, not by a path."""
    return isinstance(rows, Under) or (callable(rows) and not isinstance(rows, type))


def is_tree(source: Any, way: Way) -> bool:
    """Return whether a way leads to the rows below one of a tree."""
    return way.to_rows == BY_CODE and isinstance(source.watch[way.model], Under)


def rows_of(model: type[Model], queryset: QuerySet[Any]) -> QuerySet[Any] | None:
    """Return the rows of a queryset as those of a model; None if they are of another.

    A row of a parent belongs to a child with a table of its own, where that has one.
    """
    own, given = concrete(model), concrete(queryset.model)
    if issubclass(given, own):
        return queryset
    if not issubclass(own, given):
        return None
    rows = own._base_manager.using(queryset.db)
    return rows.filter(**{f"{given._meta.pk.name}__in": queryset.values("pk")})


def is_model(value: object) -> bool:
    """Return whether it is a model class that may have rows."""
    if not (isinstance(value, type) and issubclass(value, Model)):
        return False
    return not value._meta.abstract


def related_paths(source: ModelSource) -> dict[str, set[str | None]]:
    """Return the relations that declared paths cross, with the columns at their end.

    Nobody knows which columns make the URL of images that are objects: None.
    """
    by_path: dict[str, set[str | None]] = {}
    images = image_paths(source)
    for path in paths(source):
        names = path.split("__")
        model: Any = source.model
        for depth, name in enumerate(names, 1):
            relation = _relation(model, name)
            if relation is None:
                break  # the rest is a transform or a lookup
            model = relation.related_model
            end: str | None = "".join(names[depth : depth + 1])
            if path in images and not end:
                end = None
            elif end != "pk" and (not end or _field(model, end) is None):
                if relation.concrete and not relation.many_to_many:
                    break  # the path ends in a column of the row itself
                end = "pk"
            # The columns that say to whom a row belongs: those of many-to-many are in
            # a table of their own, which is watched.
            ends = {end}
            if not relation.many_to_many and _is_generic(relation):
                ends.add(relation.object_id_field_name)
                ends.add(relation.content_type_field_name)
            elif not relation.many_to_many:
                ends |= {field.name for _, field in relation.get_joining_fields()}
            by_path.setdefault("__".join(names[:depth]), set()).update(ends)
    return by_path


def _is_generic(relation: Any) -> bool:
    return hasattr(relation, "content_type_field_name")


def holder(way: Way) -> tuple[str, str] | None:
    """Return what the objects at the end of a path know of the row before them.

    That is the attribute that holds its key, and the way from there to rows, for what a
    foreign key or a generic one leads back from; None for all else.
    """
    before, _, last = way.to_saved.rpartition("__")
    model = path_model(way.model, before) if before else way.model
    relation: Any = model._meta.get_field(last)
    near = way._replace(to_saved=before)
    if _is_generic(relation):  # rows of another model may have the same key
        return relation.object_id_field_name, near.by(relation.model._meta.pk)
    key: Any = getattr(relation, "field", None)
    is_back = isinstance(key, ForeignKey)
    return (key.attname, near.by(key.target_field)) if is_back else None


def _field(model: type[Model], name: str) -> Any:
    try:
        return model._meta.get_field(name)
    except FieldDoesNotExist:
        return None


def _relation(model: type[Model], name: str) -> Any:
    field = _field(model, name)
    return field if field is not None and field.related_model else None


class Crossing(NamedTuple):
    """A many-to-many relation on the way between rows and what they depend on."""

    through: Any  # the model of the table behind it
    #: The key from that table to the end nearer to the rows. None for fields of others
    #: that act like many-to-many: their tables may be anything.
    link: Any
    field: Any  # at that end, to which the table refers
    way: Way  # from there to the rows


def _crossing(relation: Any, model: type[Model], way: Way) -> Crossing:
    """Return a relation, which is given as it is called at the end nearer to rows."""
    behind = relation if hasattr(relation, "through") else relation.remote_field
    declared = getattr(behind, "field", None)
    if not isinstance(declared, ManyToManyField):
        return Crossing(behind.through, None, model._meta.pk, way)
    names: Any = declared
    is_forward = relation is declared
    name = names.m2m_field_name() if is_forward else names.m2m_reverse_field_name()
    link = behind.through._meta.get_field(name)
    return Crossing(behind.through, link, link.target_field, way)


def many_to_many(source: Source) -> Iterator[Crossing]:
    """Yield the many-to-many relations that declared paths and ``watch`` cross."""
    if not isinstance(source, ModelSource):
        return
    for path in related_paths(source):
        before, _, last = path.rpartition("__")
        model = path_model(source.model, before) if before else source.model
        relation: Any = model._meta.get_field(last)
        if relation.many_to_many:
            yield _crossing(relation, model, Way(source.model, "", before))
    for way in watched_ways(source):
        model, names = way.model, way.to_rows.split("__")
        for depth, name in enumerate(names, 1):
            relation = _relation(model, name)
            if relation is None:
                break  # a change by a path that leads nowhere marks all pages
            model = relation.related_model
            if relation.many_to_many:
                rest = Way(model, "__".join(names[depth:]))
                yield _crossing(relation.remote_field, model, rest)
