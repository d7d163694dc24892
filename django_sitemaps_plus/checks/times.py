"""Checks of the times at which rows come and go."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from datetime import date
from functools import partial
from typing import Any

from django.db import Error, connections
from django.db.models import QuerySet
from django.db.models.expressions import Col

from django_sitemaps_plus.section import open_section
from django_sitemaps_plus.sites import sample_site
from django_sitemaps_plus.sources import ModelSource, SitemapSource
from django_sitemaps_plus.sources.compiling import (
    declared_methods,
    find_field,
    get_absolute_url,
)
from django_sitemaps_plus.sources.conditions import (
    Moment,
    columns_in,
    is_present,
    moments,
    unfollowed,
)
from django_sitemaps_plus.sources.contrib_fields import items_of
from django_sitemaps_plus.sources.querysets import pages_by_key

from .examining import Faults, error, warning

_unusable, _doubted = partial(error, 23), partial(warning, 44)

# Kinds of field that hold values of an attribute, and a word for them.
_HELD = {
    "starts": (_unusable, "Date", "date"),
    "ends": (_unusable, "Date", "date"),
    "lastmod": (_doubted, "Date", "date"),
    "priority": (_doubted, "Decimal|Float|Integer", "number"),
}


def check_times(
    source: ModelSource, rows: QuerySet[Any], page: QuerySet[Any]
) -> Faults:
    """Yield which times at which rows come and go builds do not notice, or not soon."""
    with open_section(source, sample_site()).reading():
        followed, again, others = moments(rows), moments(page), unfollowed(page, rows)
        keys = {it.key for it in followed}
        declared = [it for it in again if it.is_present and it.key not in keys]
        methods = declared_methods(source).values()
        is_unknown = any(it != get_absolute_url for it in methods)
        for part in (rows.query.where, *rows.query.annotations.values()):
            read = columns_in(part, is_deep=True)
            is_unknown |= not all(isinstance(it, Col) for it in read)
    for name, (told, held, wanted) in _HELD.items():
        path = getattr(source, name)
        found = find_field(source.model, path) if isinstance(path, str) else None
        field: Any = getattr(found, "output_field", found)  # of a generated field
        is_own = type(field).__module__.startswith("django.db.models.")
        if is_own and not re.search(held, kind := field.get_internal_type()):
            message = f"{name} names {path!r}, a {kind} and no {wanted}."
            yield told(message, f"Name a field that holds a {wanted}.")
            if told is _unusable:
                return
    if not (source.starts or source.ends or source.max_age is not None):
        yield from _in_vain([*others, *map(_name, declared)])
    yield from _followed(followed, again)
    is_filtered = followed or others or is_unknown
    if (source.starts or source.ends) and not is_filtered:
        yield warning(
            50,
            "it has starts or ends, and get_queryset() lists rows at any time.",
            "They do not filter: add filter(publish_at__lte=timezone.now()), or the "
            "like, to get_queryset().",
        )


def check_items(source: SitemapSource) -> Faults:
    """Yield what builds do not follow in the query of a contrib class.

    A check reads no rows: nothing is said of ``items()`` that do.
    """

    def refuse(*given: object) -> None:
        raise Error("a check reads no rows")

    found = list[Any]()
    with (
        suppress(Exception),
        open_section(source, sample_site()).reading(),
        ExitStack() as stack,
    ):
        for connection in connections.all():
            stack.enter_context(connection.execute_wrapper(refuse))
        if pages_by_key(rows := items_of(source.make())):
            others = items_of(source.make())
            if getattr(source.sample, "max_age", None) is None:
                found += _in_vain(unfollowed(others, rows))
            found += _followed(moments(rows), moments(others))
    yield from found


def _in_vain(names: Iterable[str]) -> Faults:
    for name in dict.fromkeys(names):
        yield warning(
            48,
            f"its query compares {name} with the present time where builds cannot "
            "follow it: in another query, an aggregate, raw SQL or a declaration, or "
            "beside a column.",
            "Name the time in starts or ends of a ModelSource, or set max_age.",
        )


def _followed(followed: Iterable[Moment], again: Iterable[Moment]) -> Faults:
    """Yield what is wrong with times that builds follow, by the query asked again.

    A time of the clock that is the same object was taken once. A constant that is
    written has no microseconds.
    """
    kept = {it.key: it.values for it in again}
    for moment in followed:
        values = kept.get(moment.key, [])
        for one, other in zip(moment.values, values, strict=False):
            parts = getattr(one, "microsecond", 0)
            is_of_clock = isinstance(one, date) and is_present(one)
            if one is other and (is_of_clock or 0 < parts < 999_999):
                yield warning(
                    48,
                    f"its query compares {_name(moment)} with a time that was taken "
                    "once, such as when its module was imported.",
                    "Take the time in get_queryset() or items(), at each call.",
                )
        is_moving = moment.is_present or values != moment.values
        if is_moving and not moment.is_indexed:
            yield warning(
                49,
                f"its query compares {_name(moment)} with the present time, and no "
                "index serves: each minute a build reads all rows for it.",
                "Compare the column itself, and give it db_index=True.",
            )


def _name(moment: Moment) -> str:
    return ", ".join([it.target.name for it in columns_in(moment.lhs)])
