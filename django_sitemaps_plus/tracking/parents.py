"""Multi-table inheritance: part of a row is saved under the name of a parent."""

from __future__ import annotations

from typing import Any, cast

from django.db.models import Model


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
    return "__".join([link.name for link in _links(model, parent)])


def by_parent(model: type[Model], path: str, parent: type[Model]) -> str | None:
    """Return what leads from the parent of a related model to rows.

    Args:
        model: the related model.
        path: what leads from it to the rows, as a change records it; "" where its own
            rows are meant.
        parent: one of its parents.

    Returns:
        What a change records for the parent; None where no path leads from it to its
        child, whose link hides it (``related_name="+"``).
    """
    _, colon, to_rows = path.rpartition(":")
    if not colon:  # the path begins at the rows
        return "__".join(filter(None, [path, path_to_parent(model, parent)]))
    down = [link.remote_field for link in reversed(_links(model, parent))]
    if any([step.hidden for step in down]):
        return None
    names = [step.name for step in down]
    return f"{parent._meta.label}:{'__'.join([*names, to_rows])}"


def _links(model: type[Model], parent: type[Model]) -> list[Any]:
    steps: Any = concrete(model)._meta.get_path_to_parent(parent)
    return [step.join_field for step in steps]
