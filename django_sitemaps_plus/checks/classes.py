"""Checks of source classes: contrib's, names and values."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Generator
from contextlib import suppress
from datetime import date
from difflib import get_close_matches
from inspect import get_annotations, getattr_static
from types import CodeType, FunctionType
from typing import Any

from django.contrib.sitemaps import Sitemap
from django.core.checks import CheckMessage
from django.db import Error
from django.db.models import DateField, Model, QuerySet
from django.utils.functional import Promise, cached_property

from django_sitemaps_plus.conf import DEFAULT_SITE, Site
from django_sitemaps_plus.core.entries import CHANGEFREQS, check_priority
from django_sitemaps_plus.core.suggestions import suggest
from django_sitemaps_plus.exceptions import SourceError
from django_sitemaps_plus.section import open_section
from django_sitemaps_plus.sources import (
    ModelSource,
    Route,
    SitemapSource,
    Source,
    ViewSource,
)
from django_sitemaps_plus.sources.base import DeclaredSource
from django_sitemaps_plus.sources.columns import DoubtError, Problem
from django_sitemaps_plus.sources.compiling import (
    declarations_of,
    find_field,
    is_expression,
    is_method,
    is_path,
)
from django_sitemaps_plus.sources.contrib_fields import aware, contrib_origin
from django_sitemaps_plus.sources.fields import FIELDS, columns_on, location_column
from django_sitemaps_plus.sources.keys import has_text, key_field
from django_sitemaps_plus.sources.shapes import computed
from django_sitemaps_plus.tracking.relations import is_model

from .crawlers import route_to
from .examining import Faults, declared, error, examined, is_of_project, warning
from .languages import check_codes
from .times import check_items

#: The member that names the entries, by kind of source.
_ROWS: dict[type, str] = {
    ModelSource: "get_queryset()",
    ViewSource: "views",
    Source: "entries()",
    Sitemap: "items()",
}

#: Names of values that the entries of a plain Source have themselves.
_OF_ENTRIES = (*FIELDS, "languages")

#: Attributes that name a column of the database, and no code.
_OF_COLUMNS = ("key", "starts", "ends", "site_path")

#: Attributes of rows beside the fields of an entry.
_OF_ROWS = ("title", "get_languages", *_OF_COLUMNS)

#: Attributes that are True or False.
_FLAGS = ("live", "mobile", "x_default", "announce_saves", "track_deletes")
_FLAGS_OF_CONTRIB = ("i18n", "alternates", "x_default", "track_deletes")

#: What the fields of an entry may be.
_FORMS = {
    "lastmod": 'Name a date field, such as lastmod = "updated_at", or write a method '
    "that returns a date or an aware datetime.",
    "images": 'Name a field, such as images = "photo", or list URLs.',
    "videos": "Write a method that returns a list of Video.",
    "news": "Write a method that returns a News.",
    "alternates": "Write a method that returns pairs of a language and a URL.",
}

_ORIGIN = "https://example.com"

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
    yield from () if source.has_own_paging else check_items(source)
    return True


def _used(
    source: SitemapSource, use: Callable[[Site], object]
) -> Generator[CheckMessage, None, bool]:
    """Use a class in one way; yield why it cannot work, and return whether it does."""
    site = Site(DEFAULT_SITE, _ORIGIN)
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


def check_values(source: Source) -> Generator[CheckMessage, None, bool]:
    """Yield values that no entry can have; return whether all can be read."""
    model: Any = getattr(source, "model", None)
    borrowed = False
    is_of_rows = isinstance(source, ModelSource) and is_model(model)
    for name in (*FIELDS, *_OF_ROWS) if is_of_rows else ():
        given = getattr_static(source, name)  # to ask the source would run it
        attribute = attribute_of(model, given, type(source).__mro__)
        if attribute:
            borrowed = True
            message = f"{name} is {model.__name__}.{attribute}, which needs a row."
            yield error(37, message, instead(source, name, attribute))
    if borrowed:
        return False

    is_contrib = isinstance(source, SitemapSource)
    asked = source.sample if isinstance(source, SitemapSource) else source
    for name in _FLAGS_OF_CONTRIB if is_contrib else _FLAGS:
        value = getattr(asked, name, False)
        is_odd = isinstance(value, str) or (callable(value) and not is_contrib)
        if is_odd or (name == "live" and not isinstance(value, bool)):
            hint = f"Write {name} = True, or False."
            yield _no_value(source, f"{name} is {value!r}.", hint)
    if isinstance(source, DeclaredSource | SitemapSource):
        yield from declared(_constants(source))
    else:
        given, kinds = source.extensions, Source.extensions
        for kind in [given] if isinstance(given, str) else given:
            if kind not in kinds:
                hint = suggest(str(kind), kinds, f"Choose from {', '.join(kinds)}.")
                yield error(37, f"extensions has {kind!r}, which is none.", hint)
    return True


def _no_value(source: Source, message: str, hint: str) -> CheckMessage:
    """Return the fault of a constant; contrib's views work with any."""
    if isinstance(source, SitemapSource):
        return warning(60, message, hint)
    return error(37, message, hint)


