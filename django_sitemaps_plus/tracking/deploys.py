"""Fingerprints: a deploy that changes what a source says marks all its pages."""

from __future__ import annotations

import hashlib
from collections import ChainMap
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from types import FunctionType
from typing import Any

from django.conf import settings
from django.db import connections, models
from django.utils import translation

from django_sitemaps_plus.conf import Site, get_settings
from django_sitemaps_plus.core.documents import RENDERER_VERSION
from django_sitemaps_plus.exceptions import SourceError
from django_sitemaps_plus.models import Section
from django_sitemaps_plus.models.base import atomic, retried
from django_sitemaps_plus.models.claims import UNTRIED
from django_sitemaps_plus.models.clock import Now
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.section import OpenSection, open_section
from django_sitemaps_plus.site_urls import stylesheet_url
from django_sitemaps_plus.sites import site_in
from django_sitemaps_plus.sources import ModelSource, SitemapSource, ViewSource
from django_sitemaps_plus.sources.columns import attempt
from django_sitemaps_plus.sources.compiling import images_of
from django_sitemaps_plus.sources.images import FileColumn
from django_sitemaps_plus.sources.keys import KeySpace
from django_sitemaps_plus.sources.languages import (
    languages_of,
    rendered_language,
    surroundings_in,
)
from django_sitemaps_plus.sources.reading import listed_rows
from django_sitemaps_plus.sources.related import related_queries
from django_sitemaps_plus.sources.route import Route
from django_sitemaps_plus.sources.shapes import computed, shape_of, words_of

from .locating import compare_all, mark_all

# Attributes that say how pages are cut and built, not what is in them.
_IGNORED = {
    *("limit", "max_age", "on_error", "watch", "track_deletes", "announce_saves"),
    *("sites", "site_path", "live", "title"),
}

# Types of keys that come in an order of their own; a bound may be a key of several.
_KEY_TYPES: dict[str, Any] = {
    "integer": models.IntegerField,
    "uuid": models.UUIDField,
    "string": (models.CharField, models.TextField),
}

#: Types of keys in the fingerprints of sources that are not paged by key.
PAGE, POSITION = "page", "position"

#: Attributes of classes and instances as this process first met them: by id, site and
#: language, with the owner, so that no other gets its id.
_MET: dict[Any, tuple[Any, list[str]]] = {}

# Digits of the hash; what follows it is the type of the keys.
_DIGITS = 48


#: Fingerprints that a section keeps of the versions before.
MAX_REPLACED = 20


def is_replaced(section: Section, current: str) -> bool:
    """Return whether another version has replaced this one, and is at work.

    A fingerprint that was never seen is that of a deploy; a known one is that of an old
    process, or a rollback: then the processes of the other version are gone soon.
    """
    if current == section.fingerprint or current not in section.replaced:
        return False
    # The row is read anew: the other version may have built meanwhile.
    since = Now() - get_settings().deploy_time
    return Section.objects.filter(pk=section.pk, built_at__gt=since).exists()


@retried
def note_deploy(section: Section, current: str, values: str = "") -> None:
    """Mark all pages of a section for another source, to be built now, unannounced.

    Builders of another version that are at work lose their claims.
    """
    # In one transaction: builders with the old code see by the fingerprint that pages
    # are not marked for them, and one that is stored already marks nothing again.
    with atomic():
        Section.objects.lock([section.pk])
        rows = Section.objects.filter(pk=section.pk)
        [(before, replaced)] = rows.values_list("fingerprint", "replaced")
        if before == current:
            return
        noted: dict[str, Any] = {"fingerprint": current, "query_values": values}
        if before:
            mark_all(section, announce=False)
            # The cause that made pages fail too often may be mended now.
            pages = section.pages.planned()
            pages.update(**UNTRIED, error="", token="", claimed_at=None)
            others = [it for it in (*replaced, before) if it != current]
            noted["replaced"] = section.replaced = others[-MAX_REPLACED:]
            noted["new_since"] = Now()
            # Keys that were located before are located again, among marked pages.
            noted["plan_version"] = models.F("plan_version") + 1
            section.new_since = None  # for this build
        rows.update(**noted, built_at=Now())


def note_build(section: int, current: str) -> None:
    """Note that a version builds a section: to be done a few times in DEPLOY_SECONDS.

    To be called no less often than by :func:`note_interval`.
    """
    Section.objects.filter(pk=section, fingerprint=current).update(built_at=Now())


def note_interval() -> timedelta:
    """Return how exactly sections know when a version last built them."""
    return get_settings().deploy_time / 10


@retried
def note_values(section: Section, values: str) -> None:
    """Have all pages compared where the values in the queries of a source changed."""
    if values == section.query_values:
        return
    with atomic():
        if section.query_values:
            compare_all(section)
        Section.objects.filter(pk=section.pk).update(query_values=values)
    section.query_values = values


