"""Checks of source classes: contrib's, the dict that is adopted, idle names."""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator
from types import CodeType, FunctionType
from typing import Any

from django.contrib.sitemaps import Sitemap
from django.core.checks import CheckMessage
from django.db import Error
from django.utils.functional import cached_property

from django_sitemaps_plus import adoption
from django_sitemaps_plus.conf import DEFAULT_SITE, Site
from django_sitemaps_plus.core.suggestions import suggest
from django_sitemaps_plus.exceptions import SourceError
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.section import open_section
from django_sitemaps_plus.sources import ModelSource, SitemapSource, Source, ViewSource
from django_sitemaps_plus.sources.contrib_fields import contrib_origin
from django_sitemaps_plus.sources.fields import FIELDS
from django_sitemaps_plus.sources.keys import has_text, key_field

from .examining import Faults, error, examined, examining, is_of_project, warning
from .languages import check_codes

#: The member that names the entries, by kind of source.
_ROWS: dict[type, str] = {
    ModelSource: "get_queryset()",
    ViewSource: "views",
    Source: "entries()",
    Sitemap: "items()",
}

#: Names of values that the entries of a plain Source have themselves.
_OF_ENTRIES = (*FIELDS, "languages")

# Other attributes may be lazy objects, which are not to be woken.
_METHODS = (
    *(FunctionType, property, classmethod, staticmethod),
    *(functools.cached_property, cached_property),
)

#: Names to write, by those of contrib and of common habit that nothing reads.
_INSTEAD = {
    "{rows}": "items queryset entries views objects filter exclude rows urls",
    "location": "loc url absoluteurl",
    "lastmod": "lastmodified modified latestlastmod",
    "changefreq": "changefrequency frequency freq",
    "images": "image thumbnail",
    "videos": "video",
    "limit": "paginator paginateby perpage pagesize",
    "key, whose order entries have,": "ordering orderby",
    "SITEMAPS_PLUS['BASE_URL']": "protocol domain",
    "languages": "i18n languagesforitem",
    "its attributes in the class itself": "meta",
    "a ModelSource, which has it,": "watch starts ends announcesaves trackdeletes",
}


def check_contrib(source: SitemapSource) -> Generator[CheckMessage, None, bool]:
    """Yield what is wrong with a class; return whether its attributes can be read."""
    if not (yield from examined(_used(source, lambda site: source.make()))):
        return False
    yield from examined(_used(source, lambda site: contrib_origin(source.make(), site)))
    yield from examined(_rows_and_codes(source))
    return True


def _used(
    source: SitemapSource, use: Callable[[Site], object]
) -> Generator[CheckMessage, None, bool]:
    """Use a class in one way; yield why it cannot work, and return whether it does."""
    site = Site(DEFAULT_SITE, "https://example.com")
    try:
        with open_section(source, site).reading():
            use(site)
    except (SourceError, Error) as raised:
        cause = raised.__cause__ if isinstance(raised, SourceError) else None
        fault = cause or raised
        if is_of_project(fault):  # which may work with other rows, or elsewhere
            raise
        if not isinstance(fault, Error):
            message = f"it cannot be used: {type(fault).__name__}: {fault}"
            hint = (
                "Register a Sitemap class that takes no arguments, an instance of one, "
                "or what returns an instance. Its limit, if it sets one, is a number."
            )
            yield error(40, message, hint)
        return False
    return True


def _rows_and_codes(source: SitemapSource) -> Faults:
    """Yield models without a location or a key to cut pages by, and wrong languages."""
    # The models are known without a query.
    for model in () if source.has_own_paging else source.models or ():
        label = model._meta.label
        is_located = source.kind.location is not Sitemap.location
        if not is_located and not hasattr(model, "get_absolute_url"):
            message = f"it has no location(), and {label} no get_absolute_url()."
            yield error(20, message, "Write def location(self, item).")
        key = key_field(model, "pk")
        if not has_text(key, lambda: None):
            message = f"{label}.{key.name}, a {type(key).__name__}, has no text by "
            hint = (
                "Its pages are positions: each reads all rows before it, and a change "
                "of one row renders all of them. A ModelSource can name another key."
            )
            yield warning(16, f"{message}which pages could be cut.", hint)

    sitemap = source.make()
    yield from check_codes(sitemap._languages() if sitemap.i18n else ())


@examining("CONTRIB_SITEMAPS")
def check_adopted(**kwargs: Any) -> Faults:
    """Yield what of the dict that CONTRIB_SITEMAPS names is not served."""
    len(registry)  # which adopts them
    if registry.unread is not None:
        raise registry.unread
    for fault in adoption.faults:
        yield error(
            42,
            str(fault),
            "Name the dict that contrib's views take, by its module and its name "
            "there, such as 'project.urls.sitemaps'. Its keys become names of "
            "sections.",
        )


def check_names(source: Source) -> Faults:
    """Yield the public names of a class that have no effect, and what to write."""
    kind = source.kind if isinstance(source, SitemapSource) else type(source)
    base = next(it for it in _ROWS if issubclass(kind, it))
    known = {name for name in dir(base) if name[0] != "_"}
    if base is Sitemap:
        known |= {*FIELDS, "live", "max_age", "title", "track_deletes"}
    elif base is not Source:
        known.remove("entries")
    for owner in kind.__mro__[: kind.__mro__.index(base)]:
        inherited = set().union(*map(dir, owner.__bases__)) - {"entries"}
        taken = known | inherited
        is_mixin = not issubclass(owner, base)
        for name in () if is_mixin else vars(owner):
            if name[0] == "_" or name in taken or name in _names_used(kind, name):
                continue
            message = f"{owner.__qualname__}.{name} has no effect on a {base.__name__}."
            plain = _plain(name)
            habits = [it for it, names in _INSTEAD.items() if plain in names.split()]
            habits += [it for it in (*known, *_OF_ENTRIES) if _plain(it) == plain]
            if base is Source and habits and habits[0] in _OF_ENTRIES:
                yield error(30, message, "Give it to each Entry that entries() yields.")
            elif habits:
                hint = f"Write {habits[0].format(rows=_ROWS[base])} instead."
                yield error(30, message, hint)
            elif hint := suggest(name, known, cutoff=0.8):
                yield warning(30, message, hint)


def _plain(name: str) -> str:
    return name.lower().replace("_", "").removeprefix("get")


def _names_used(kind: type, name: str) -> set[str]:
    """Return what methods of a class name, all but the one of this name."""
    names: set[str] = set()
    values = [it for owner in kind.__mro__ for it in vars(owner).items()]
    for method in [value for key, value in values if key != name]:
        if issubclass(type(method), _METHODS):
            for attribute in ("fget", "func", "__func__", "__wrapped__"):
                method = getattr(method, attribute, method)
            names |= _names_in(getattr(method, "__code__", None))
    return names


def _names_in(code: Any) -> set[str]:
    if not isinstance(code, CodeType):
        return set()
    # Contrib's own code asks by text: self._get("image", item).
    texts = {it for it in code.co_consts if isinstance(it, str)}
    return texts.union(code.co_names, *map(_names_in, code.co_consts))
