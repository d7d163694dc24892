"""Checks of what is registered: names, limits, keys and declarations."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from contextlib import suppress
from datetime import timedelta
from difflib import get_close_matches
from importlib.util import find_spec
from inspect import getattr_static, signature
from operator import itemgetter
from os.path import dirname
from pkgutil import iter_modules
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

from django.apps import apps
from django.conf import settings
from django.core.checks import CheckMessage
from django.core.exceptions import FieldDoesNotExist, FieldError
from django.db import connections, models
from django.urls import get_resolver, get_script_prefix
from django.utils.module_loading import module_has_submodule

from django_sitemaps_plus.conf import DEFAULT_SITE, Site, in_force
from django_sitemaps_plus.core.limits import MAX_ENTRIES
from django_sitemaps_plus.core.suggestions import suggest
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.sources import (
    ModelSource,
    Route,
    SitemapSource,
    Source,
    ViewSource,
    compiling,
    surroundings,
)
from django_sitemaps_plus.sources.dependencies import is_unknown_field
from django_sitemaps_plus.sources.keys import key_field, own_field
from django_sitemaps_plus.sources.languages import declared_in_languages, languages_of
from django_sitemaps_plus.sources.querysets import queryset_of
from django_sitemaps_plus.sources.route import in_language
from django_sitemaps_plus.tracking.relations import is_model
from django_sitemaps_plus.tracking.watching import models_of

from . import classes
from .crawlers import check_location, check_view, has_only_views_of_contrib
from .examining import (
    Faults,
    declared,
    error,
    examined,
    examining,
    no_model,
    unreadable,
    warning,
)
from .languages import check_languages
from .watching import check_query, check_watched

_REGISTERING = re.compile(r"(?ms)^from django_sitemaps_plus import .*\bregister\b")
_KEY_TYPES = (models.IntegerField, models.UUIDField, models.CharField, models.TextField)


def _unregistered() -> Faults:
    """Yield the sources that no section has: nobody imports, or registers, them."""
    with suppress(Exception):  # another check reports it
        get_resolver().url_patterns  # noqa: B018 - it may import them
    with in_force(None):
        known = {type(source) for _, source in registry.items()}
    packages = {app.name: app.module for app in apps.get_app_configs()}
    discovered, above = {f"{it}.sitemaps" for it in packages}, settings.SETTINGS_MODULE
    folders: dict[str, Any] = {it: sys.modules.get(it) for it in discovered}
    if above and "." not in above:  # then other modules lie beside it
        folders[""] = sys.modules[above]
    while above := (above or "").rpartition(".")[0]:  # the project need not be an app
        packages.setdefault(above, sys.modules.get(above))
    for package, parent in {**packages, **folders}.items():
        paths = list(getattr(parent, "__path__", ()))
        if not package:
            paths = [dirname(parent.__file__)]
        own = iter_modules([it for it in paths if "site-packages" not in it])
        names = {it.name.lower(): f"{package}.{it.name}".lstrip(".") for it in own}
        close = {*get_close_matches("sitemaps", names, cutoff=0.85)}
        close |= {it for it in names if "sitemap" in it or package in discovered}
        unread = {names[it] for it in close if "test" not in it}
        for path in unread - discovered - {*sys.modules}:
            read = getattr(getattr(find_spec(path), "loader", None), "get_source", None)
            if read is not None and _REGISTERING.search(read(path) or ""):
                words = f"Nothing imports {path}, and it registers sections."
                hint = "Rename it to sitemaps.py of an app in INSTALLED_APPS, or "
                yield warning(54, words, f"{hint}import it there.")

        module = sys.modules.get(path := f"{package}.sitemaps")
        for name, kind in vars(module).items() if module else ():
            is_own = isinstance(kind, type) and kind.__module__ == path
            is_last = is_own and issubclass(kind, Source) and not kind.__subclasses__()
            if is_last and kind not in known:
                hint = "Write @register and the name of its section above it."
                yield warning(56, f"No section has the source {path}.{name}.", hint)


@examining("the sections")
def check_sources(**kwargs: Any) -> Faults:
    """Yield what is wrong with the registered sources."""
    if not len(registry):
        if registry.unread or has_only_views_of_contrib():
            return
        looked = []
        for app in apps.get_app_configs():
            if not app.name.startswith(("django.", "django_sitemaps_plus")):
                is_there = module_has_submodule(app.module, "sitemaps")
                looked.append(f"{app.name}.sitemaps{'' if is_there else ' (missing)'}")
        words = f"No section is registered. Looked for: {', '.join(looked)}."
        hint = 'Write @register("pages") above a source in sitemaps.py of an app.'
        yield warning(25, words, hint)
    if getattr(apps.get_app_config("sitemaps_plus"), "discovers", False):
        yield from examined(_unregistered(), "a module of an app")
    with surroundings(Site(DEFAULT_SITE, "", get_script_prefix())):
        for name, source in registry.items():
            own: list[CheckMessage] = []
            for message in declared(_messages(source)):
                message.msg = f"Section {name!r}: {message.msg}"
                message.obj = source
                # Several parts may meet what one queryset raises.
                if message not in own:
                    own.append(message)
            yield from own


def _messages(source: Source) -> Faults:
    is_well = True
    for message in _parts(source):
        is_well = False
        yield message
    if is_well:
        models_of(source)  # saves of a source that fails here are not recorded


def _parts(source: Source) -> Faults:
    """Yield what is wrong with a source; a part that raises leaves the others."""
    if isinstance(source, SitemapSource) and not (
        yield from classes.check_contrib(source)
    ):
        return
    yield from declared(classes.check_names(source))
    if not (yield from declared(classes.check_values(source))):
        return
    yield from _pages(source)
    if isinstance(source, ModelSource | ViewSource):
        if not (yield from declared(check_languages(source))):
            return
        if isinstance(source, ViewSource):
            yield from declared(_methods(source))
            yield from _views(source)
        elif is_model(model := getattr(source, "model", None)):
            yield from _model_source(source)
        else:
            yield no_model(model)
    elif not isinstance(source, SitemapSource):
        if type(source).entries is Source.entries:
            hint = "Write def entries(self, origin), which yields them."
            yield error(37, "it does not define its entries.", hint)
        yield from declared(_takes(source, "entries", "origin"))


def _pages(source: Source) -> Faults:
    """Yield limits, ages and choices that no source can have."""
    limit, age, on_error = source.limit, source.max_age, source.on_error
    if isinstance(source, SitemapSource) and source.sample.limit is True:
        limit = True  # to Django it is 1
    is_number = isinstance(limit, int) and not isinstance(limit, bool)
    if not is_number or not 1 <= limit <= MAX_ENTRIES:
        hint = f"A sitemap may have 1 to {MAX_ENTRIES:,} entries."
        with suppress(TypeError, ValueError, OverflowError):
            if limit is not True and 1 <= (number := int(limit)) <= MAX_ENTRIES:
                hint = f"Write limit = {number}. {hint}"
        yield error(11, f"limit is {limit!r}.", hint)
    is_number = isinstance(age, int | float) and not isinstance(age, bool)
    if age is not None and not (is_number and age >= 0):
        hint = "Write a number of seconds, or None."
        if isinstance(age, timedelta):
            hint = f"Write max_age = {age.total_seconds():.0f}, a number of seconds."
        yield error(11, f"max_age is {age!r}.", hint)
    if on_error not in ("skip", "raise"):
        yield error(12, f"on_error is {on_error!r}.", 'Choose "skip" or "raise".')


def _views(source: ViewSource) -> Faults:
    given: Any = source.views
    if getattr_static(source, "views") in ((), []):
        yield error(33, "it has no views.", 'Write views = ["home"].')
    elif not isinstance(given, str) and isinstance(given, Iterable):
        for view in given:
            yield from declared(check_view(source, view))
    else:
        example = repr(given) if isinstance(given, str) else '"home"'
        hint = f"Write views = [{example}]."
        yield error(33, f"views is {given!r}, not a list of names.", hint)


def _takes(source: Source, name: str, *arguments: str) -> Faults:
    """Yield that a method of a source cannot be called as it will be."""
    method, fault = getattr(source, name), ""
    if not callable(method):
        fault = f"it is a {type(method).__name__}"
    elif isinstance(method, FunctionType | MethodType):
        try:
            taken = signature(method)
            taken.bind(
                *arguments, **{it: None for it in ("site",) if it in taken.parameters}
            )
        except (TypeError, ValueError) as raised:
            fault = str(raised)
    if fault:
        given = ", ".join(["self", *arguments])
        message = f"{name}() cannot be called: {fault}."
        yield error(34, message, f"Write def {name}({given}).")


def _model_source(source: ModelSource) -> Faults:
    yield from (unusable := [*_takes(source, "get_queryset")])
    if unusable:
        return
    yield from (wrong_key := [*declared(_key(source))])
    yield from declared(_values(source))
    yield from declared(_methods(source))
    yield from (wrong_paths := [*declared(_paths(source))])
    is_on_database = source.using is None or source.using in connections
    if not is_on_database:
        yield unreadable(f"using is {source.using!r}, which DATABASES lacks.")
    if not wrong_key:
        yield from declared(check_watched(source))
        if not wrong_paths and is_on_database:
            yield from examined(check_query(source))


def _key(source: ModelSource) -> Faults:
    key = source.key
    if not isinstance(key, str):
        hint = 'Write the name of a field, such as key = "id", or leave it out.'
        yield error(14, f"key is {key!r}.", hint)
        return
    label = f"key {key!r} of {source.model._meta.label}"
    hint = (
        "Choose a unique, not null, indexed integer, UUID or string that never changes."
    )
    try:
        field = own_field(source.model, key)
    except ConfigurationError:
        yield error(14, f"{label} does not exist.", _suggest_field(source, key) or hint)
        return
    if hasattr(field, "field_names") or not isinstance(field, models.Field):
        yield error(15, f"{label} has several columns.", hint)
        return
    held = key_field(source.model, key)
    kind = type(held).__name__
    rules = (
        (compiling.is_unique(field), error(16, f"{label} is not unique.", hint)),
        (not field.null, error(17, f"{label} may be null.", hint)),
        (compiling.is_indexed(field), error(18, f"{label} has no index.", hint)),
        (isinstance(held, _KEY_TYPES), error(19, f"{label} is a {kind}.", hint)),
    )
    yield from [message for is_kept, message in rules if not is_kept]


def _values(source: ModelSource) -> Faults:
    """Yield fields whose values are of no use as images or lastmods, and locations."""
    path, field = source.images, None
    if isinstance(path, str):
        field = compiling.find_field(source.model, path)
    if isinstance(field, models.FilePathField):
        message = f"images names {path!r}, which holds paths on the server's disk."
        hint = "Write a method that returns the URL at which such a file is served."
        yield warning(44, message, hint)
    related: Any = getattr(field, "related_model", None)
    if isinstance(field, models.ForeignKey) and not hasattr(related, "url"):
        fields = related._meta.fields
        files = [it.name for it in fields if isinstance(it, models.FileField)]
        names = " or ".join([repr(f"{path}__{name}") for name in files])
        hint = f"Name its file: {names}." if files else ""
        message = f"images names {path!r}, and {related._meta.label} has no url."
        yield warning(44, message, hint or f"Give {related.__name__} a property url.")

    path = source.lastmod
    field = compiling.find_field(source.model, path) if isinstance(path, str) else None
    if isinstance(field, models.DateField) and not compiling.is_indexed(field):
        message = f"lastmod {path!r} has no index, so builds cannot look for changes "
        hint = "Add db_index=True, or an index that begins with it."
        yield warning(3, f"{message}that sent no signal.", hint)

    yield from check_location(source)


def _paths(source: ModelSource) -> Faults:
    """Yield each field path that a source declares, and no field has."""
    paths = list[tuple[str, Any]]()
    for name, value in declared_in_languages(source):
        if compiling.is_path(name, value):
            paths.append((name, value))
        elif isinstance(value, Route):
            given = value.arguments.values()
            paths += [(name, path) for path in given if isinstance(path, str)]
            yield from _arguments(source, value)
    if isinstance(source.title, str):
        codes = languages_of(source) or [""]
        paths += [("title", in_language(source.title, code)) for code in codes]
    ends = [(name, getattr(source, name)) for name in ("starts", "ends", "site_path")]
    for name, value in [*paths, *filter(itemgetter(1), ends)]:
        if isinstance(value, str):
            yield from examined(_path(source, name, value))
        else:
            yield unreadable(f"{name} is {value!r}, which is not a field path.")


def _arguments(source: ModelSource, route: Route) -> Faults:
    """Yield the arguments of a route that are no path and no expression."""
    for key, given in route.arguments.items():
        if not isinstance(given, str) and not compiling.is_expression(given):
            own = classes.attribute_of(source.model, given) or "slug"
            hint = f'Name a field, such as {key}="{own}".'
            if isinstance(given, int | float):
                hint = f"Write {key}=Value({given!r})."
            message = f"{route!r} has neither a field path nor an expression for {key}."
            yield error(37, message, hint)


def _path(source: ModelSource, field: str, path: str) -> Faults:
    message = f"{field} names {path!r}, which is not a field."
    file, _, name = path.rpartition("__")
    holder = compiling.find_field(source.model, file)
    if name == "url" and isinstance(holder, models.FileField):
        yield error(22, message, f"Write {field} = {file!r}.")
    try:
        compiling.path_field(source.model, path)
        return
    except FieldDoesNotExist as fault:
        reason = str(fault)
    fields = {field.name for field in source.model._meta.get_fields()}
    if path.split("__")[0] not in fields:
        # An annotation, or the alias of a FilteredRelation, may have this name.
        rows: object = queryset_of(source)
        if not isinstance(rows, models.QuerySet):
            return  # the check of the query says so
        try:
            models.F(path).resolve_expression(rows.query.clone())
            return
        except FieldError as fault:
            if not is_unknown_field(fault):
                raise
    hint = _suggest_field(source, path)
    if not hint or field in ("changefreq", "priority", "location"):
        hint = classes.instead(source, field, path) or hint
    elif better := classes.of_row(source, source.model, field, path):
        hint = better
    yield error(22, message, f"{reason}. {hint}".rstrip())


def _suggest_field(source: ModelSource, path: str) -> str:
    model: Any = source.model
    for name in path.split("__"):
        fields = {it.name: it.related_model for it in model._meta.get_fields()}
        if name not in fields:
            return suggest(name, [*fields])
        model = fields[name]
    return ""


def _methods(source: ModelSource | ViewSource) -> Faults:
    for name, value in compiling.declared_methods(source).items():
        try:
            owner = getattr(value, "__self__", None)
            if isinstance(value, FunctionType | MethodType):
                signature(value).bind(None)
            elif isinstance(value, BuiltinFunctionType) and isinstance(owner, type):
                raise TypeError(f"it is {value.__qualname__}()")
        except (TypeError, ValueError) as fault:
            message = f"{name}() cannot be called with a row: {fault}."
            yield error(34, message, f"Write def {name}(self, row).")
