"""Checks of what is registered: names, limits, keys and declarations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.core.checks import CheckMessage
from django.core.exceptions import FieldDoesNotExist
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
from django_sitemaps_plus.core.limits import MAX_ENTRIES
from django_sitemaps_plus.core.plan import KeyRange
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.registry import check_name, registry
from django_sitemaps_plus.sources import (
    ModelSource,
    Route,
    Source,
    ViewSource,
    rendering,
)
from django_sitemaps_plus.sources.declarations import (
    is_indexed,
    is_path,
    is_unique,
    path_field,
)
from django_sitemaps_plus.sources.keyset import key_field
from django_sitemaps_plus.sources.rows import FIELDS

from .messages import error, warning

_KEY_TYPES = (IntegerField, UUIDField, CharField, TextField)


def check_sources(**kwargs: Any) -> list[CheckMessage]:
    """Return what is wrong with the registered sources."""
    found: list[CheckMessage] = []
    with rendering(Site(DEFAULT_SITE, "", get_script_prefix())):
        for name, source in registry.items():
            found += _any_source(name, source)
            if isinstance(source, ModelSource):
                found += _model_source(name, source)
            elif isinstance(source, ViewSource):
                found += _views(name, source)
    return found


def _any_source(name: str, source: Source) -> Iterator[CheckMessage]:
    try:
        check_name(name)
    except ConfigurationError as fault:
        yield error(10, str(fault), "Rename the section.", source)
    limit = source.limit
    if not isinstance(limit, int) or not 1 <= limit <= MAX_ENTRIES:
        yield error(
            11,
            f"Section {name!r}: limit is {limit!r}.",
            f"A sitemap may have 1 to {MAX_ENTRIES:,} entries.",
            source,
        )
    if source.on_error not in ("skip", "raise"):
        yield error(
            12,
            f"Section {name!r}: on_error is {source.on_error!r}.",
            'Choose "skip" or "raise".',
            source,
        )


def _model_source(name: str, source: ModelSource) -> Iterator[CheckMessage]:
    model = getattr(source, "model", None)
    if not isinstance(model, type) or not issubclass(model, Model):
        yield error(
            13,
            f"Section {name!r}: model is {model!r}.",
            "Name the model class whose rows it lists.",
            source,
        )
        return
    wrong_key = list(_key(name, source))
    yield from wrong_key
    yield from _location(name, source)
    wrong_paths = list(_paths(name, source))
    yield from wrong_paths
    if not wrong_paths and not wrong_key:
        yield from _query(name, source)
    yield from _lastmod(name, source)


def _key(name: str, source: ModelSource) -> Iterator[CheckMessage]:
    meta, key = source.model._meta, source.key
    label = f"Section {name!r}: key {key!r} of {meta.label}"
    hint = (
        "Choose a unique, not null, indexed integer, UUID or string that never changes."
    )
    try:
        field: Any = meta.pk if key == "pk" else meta.get_field(key)
    except FieldDoesNotExist:
        yield error(14, f"{label} does not exist.", hint, source)
        return
    if hasattr(field, "field_names") or not isinstance(field, Field):
        yield error(15, f"{label} has several columns.", hint, source)
        return
    if not is_unique(field):
        yield error(16, f"{label} is not unique.", hint, source)
    if field.null:
        yield error(17, f"{label} may be null.", hint, source)
    if not is_indexed(field):
        yield error(18, f"{label} has no index.", hint, source)
    field = key_field(source.model, key)
    if not isinstance(field, _KEY_TYPES):
        kind = type(field).__name__
        yield error(19, f"{label} is a {kind}.", hint, source)


def _location(name: str, source: ModelSource) -> Iterator[CheckMessage]:
    location = source.location
    if location is None and not hasattr(source.model, "get_absolute_url"):
        yield error(
            20,
            f"Section {name!r} has no location, and {source.model._meta.label} no "
            "get_absolute_url().",
            'Declare one, such as location = Route("product-detail", slug="slug").',
            source,
        )
    if isinstance(location, Route):
        yield from _route(name, source, location)


def _route(name: str, source: Source, route: Route) -> Iterator[CheckMessage]:
    try:
        fits = route.compile().can_match
    except NoReverseMatch:
        fits = False
    if not fits:
        yield error(
            21,
            f"Section {name!r}: no URL pattern fits {route!r}.",
            "Compare its name and arguments with the URLconf.",
            source,
        )


def _views(name: str, source: ViewSource) -> Iterator[CheckMessage]:
    for view in source.views:
        try:
            source.location(view)
        except NoReverseMatch as fault:
            yield error(
                21,
                f"Section {name!r}: view {view!r} has no URL.",
                f"{fault}",
                source,
            )


def _paths(name: str, source: ModelSource) -> Iterator[CheckMessage]:
    for field, value in _declared_paths(source):
        try:
            path_field(source.model, value)
        except FieldDoesNotExist as fault:
            if value.split("__")[0] in source.get_queryset().query.annotations:
                continue
            yield error(
                22,
                f"Section {name!r}: {field} names {value!r}, which is no field.",
                f"{fault}.",
                source,
            )


def _query(name: str, source: ModelSource) -> Iterator[CheckMessage]:
    """Compile the query, since an expression shows its faults nowhere else."""
    try:
        str(source.page_query(KeyRange(), Site(DEFAULT_SITE, "")).query)
    except Exception as fault:  # noqa: BLE001 - expressions are the user's code
        yield error(
            23,
            f"Section {name!r} cannot be queried: {type(fault).__name__}: {fault}",
            "Try its queryset and the expressions it declares in a shell.",
            source,
        )


def _declared_paths(source: ModelSource) -> Iterator[tuple[str, str]]:
    for field in FIELDS:
        value = getattr(source, field)
        if is_path(field, value):
            yield field, value
        elif isinstance(value, Route):
            for path in value.arguments.values():
                if isinstance(path, str):
                    yield field, path


def _lastmod(name: str, source: ModelSource) -> Iterator[CheckMessage]:
    if not isinstance(source.lastmod, str):
        return
    try:
        field = path_field(source.model, source.lastmod)
    except FieldDoesNotExist:
        return
    if isinstance(field, DateField) and not is_indexed(field):
        yield warning(
            3,
            f"Section {name!r}: lastmod {source.lastmod!r} has no index, so changes "
            "that no signal told cannot be looked for.",
            "Add db_index=True, or an index that begins with it.",
            source,
        )
