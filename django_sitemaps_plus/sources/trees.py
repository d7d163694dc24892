"""``under``: the rows below changed rows of a tree, in few queries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any

from django.db.models import Q, QuerySet

#: Rows whose descendants one query finds.
ROWS_PER_QUERY = 100


@dataclass(frozen=True)
class Under:
    """The callable that :func:`under` returns."""

    fields: tuple[str, ...]

    def __repr__(self) -> str:
        return f"under({', '.join(map(repr, self.fields))})"

    def rows(
        self, changed: QuerySet[Any], every: QuerySet[Any]
    ) -> Iterator[QuerySet[Any]]:
        """Yield those of all rows that are changed ones or below them."""
        # The place of a row now is enough if it was moved: what it took along are the
        # same rows, and what is below its old place did not change.
        places = _topmost(changed.order_by().values_list(*self.fields))
        for first in range(0, len(places), ROWS_PER_QUERY):
            some = map(self._below, places[first : first + ROWS_PER_QUERY])
            yield every.filter(reduce(or_, some))

    def _below(self, place: tuple[Any, ...]) -> Q:
        if len(place) == 1:
            return Q(**{f"{self.fields[0]}__startswith": place[0]})
        tree, left, right = self.fields
        return Q(
            (tree, place[0]), (f"{left}__gte", place[1]), (f"{right}__lte", place[2])
        )


def under(*fields: str) -> Under:
    """Return a value for ``watch``: the rows at and below a saved row of a tree.

    Args:
        fields: ``"path"``, the field of a materialised path, whose text begins with
            that of the row above; or the three of nested sets: ``"tree_id"``,
            ``"lft"``, ``"rght"``. The section's model has them too.

    Raises:
        TypeError: there are neither one nor three fields.
    """
    if len(fields) not in (1, 3):
        raise TypeError(
            f"under() takes the field of a path, or the three of nested sets, as in "
            f'under("path") and under("tree_id", "lft", "rght"), not {fields!r}'
        )
    return Under(fields)


def _topmost(places: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Return the places that are not below others of them."""
    found: list[tuple[Any, ...]] = []
    for place in sorted({place for place in places if None not in place}):
        above = found[-1] if found else None
        if above is None:
            is_below = False
        elif len(place) == 1:
            is_below = place[0].startswith(above[0])
        else:
            is_below = place[0] == above[0] and place[2] <= above[2]
        if not is_below:
            found.append(place)
    return found