def _constants(source: DeclaredSource | SitemapSource) -> Faults:
    """Yield the constants among declarations that each row would be listed without."""
    columns = {**columns_on(_ORIGIN), "location": location_column(_ORIGIN)}
    has_paths = isinstance(source, ModelSource)
    if isinstance(source, SitemapSource):
        names = () if source.has_own_paging else ("lastmod", "changefreq", "priority")
        given = {it: aware(getattr(source.sample, it, None)) for it in names}
    else:
        given = declarations_of(source)
    for name, value in given.items():
        is_declaration = is_expression(value) or (has_paths and is_path(name, value))
        is_declaration |= isinstance(value, Route) and name == "location"
        if is_declaration or is_method(value) or hasattr(type(value), "__get__"):
            continue
        problems: list[Problem] = []
        columns[name].texts([value], problems)
        for _, _, fault in problems:
            if is_of_project(fault):  # which may work elsewhere, as a lazy text
                raise fault
            if not isinstance(fault, Error | DoubtError):
                words = str(fault).removeprefix(f"{name} ")
                message = f"{name} cannot be written: {words}."
                yield _no_value(source, message, instead(source, name, value))
    title = source.title
    is_text = title is None or isinstance(title, str | Promise)
    if not (is_text or is_expression(title) or is_method(title)):
        yield error(37, f"title is {title!r}.", instead(source, "title", title))


def attribute_of(
    model: type[Model], value: object, mixed: Collection[type] = ()
) -> str:
    """Return the name of what a model has as a column, a method or a property.

    Classes that are mixed into another as well lend it nothing.
    """
    if hasattr(type(value), "__get__"):
        for owner in [it for it in model.__mro__ if it not in mixed]:
            for name, it in vars(owner).items():
                if it is value:
                    return name
    return ""


def instead(source: Source, name: str, value: Any) -> str:
    """Return what to write in the place of a value that an attribute cannot have."""
    if isinstance(value, list | tuple) and len(value) == 1:
        value = value[0]
    value = getattr(value, "value", value)  # of an enumeration
    text = "" if isinstance(value, Promise) else str(value)  # it may not be reversed
    model, hint = getattr(source, "model", None), ""
    if is_model(model) and isinstance(value, str):
        hint = of_row(source, model, name, value)
    form = _FORMS.get(name, "")
    if not is_model(model):  # views have no fields
        form = re.sub(r"^Name a .*?, or (\w)", lambda it: it[1].upper(), form)
    return hint or _constant(name, value, text, model) or form


def _constant(name: str, value: Any, text: str, model: Any) -> str:
    """Return the constant that comes closest to a wrong one."""
    match name:
        case "changefreq":
            close = get_close_matches(text.lower(), CHANGEFREQS, 1)
            if close:
                return f'Write changefreq = "{close[0]}".'
            return f"Choose one of {', '.join(CHANGEFREQS)}."
        case "priority":
            with suppress(ValueError):
                return f"Write priority = {check_priority(text.replace(',', '.'))}."
            return "Write a number from 0.0 to 1.0, such as priority = 0.8."
        case "lastmod":
            with suppress(ValueError):
                if isinstance(value, str):
                    day = date.fromisoformat(text[:10])
                    return f"Write lastmod = date({day.year}, {day.month}, {day.day})."
            fields = model._meta.fields if is_model(model) else ()
            for field in [it for it in fields if isinstance(it, DateField)]:
                return f'Name a date field, such as lastmod = "{field.name}".'
        case "images" if isinstance(value, str) and value.startswith(("/", "http")):
            return f"Write images = [{value!r}]."
        case "location" if is_model(model):
            route = route_to(text, model) or 'Route("product-detail", slug="slug")'
            return f"Write location = {route}, or def location(self, obj)."
        case "title":
            return f"Write def title(self, obj): return {text!r}."
    return ""


