"""Checks of what a source watches, and of what it fails to watch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from django.apps import apps
from django.core.checks import CheckMessage
from django.core.exceptions import FieldDoesNotExist
from django.db.models import Model

from django_sitemaps_plus.conf import DEFAULT_SITE, Site
from django_sitemaps_plus.core.key_ranges import KeyRange
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.sources import ModelSource
from django_sitemaps_plus.sources.dependencies import inner_tables, joined_tables
from django_sitemaps_plus.sources.keys import key_field
from django_sitemaps_plus.sources.reading import listed_rows, page_query
from django_sitemaps_plus.tracking.relations import is_model, path_model
from django_sitemaps_plus.tracking.watching import models_of

from .messages import error, warning


def check_watched(source: ModelSource) -> Iterator[CheckMessage]:
    """Yield what ``watch`` names that leads to no rows of a source with a right key."""
    listed, watch = source.model, source.watch
    if not isinstance(watch, Mapping):
        hint = f"Give a dict of models, each with its path to {listed._meta.label}."
        yield error(27, f"watch is {watch!r}.", hint)
        return
    for model, path in watch.items():
        if not is_model(model):
            hint = f"Name a model class with its path to {listed._meta.label}."
            yield error(27, f"watch names {model!r}, which is not a model.", hint)
        elif fault := _fault(source, model, path):
            message = f"watch names {path!r} for {model._meta.label}, and {fault}."
            yield error(27, message, _hint(model, listed))


def _fault(source: ModelSource, model: type[Model], path: object) -> str:
    """Return what is wrong with a watched path; "" if it leads to the rows."""
    if not isinstance(path, str):
        return "that is not a path"
    try:
        end = path_model(model, path)
    except FieldDoesNotExist as fault:
        return str(fault)
    try:
        # A proxy holds the keys of the rows, and so do a parent or child that share it.
        if key_field(end, source.key) == key_field(source.model, source.key):
            return ""
    except ConfigurationError:
        pass
    ends = f"that leads to {end._meta.label}"
    return f"{ends}, which does not have the key of {source.model._meta.label}"


def _hint(model: type[Model], listed: type[Model]) -> str:
    fields = [f for f in model._meta.get_fields() if f.related_model is listed]
    names = " or ".join([repr(field.name) for field in fields])
    hint = f"Write the relations that lead from it to {listed._meta.label}"
    return f"{hint}: {names}." if names else f"{hint}, joined by two underscores."


def check_unwatched(source: ModelSource) -> Iterator[CheckMessage]:
    """Yield the models that a queryset which works reads and no watch covers."""
    if names := ", ".join(sorted(_unwatched(source))):
        yield warning(
            9,
            f"it depends on rows of {names}, whose saves it does not watch.",
            "Name the model in watch, with the path that leads from it to the rows "
            "listed. Where no path does, pass these rows to notify_changed().",
        )


def _unwatched(source: ModelSource) -> Iterator[str]:
    """Yield the labels of models that only joins and inner queries name."""
    watched = models_of(source)
    tables = joined_tables(listed_rows(source).query)
    tables |= inner_tables(page_query(source, KeyRange(), Site(DEFAULT_SITE, "")).query)
    tables -= {model._meta.db_table for model in watched}
    for model in apps.get_models(include_auto_created=True):
        if model._meta.db_table not in tables:
            continue
        if not model._meta.auto_created:
            yield model._meta.label
            continue
        # Who watches the models at the ends of a relation watches it as well.
        ends = [field.related_model for field in model._meta.fields]
        yield from {end._meta.label for end in ends if end and end not in watched}
