"""Checks of what a source hears of: what it watches, and what it leaves out."""

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
from django_sitemaps_plus.sources.keyset import key_field
from django_sitemaps_plus.tracking.relations import is_model, path_model
from django_sitemaps_plus.tracking.watching import models_of

from .messages import error, warning


def check_watched(source: ModelSource) -> Iterator[CheckMessage]:
    """Yield what ``watch`` names that leads to no rows of the source.

    The key of the source is right.
    """
    listed, watch = source.model._meta.label, source.watch
    if not isinstance(watch, Mapping):
        hint = f"Give a dict of models, each with its path to {listed}."
        yield error(27, f"watch is {watch!r}.", hint)
        return
    for model, path in watch.items():
        if not is_model(model):
            hint = f"Name a model class with its path to {listed}."
            yield error(27, f"watch names {model!r}, which is no model.", hint)
        elif fault := _fault(source, model, path):
            message = f"watch names {path!r} for {model._meta.label}, and {fault}."
            yield error(27, message, _proposed(model, source.model))


def _fault(source: ModelSource, model: type[Model], path: object) -> str:
    """Return what is wrong with a watched path; "" if it leads to the rows."""
    if not isinstance(path, str):
        return "that is no path"
    try:
        end = path_model(model, path)
    except FieldDoesNotExist as fault:
        return str(fault)
    if _has_key(end, source):
        return ""
    return (
        f"that leads to {end._meta.label}, which has not the key of "
        f"{source.model._meta.label}"
    )


def _has_key(model: type[Model], source: ModelSource) -> bool:
    """Return whether rows of a model hold the keys of the source's rows.

    A proxy does, and so does a parent or a child that shares the key.
    """
    try:
        return key_field(model, source.key) == key_field(source.model, source.key)
    except ConfigurationError:
        return False


def _proposed(model: type[Model], listed: type[Model]) -> str:
    fields = [f for f in model._meta.get_fields() if f.related_model is listed]
    names = " or ".join([repr(field.name) for field in fields])
    hint = f"Write the relations that lead from it to {listed._meta.label}"
    return f"{hint}: {names}." if names else f"{hint}, joined by two underscores."


def check_unwatched(source: ModelSource) -> Iterator[CheckMessage]:
    """Yield the models whose rows decide what is listed while nobody hears of them.

    The source can be queried.
    """
    if names := ", ".join(sorted(_unwatched(source))):
        yield warning(
            9,
            f"it depends on rows of {names}, whose saves it does not hear.",
            "Name the model in watch, with the path that leads from it to the rows "
            "listed. Where no path does, pass these rows to notify_changed().",
        )


def _unwatched(source: ModelSource) -> Iterator[str]:
    """Yield the labels of models that only joins and inner queries name."""
    heard = models_of(source)
    tables = joined_tables(source.queryset().query)
    tables |= inner_tables(source.page_query(KeyRange(), Site(DEFAULT_SITE, "")).query)
    tables -= {model._meta.db_table for model in heard}
    for model in apps.get_models(include_auto_created=True):
        if model._meta.db_table not in tables:
            continue
        if not model._meta.auto_created:
            yield model._meta.label
            continue
        # Who watches the models at the ends of a relation hears of it as well.
        ends = [field.related_model for field in model._meta.fields]
        yield from {end._meta.label for end in ends if end and end not in heard}
