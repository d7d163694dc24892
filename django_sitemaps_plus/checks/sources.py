"""Checks of what is registered: names, limits, keys and declarations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.core.checks import CheckMessage
from django.core.exceptions import FieldDoesNotExist
from django.db import Error
from django.db.models import (
    CharField,
    DateField,
    Field,
    IntegerField,
    Model,
    TextField,
    UUIDField,
)
from django.urls import NoReverseMatch, get_script_prefix

from django_sitemaps_plus.conf import DEFAULT_SITE, Site
from django_sitemaps_plus.core.key_ranges import KeyRange
from django_sitemaps_plus.core.limits import MAX_ENTRIES
from django_sitemaps_plus.exceptions import SourceError
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.rendering import reading
from django_sitemaps_plus.sources import (
    ModelSource,
    Route,
    Source,
    ViewSource,
    surroundings,
)
from django_sitemaps_plus.sources.declarations import (
    find_field,
    is_indexed,
    is_path,
    is_unique,
    path_field,
)
from django_sitemaps_plus.sources.elements import FIELDS
from django_sitemaps_plus.sources.keys import key_field
from django_sitemaps_plus.sources.reading import page_query

from .messages import error, warning
from .watching import check_unwatched, check_watched

_KEY_TYPES = (IntegerField, UUIDField, CharField, TextField)


def check_sources(**kwargs: Any) -> list[CheckMessage]:
    """Return what is wrong with the registered sources."""
    found: list[CheckMessage] = []
    with surroundings(Site(DEFAULT_SITE, "", get_script_prefix())):
        for name, source in registry.items():
            for message in _messages(source):
                message.msg = f"Section {name!r}: {message.msg}"
                message.obj = source
                found.append(message)
    return found


def _messages(source: Source) -> Iterator[CheckMessage]:
    limit = source.limit
    if not isinstance(limit, int) or not 1 <= limit <= MAX_ENTRIES:
        hint = f"A sitemap may have 1 to {MAX_ENTRIES:,} entries."
        yield error(11, f"limit is {limit!r}.", hint)
    if source.on_error not in ("skip", "raise"):
        hint = 'Choose "skip" or "raise".'
        yield error(12, f"on_error is {source.on_error!r}.", hint)
    if isinstance(source, ModelSource):
        yield from _model_source(source)
    elif isinstance(source, ViewSource):
        yield from _views(source)


def _model_source(source: ModelSource) -> Iterator[CheckMessage]:
    model = getattr(source, "model", None)
    if not isinstance(model, type) or not issubclass(model, Model):
        hint = "Name the model class whose rows it lists."
        yield error(13, f"model is {model!r}.", hint)
        return
    yield from (wrong_key := list(_key(source)))
    yield from _location(source)
    yield from (wrong_paths := list(_paths(source)))
    if not wrong_key:
        yield from check_watched(source)
    if not wrong_paths and not wrong_key:
        yield from _query(source)
    yield from _lastmod(source)


def _key(source: ModelSource) -> Iterator[CheckMessage]:
    meta, key = source.model._meta, source.key
    label = f"key {key!r} of {meta.label}"
    hint = (
        "Choose a unique, not null, indexed integer, UUID or string that never changes."
    )
    try:
        field: Any = meta.pk if key == "pk" else meta.get_field(key)
    except FieldDoesNotExist:
        yield error(14, f"{label} does not exist.", hint)
        return
    if hasattr(field, "field_names") or not isinstance(field, Field):
        yield error(15, f"{label} has several columns.", hint)
        return
    held = key_field(source.model, key)
    if not is_unique(field):
        yield error(16, f"{label} is not unique.", hint)
    if field.null:
        yield error(17, f"{label} may be null.", hint)
    if not is_indexed(field):
        yield error(18, f"{label} has no index.", hint)
    if not isinstance(held, _KEY_TYPES):
        yield error(19, f"{label} is a {type(held).__name__}.", hint)


def _location(source: ModelSource) -> Iterator[CheckMessage]:
    location = source.location
    if location is None and not hasattr(source.model, "get_absolute_url"):
        label = source.model._meta.label
        hint = 'Declare one, such as location = Route("product-detail", slug="slug").'
        yield error(20, f"it has no location, and {label} no get_absolute_url().", hint)
    if isinstance(location, Route) and not location.compile().can_match:
        hint = "Compare its name and arguments with the URLconf."
        yield error(21, f"no URL pattern fits {location!r}.", hint)


def _views(source: ViewSource) -> Iterator[CheckMessage]:
    for view in source.views:
        try:
            source.location(view)
        except NoReverseMatch as fault:
            yield error(21, f"view {view!r} has no URL.", f"{fault}")


def _paths(source: ModelSource) -> Iterator[CheckMessage]:
    for field, value in _declared_paths(source):
        try:
            path_field(source.model, value)
        except FieldDoesNotExist as fault:
            if value.split("__")[0] not in source.get_queryset().query.annotations:
                message = f"{field} names {value!r}, which is not a field."
                yield error(22, message, f"{fault}.")


def _query(source: ModelSource) -> Iterator[CheckMessage]:
    """Compile the query, since an expression shows its faults nowhere else."""
    site = Site(DEFAULT_SITE, "")
    try:
        with reading(source, site):
            str(page_query(source, KeyRange(), site).query)
    except (SourceError, Error) as fault:
        cause = fault.__cause__ or fault
        message = f"it cannot be queried: {type(cause).__name__}: {cause}"
        hint = "Try its queryset and the expressions it declares in a shell."
        yield error(23, message, hint)
    else:
        yield from check_unwatched(source)


def _declared_paths(source: ModelSource) -> Iterator[tuple[str, str]]:
    for field in FIELDS:
        value = getattr(source, field)
        if is_path(field, value):
            yield field, value
        elif isinstance(value, Route):
            for path in value.arguments.values():
                if isinstance(path, str):
                    yield field, path


def _lastmod(source: ModelSource) -> Iterator[CheckMessage]:
    if not isinstance(source.lastmod, str):
        return
    field = find_field(source.model, source.lastmod)
    if isinstance(field, DateField) and not is_indexed(field):
        message = (
            f"lastmod {source.lastmod!r} has no index, so builds cannot look for "
            "changes that sent no signal."
        )
        yield warning(3, message, "Add db_index=True, or an index that begins with it.")
