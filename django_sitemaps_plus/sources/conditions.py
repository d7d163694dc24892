"""Rows that editors exclude, as a condition on querysets."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from django.core.exceptions import ValidationError
from django.db import Error
from django.db.models import Model, Q, QuerySet

from django_sitemaps_plus.outages import is_outage

from .keys import key_field
from .querysets import narrowed


def without_excluded(rows: QuerySet[Any]) -> QuerySet[Any]:
    """Return the rows that no editor excludes, by one small query for their keys.

    Only what writes rows asks for it: a plan and a fingerprint are the same whatever is
    excluded.
    """
    keys = excluded_keys(rows.model)
    return narrowed(rows, ~Q(pk__in=keys)) if keys else rows


def excluded_keys(model: type[Model]) -> list[Any]:
    """Return the primary keys of a model's excluded rows, which may lie elsewhere."""
    # The root of the package is imported before there are models.
    from django_sitemaps_plus.models import Exclusion
    from django_sitemaps_plus.models.base import contained
    from django_sitemaps_plus.models.exclusions import label_of

    try:
        with contained():
            texts = Exclusion.objects.keys(model=label_of(model))
    except Error as error:
        if is_outage(error):
            raise
        return []  # before the first migration of our tables
    return as_keys(model, [text for (text,) in texts])


def as_keys(model: type[Model], texts: Iterable[str]) -> list[Any]:
    """Return primary keys of their texts; one of another type is that of no row."""
    keys, field = [], key_field(model, "pk")
    for text in texts:
        with suppress(ValidationError, ValueError, TypeError):
            key = field.to_python(text)
            field.run_validators(key)  # the database may refuse a number too large
            keys.append(key)
    return keys
