"""Checks of the languages that a source lists."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import suppress
from inspect import isclass
from typing import Any

from django.conf import settings
from django.conf.urls.i18n import is_language_prefix_patterns_used
from django.core.checks import CheckMessage
from django.core.exceptions import FieldDoesNotExist
from django.middleware.locale import LocaleMiddleware
from django.urls import NoReverseMatch, get_script_prefix
from django.utils.module_loading import import_string

from django_sitemaps_plus.conf import DEFAULT_SITE, Site
from django_sitemaps_plus.core.extensions import Alternate
from django_sitemaps_plus.sites import site_in
from django_sitemaps_plus.sources import ModelSource, Route, ViewSource
from django_sitemaps_plus.sources.languages import (
    default_language,
    languages_of,
    surroundings_in,
)
from django_sitemaps_plus.sources.related import path_model
from django_sitemaps_plus.sources.route import in_language
from django_sitemaps_plus.tracking.relations import is_model

from .examining import Faults, error, examined, warning

#: Names that tables of translations give to the language of a row.
_LANGUAGE_FIELDS = {"language_code", "language", "lang", "locale"}


def check_languages(
    source: ModelSource | ViewSource,
) -> Generator[CheckMessage, None, bool]:
    """Yield what is wrong with the languages of a source; return whether it has them.

    Where these are not codes of ``LANGUAGES``, nothing else can be checked.
    """
    given: Any = source.languages
    known = [code for code, _ in settings.LANGUAGES]
    if given != "all" and not isinstance(given, list | tuple):
        example = [given] if isinstance(given, str) else known[:2]
        hint = f'Write languages = {example}, or "all".'
        yield error(50, f"languages is {given!r}, not a list.", hint)
        return False
    codes = languages_of(source)
    if not settings.USE_I18N and codes:
        yield error(50, "it has languages, and USE_I18N is False.", "Set it to True.")
    if unknown := [code for code in codes if code not in known]:
        message = f"languages names {unknown[0]!r}, which LANGUAGES lacks."
        yield error(50, message, f"Choose from {', '.join(map(repr, known))}.")
        return False
    yield from check_codes(codes)

    if codes and source.alternates is not None:
        hint = "Remove alternates: entries name all languages by themselves."
        yield error(51, "it has languages and alternates.", hint)
    for name in () if codes else ("x_default", "get_languages"):
        if getattr(source, name):
            hint = f'Write languages = "all", or remove {name}.'
            yield error(51, f"it has {name} without languages.", hint)
    if codes and source.x_default and default_language() not in codes:
        message = f"x_default is LANGUAGE_CODE {settings.LANGUAGE_CODE!r}, not listed."
        yield error(51, message, f"Choose it from {codes}, or list it.")

    if len(codes) > 1:
        yield from examined(_same(source, codes))
        if isinstance(source, ModelSource) and is_model(getattr(source, "model", None)):
            yield from examined(_untranslated(source, codes))
    yield from examined(_of_project(source, codes))
    return True


def check_codes(codes: Iterable[str]) -> Faults:
    """Yield the languages that search engines will not understand."""
    for code in codes:
        try:
            doubt = Alternate(code, "https://example.com/").doubt
        except ValueError as fault:
            doubt = str(fault)
        if doubt:
            hint = "Correct the code in LANGUAGES, or leave it out of languages."
            yield warning(43, doubt, hint)


def _of_project(source: ModelSource | ViewSource, codes: list[str]) -> Faults:
    """Yield what the project lacks to answer in these languages, or to name them."""
    if len(codes) > 1 and is_language_prefix_patterns_used(settings.ROOT_URLCONF)[0]:
        classes = [import_string(name) for name in settings.MIDDLEWARE]
        if not any(isclass(it) and issubclass(it, LocaleMiddleware) for it in classes):
            kept = settings.LANGUAGE_CODE
            message = f"without LocaleMiddleware Django answers 404 to all but {kept!r}"
            hint = f"Add '{LocaleMiddleware.__module__}.LocaleMiddleware' to MIDDLEWARE"
            yield warning(51, f"{message}.", f"{hint}, after SessionMiddleware.")
    project: Any = settings  # whose stubs lack a method
    if source.languages == "all" and not project.is_overridden("LANGUAGES"):
        message = f'languages is "all": {len(codes)}, since LANGUAGES is not set.'
        hint = "Set LANGUAGES to those of your site, or name them in languages."
        yield warning(52, message, hint)


def _same(source: ModelSource | ViewSource, codes: list[str]) -> Faults:
    """Yield routes and views that have the same URL in all languages."""
    for place in source.views if isinstance(source, ViewSource) else [source.location]:
        urls = set[Any]()
        for code in codes:
            url: Any = code  # where it is not known what decides the URL
            site = site_in(code, Site(DEFAULT_SITE, "", get_script_prefix()))
            with surroundings_in(code, site), suppress(NoReverseMatch):
                if isinstance(source, ViewSource):
                    path = source.location(place)
                    url = code if source.get_languages else site.origin + path
                elif isinstance(place, Route):
                    route = place.in_language(code)
                    url = site, route.compile().patterns or code, repr(route.arguments)
            urls.add(url)
        if len(urls) == 1:
            message = f"{place!r} has the same URL in all languages."
            hint = "Put its pattern into i18n_patterns(), translate it, or name in a"
            yield error(52, message, f'{hint} Route fields, slug="slug_{{language}}".')


def _untranslated(source: ModelSource, codes: list[str]) -> Faults:
    """Yield the paths of a location to fields of which each language has its own.

    A model has a column for each language, or a table of translations.
    """
    location: Any = source.location
    given = location.arguments.values() if isinstance(location, Route) else [location]
    for path in [it for it in given if isinstance(it, str) and "{language}" not in it]:
        *relations, name = path.split("__")
        model: Any = source.model
        with suppress(FieldDoesNotExist):
            model = path_model(model, "__".join(relations)) if relations else model
        fields = {field.name: field for field in model._meta.get_fields()}
        own = {in_language(f"{name}_{{language}}", code) for code in codes}
        tables = []
        for relation in fields.values():
            if relation.one_to_many and relation.related_model:
                names = {it.name for it in relation.related_model._meta.fields}
                if name in names and names & _LANGUAGE_FIELDS:
                    tables.append(relation.related_model._meta.label)
        has_columns = not own.isdisjoint(fields)
        if not has_columns and not tables:
            continue
        message = f"its location names {path!r}, which is the same in all languages"
        wanted = "__".join([*relations, f"{name}_{{language}}"])
        hint = f"Write {wanted!r} in its place"
        if not has_columns:
            message += f", and {tables[0]} has that of each"
            hint += ", and annotate each in get_queryset()"
        yield warning(45, f"{message}.", f"{hint}.")
