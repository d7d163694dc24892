"""Fingerprints: a deploy that changes what a source says marks all its pages."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from datetime import date
from types import CodeType
from typing import Any

from django.conf import settings
from django.core.exceptions import EmptyResultSet
from django.db import connections
from django.db.models import (
    CharField,
    IntegerField,
    Model,
    QuerySet,
    TextField,
    UUIDField,
)
from django.utils import translation

from django_sitemaps_plus.conf import Site, get_settings, site_in
from django_sitemaps_plus.core.renderers import RENDERER_VERSION
from django_sitemaps_plus.exceptions import SourceError
from django_sitemaps_plus.models import Section
from django_sitemaps_plus.models.page_claims import UNTRIED
from django_sitemaps_plus.models.transactions import atomic, retried
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.rendering import reading
from django_sitemaps_plus.site_urls import stylesheet_url
from django_sitemaps_plus.sources import (
    ModelSource,
    SitemapSource,
    Source,
    ViewSource,
    reader_of,
)
from django_sitemaps_plus.sources.columns import attempt
from django_sitemaps_plus.sources.context import surroundings_in
from django_sitemaps_plus.sources.declarations import files_of
from django_sitemaps_plus.sources.keys import KeySpace
from django_sitemaps_plus.sources.languages import languages_of
from django_sitemaps_plus.sources.related import related_queries
from django_sitemaps_plus.sources.route import Route
from django_sitemaps_plus.sources.rows import listed_rows

from .locating import mark_all

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")

# What dates in a query become where the database has no type for them.
_DATE_TEXT = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d:\d\d.*)?")

# Attributes that say how pages are cut and built, not what is in them.
_IGNORED = {
    *("limit", "max_age", "on_error", "watch", "track_deletes", "announce_saves"),
    *("sites", "site_path"),
}

# Types of keys that come in an order of their own. One and the same bound may be a key
# of several.
_KEY_TYPES: dict[str, Any] = {
    "integer": IntegerField,
    "uuid": UUIDField,
    "string": (CharField, TextField),
}

# Digits of the hash; what follows it is the type of the keys.
_DIGITS = 48


@retried
def note_deploy(section: Section, current: str) -> None:
    """Mark all pages of a section for another source, to be built now, unannounced."""
    # In one transaction: builders with the old code see by the fingerprint that pages
    # are not marked for them, and one that is stored already marks nothing again.
    with atomic():
        if section.fingerprint:
            mark_all(section, announce=False)
            # What made pages fail too often may be mended now.
            section.pages.planned().update(**UNTRIED, error="")
        Section.objects.filter(pk=section.pk).update(fingerprint=current)


def is_of_other_code(section: Section, site: Site, own: dict[int, str]) -> bool:
    """Return whether pages of a section are marked for builders with other code.

    During a deploy the last process to notice has marked them, to be built by its own
    source. ``own`` keeps the fingerprints of this process by section.
    """
    if not section.fingerprint or section.name not in registry:
        return False  # never noticed, or an index, which has no source
    if section.pk not in own:
        try:
            with reading(section.name, site) as source:
                own[section.pk] = fingerprint(source, site)
        except SourceError:  # rendering its pages will say what is wrong
            return False
    return own[section.pk] != section.fingerprint


def has_other_keys(before: str, current: str) -> bool:
    """Return whether two fingerprints, if both are set, are of different key types."""
    types = {found.partition(" ")[2] for found in (before, current)}
    return len(types) > 1 and "" not in types


def fingerprint(source: Source, site: Site) -> str:
    """Return a hash of what decides how rows are rendered, and the type of their keys.

    It knows the code of methods, not of what they call. Dates in the query are left
    out, since a filter by the present time would never be the same.
    """
    # Once: of some sources only items() says it, which may read all rows.
    space = reader_of(source).key_space()
    digest = hashlib.sha256()
    for part in _parts(source, site, space):
        digest.update(f"{part}\n".encode("utf-8", "backslashreplace"))
    return f"{digest.hexdigest()[:_DIGITS]} {_key_type(source, space)}"


def _key_type(source: Source, space: KeySpace | None) -> str:
    if space is None:
        return "page" if reader_of(source).has_own_paging else "position"
    found = (name for name, kind in _KEY_TYPES.items() if isinstance(space.field, kind))
    return next(found, "other")


def _parts(source: Source, site: Site, space: KeySpace | None) -> Iterator[str]:
    yield f"{RENDERER_VERSION} {site.origin} {site.script_prefix}"
    yield f"{stylesheet_url(site)} {get_settings().historic_limits}"
    yield f"{settings.LANGUAGE_CODE} {settings.USE_I18N} {settings.LANGUAGES}"
    given = source.sample if isinstance(source, SitemapSource) else source
    kind = given if isinstance(given, type) else type(given)
    for ancestor in kind.__mro__:
        if not ancestor.__module__.startswith(("django.", "django_sitemaps_plus.")):
            yield from _members(vars(ancestor))
    if not isinstance(given, type):
        held = getattr(given, "__dict__", {})
        # It may hold the time at which its process began.
        timeless = {k: type(v) if isinstance(v, date) else v for k, v in held.items()}
        yield from _members(timeless)
    if space is not None:
        # Other keys come in another order.
        yield f"{space.field.db_type(connections[space.alias])}"
    if isinstance(source, ModelSource):
        yield from _model_parts(source, site)
    if isinstance(source, ViewSource):
        sites = {code: site_in(code, site) for code in languages_of(source)}
        for code, own in (sites or {translation.get_language(): site}).items():
            with surroundings_in(code, own):
                # One that has no URL is named by its error.
                paths = [attempt(source.location, it) for it in source.views]
                yield f"{own} {_words(paths)}"


def _model_parts(source: ModelSource, site: Site) -> Iterator[str]:
    rows = listed_rows(source)
    yield _query_words(rows)
    if source.location is None:
        yield _words(getattr(source.model, "get_absolute_url", None))
    for language in languages_of(source):
        own = site_in(language, site)
        with surroundings_in(language, own):  # in which patterns may be others
            yield f"{own} {_words(source.location)}"
    yield from map(_query_words, related_queries(source, rows))
    if (files := files_of(source, rows, site.origin)) and files.prefix:
        yield files.prefix[0]


def _members(members: Any) -> Iterator[str]:
    for name in sorted(members):
        if name not in _IGNORED and not name.startswith("__"):
            yield f"{name} = {_words(members[name])}"


def _words(value: Any) -> str:
    function = getattr(value, "__func__", getattr(value, "fget", value))
    code = getattr(function, "__code__", value)
    if isinstance(code, CodeType):
        constants = [_words(item) for item in code.co_consts]
        return f"{code.co_code.hex()} {code.co_names} {constants}"
    if isinstance(value, type) and issubclass(value, Model):
        return value._meta.label
    if isinstance(value, Route):
        return _ADDRESS.sub("", f"{value!r} {value.compile().patterns}")
    if isinstance(value, QuerySet):
        return _query_words(value)  # its repr() would read rows
    if isinstance(value, set | frozenset):
        return str(sorted(map(_words, value)))  # their order differs by process
    if isinstance(value, tuple | list):
        return str([_words(item) for item in value])
    if isinstance(value, Mapping):
        return str([(_words(key), _words(item)) for key, item in value.items()])
    return _ADDRESS.sub("", repr(value))


def _query_words(queryset: QuerySet[Any]) -> str:
    try:
        sql, params = queryset.query.sql_with_params()
    except EmptyResultSet:
        return "no rows"
    return f"{sql} {[None if _is_date(value) else value for value in params]}"


def _is_date(value: Any) -> bool:
    if isinstance(value, str):
        return _DATE_TEXT.fullmatch(value) is not None
    return isinstance(value, date)