def of_row(source: Any, model: Any, name: str, path: str) -> str:
    """Return what to write for an attribute of a row, given by a path that is none."""
    plain = path.removeprefix("-").removesuffix("()").replace(".", "__")
    plain = re.sub("^(self|obj|row|item)__", "", plain)
    if find_field(model, plain):
        return f"Write {name} = {plain!r}.".replace("'", '"')
    written, rest = ["obj"], plain
    while find_field(model, rest.partition("__")[0]):
        first, _, rest = rest.partition("__")
        model = model._meta.get_field(first).related_model
        written.append(first)
        if model is None:
            return ""
    member = getattr_static(model, rest, None)
    is_djangos = type(member).__module__.startswith("django.db.models")
    if member is None or is_djangos or (hasattr(Model, rest) and rest != "__str__"):
        own = plain in dir(source) and plain not in dir(ModelSource)
        return f"Rename the method {plain}() to {name}." if own else ""
    code = getattr(member, "__func__", member)
    value = ".".join([*written, rest]) + "()" * callable(code)
    if (name, value) == ("location", "obj.get_absolute_url()"):
        return "Leave location out: get_absolute_url() is asked then."
    if name in _OF_COLUMNS:
        return "Name a field: what code computes is not in the database."
    if name == "location" and isinstance(source.location, Route):
        paths = source.location.arguments.items()
        values = {key: f"obj.{it}".replace("__", ".") for key, it in paths}
        values |= {key: value for key, it in paths if it == path}
        given = ", ".join([f'"{key}": {it}' for key, it in values.items()])
        value = f'reverse("{source.location.name}", kwargs={{{given}}})'
    return f"Write def {name}(self, obj): return {value}."


def check_names(source: Source) -> Faults:
    """Yield the public names of a class that have no effect, and what to write."""
    kind = source.kind if isinstance(source, SitemapSource) else type(source)
    base = next(it for it in _ROWS if issubclass(kind, it))
    known = {name for name in dir(base) if name[0] != "_"}
    if base is Sitemap:
        known |= {*FIELDS, "live", "max_age", "sites", "title", "track_deletes"}
    elif base is not Source:
        known.remove("entries")
    owners = kind.__mro__[: kind.__mro__.index(base)]
    for owner in [it for it in owners if issubclass(it, base)]:  # and no mixin
        yield from _without_value(owner, kind, base, known)
        yield from _of_process(owner, kind)
        inherited = set().union(*map(dir, owner.__bases__)) - {"entries"}
        taken = known | inherited
        for name in vars(owner):
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
                yield (warning if base is Sitemap else error)(30, message, hint)
            elif hint := suggest(name, known, cutoff=0.8):
                yield warning(30, message, hint)


def _without_value(owner: type, kind: type, base: type, known: set[str]) -> Faults:
    """Yield the names that a class has a type for, as in ``lastmod: "updated_at"``."""
    for name in filter(known.__contains__, get_annotations(owner)):
        if getattr_static(kind, name, None) is getattr_static(base, name, None):
            message = f"{owner.__qualname__}.{name} has a type and no value."
            yield warning(30, message, f'Write "{name} = ", not "{name}: ".')


def _of_process(owner: type, kind: type) -> Faults:
    """Yield what a class computes once for each process, and entries may show."""
    for name, text in computed(owner).items():
        is_read = name in (*FIELDS, *_names_used(kind, name))
        others = (*_METHODS, QuerySet, type(None))
        if is_read and not issubclass(type(vars(owner).get(name)), others):
            message = f"{owner.__qualname__}.{name} is {text}, once in each process."
            hint = "Compute it in a method, or write a constant."
            yield warning(61, message, hint)


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
