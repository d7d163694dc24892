"""Excluding objects from the sitemaps, and listing them again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from functools import partial
from typing import Any

from django.apps import apps
from django.db import router, transaction
from django.db.models import Model

from django_sitemaps_plus.models import Exclusion, own_alias
from django_sitemaps_plus.models.exclusions import label_of
from django_sitemaps_plus.models.transactions import atomic
from django_sitemaps_plus.sources.exclusions import as_keys
from django_sitemaps_plus.tracking.recording import notify_changed


def exclude(row: Model, *, by: str, note: str = "") -> bool:
    """Keep a row out of the sitemaps; return whether it was not excluded before."""
    given = {"model": label_of(type(row)), "key": str(row.pk)}
    others = {"by": by[:150], "note": note}
    with atomic():
        found, is_new = Exclusion.objects.get_or_create(**given, defaults=others)
        if is_new:
            _mark([found], router.db_for_write(type(row), instance=row))
    return is_new


def lift(exclusions: Iterable[Exclusion], row: Model | None = None) -> bool:
    """List rows again, or the one that is given; return whether any was excluded."""
    found = list(exclusions)
    alias = None if row is None else router.db_for_write(type(row), instance=row)
    with atomic():
        Exclusion.objects.filter(pk__in=[it.pk for it in found]).delete()
        _mark(found, alias)
    return bool(found)


def _mark(exclusions: Iterable[Exclusion], alias: str | None) -> None:
    """Record that the rows have changed, by which their pages are built again."""
    keys: dict[str, list[str]] = defaultdict(list)
    for exclusion in exclusions:
        keys[exclusion.model].append(exclusion.key)
    for label, texts in keys.items():
        try:
            model: Any = apps.get_model(label)
        except (LookupError, ValueError):
            continue  # it has gone, and its pages with it
        rows = model._base_manager.using(alias or router.db_for_write(model))
        record = partial(notify_changed, rows.filter(pk__in=as_keys(model, texts)))
        if rows.db == own_alias():
            record()
        else:  # or a build might take the change before it sees the exclusion
            transaction.on_commit(record, using=own_alias())