def is_of_other_code(
    row: Section,
    own: dict[int, str],
    opener: Callable[[Section], OpenSection] = open_section,
) -> bool:
    """Return whether pages of a section are marked for builders with other code.

    During a deploy the first process to notice has marked them, to be built by its own
    source. ``own`` keeps the fingerprints of this process by section.
    """
    if not row.fingerprint or row.name not in registry:
        return False  # never noticed, or an index, which has no source
    if row.pk not in own:
        section = opener(row)
        try:
            with section.reading():
                own[row.pk] = fingerprint(section)
        except SourceError:  # rendering its pages will say what is wrong
            return False
    return own[row.pk] != row.fingerprint


def fingerprint(section: OpenSection) -> str:
    """Return a hash of what decides how rows are rendered, and the type of their keys.

    The hash knows the code of methods, not of what they call. Values in queries are
    left out: they may come from rows, or be the present time. See :func:`query_values`.
    """
    # The space is asked for once: for some sources that reads all rows.
    reader = section.reader
    space = reader.key_space()
    digest = hashlib.sha256()
    for part in _parts(section, space):
        digest.update(f"{part}\n".encode("utf-8", "backslashreplace"))
    if space is None:
        kind = PAGE if reader.has_own_paging else POSITION
    else:
        field = space.field
        kinds = (name for name, it in _KEY_TYPES.items() if isinstance(field, it))
        kind = next(kinds, "other")
    return f"{digest.hexdigest()[:_DIGITS]} {kind}"


def query_values(section: OpenSection, current: str) -> str:
    """Return a hash of the values in the queries of a source, but for the time.

    If only these change, rows have, or a constant that the fingerprint does not see.
    """
    # To ask for items that are no queryset may read all rows.
    has_keys = current.partition(" ")[2] not in (PAGE, POSITION)
    queries = section.reader.queries() if has_keys else []
    source = section.source
    given = source.sample if isinstance(source, SitemapSource) else source
    held = () if isinstance(given, type) else vars(given).values()
    queries += [it for it in held if issubclass(type(it), models.QuerySet)]
    shapes = [shape_of(queryset) for queryset in queries]
    return hashlib.sha256(repr(shapes).encode("utf-8", "backslashreplace")).hexdigest()


def _parts(section: OpenSection, space: KeySpace | None) -> Iterator[str]:
    source, site = section.source, section.site
    yield f"{RENDERER_VERSION} {site.origin} {site.script_prefix}"
    yield f"{stylesheet_url(site)} {get_settings().historic_limits}"
    language = f"{settings.LANGUAGE_CODE} {rendered_language()}"
    yield f"{language} {settings.USE_I18N} {[code for code, _ in settings.LANGUAGES]}"
    given = source.sample if isinstance(source, SitemapSource) else source
    kind = given if isinstance(given, type) else type(given)
    for ancestor in kind.__mro__:
        if not ancestor.__module__.startswith(("django.", "django_sitemaps_plus.")):
            yield from _members(ancestor, site)
    yield from [] if given is kind else _members(given, site)
    if space is not None:
        # Other keys come in another order.
        yield f"{space.field.db_type(connections[space.alias])}"
    if isinstance(source, ModelSource):
        rows = listed_rows(source)
        yield words_of(rows)
        asked = source.location is None and source.model
        yield words_of(getattr(asked, "get_absolute_url", None))
        yield from map(words_of, related_queries(source, rows))
        files = images_of(source, rows, site.origin)
        if isinstance(files, FileColumn) and files.prefix:
            yield files.prefix[0]
    if isinstance(source, ModelSource | ViewSource):
        sites = {code: site_in(code, site) for code in languages_of(source)}
        for code, own in (sites or {translation.get_language(): site}).items():
            with surroundings_in(code, own):  # in which patterns may be others
                located: Any = source.location
                if isinstance(source, ViewSource):
                    # A view that has no URL is named by its error.
                    located = [attempt(source.location, it) for it in source.views]
                elif isinstance(located, Route):
                    located = f"{located!r} {located.compile().patterns}"
                yield f"{own} {words_of(located)}"


def _members(owner: Any, site: Site) -> list[str]:
    """Return what a class or an instance holds, as this process first met it.

    Its methods may keep there what they compute.
    """
    key = id(owner), site.name, translation.get_language()
    if key not in _MET:
        is_class = isinstance(owner, type)
        kinds = [owner] if is_class else type(owner).__mro__
        written, texts = ChainMap(*map(computed, kinds)), list[str]()
        for name, value in sorted(vars(owner).items()):
            if name in _IGNORED or name.startswith("__"):
                continue
            kind = type(value)
            if not is_class and issubclass(kind, date):
                value = kind  # the time at which its process began
            is_code = issubclass(kind, FunctionType | models.QuerySet)
            text = None if is_code else written.get(name)
            texts.append(f"{name} = {text or words_of(value)}")
        _MET[key] = owner, texts
    return _MET[key][1]
