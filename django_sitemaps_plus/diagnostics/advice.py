"""Advice on sources: how fast each is, and which route can replace its method."""

from __future__ import annotations

import copy
import json
from collections import defaultdict
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice, product, zip_longest
from operator import attrgetter
from time import perf_counter
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from django.core.exceptions import FieldError, ValidationError
from django.db.models import Model, QuerySet
from django.urls import Resolver404, get_script_prefix, resolve
from django.utils import translation
from django.utils.functional import Promise
from django.utils.text import format_lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.core.entry_lines import locations_in
from django_sitemaps_plus.core.key_ranges import KeyRange, key_ranges
from django_sitemaps_plus.core.limits import MAX_ENTRIES, LimitExceededError
from django_sitemaps_plus.core.locations import SAFE, encode_url
from django_sitemaps_plus.exceptions import BuildError
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.section import OpenSection, open_section
from django_sitemaps_plus.site_urls import with_scheme
from django_sitemaps_plus.sites import own_sites, site_at
from django_sitemaps_plus.sources import (
    ModelSource,
    Route,
    Source,
    Tally,
    compiling,
    reader_of,
    reading,
    surroundings,
)
from django_sitemaps_plus.sources.columns import attempt
from django_sitemaps_plus.sources.contrib import OwnPagesReader, SitemapReader
from django_sitemaps_plus.sources.languages import languages_of
from django_sitemaps_plus.sources.lines import CHUNK_ROWS
from django_sitemaps_plus.sources.querysets import in_range
from django_sitemaps_plus.sources.route import in_language

#: Entries that a section is measured on, from the lowest key.
SAMPLE_ENTRIES = 5_000

#: How many times as fast a suggestion is at least.
MIN_FACTOR = 1.2

# A measurement ends with the first of these that is reached.
_RUNS, _RUN_SECONDS = 3, 1

# Rows that show the route of a method.
_SHOWING_ROWS = 100


@dataclass(slots=True, kw_only=True)
class Suggestion:
    """A line that gives the same URLs for the whole sample."""

    line: str
    entries_per_second: int
    factor: float  # how many times as fast as the section is now


@dataclass(slots=True, kw_only=True)
class Advice:
    """The speed of a section, and what would make it faster."""

    section: str
    form: str | Promise = ""
    entries_per_second: int | None = None  # None without entries
    suggestion: Suggestion | None = None
    verified_rows: int | None = None  # for which the suggestion gives the same URLs
    problem: str = ""  # why it could not be read, or which URL differs


def advise(section: str, site: Site, *, verify: bool = False) -> Advice:
    """Measure a section, and look for a route; verify it on all rows if asked to.

    Raises:
        NotRegistered: there is no such section.
        DatabaseError, InterfaceError: our own rows cannot be read either.
    """
    advice = Advice(section=section)
    opened = open_section(registry.get(section), site)
    try:
        with opened.reading():
            rewritten = _study(advice, opened)
            if verify and rewritten is not None:
                advice.verified_rows = _verify(opened.source, rewritten)
    except (BuildError, LimitExceededError) as error:
        advice.problem, advice.suggestion = str(error), None
    return advice


def _study(advice: Advice, section: OpenSection) -> ModelSource | None:
    """Fill in all but the verification; return the source that is suggested."""
    source, reader = section.source, section.reader
    rows = max(1, SAMPLE_ENTRIES * reader.rows_per_page // source.limit)
    keys = list(islice(reader.first_keys(rows), 2))
    sample = KeyRange(None, *keys[1:])
    advice.form = form_of(source)
    urls, seconds = _measure(source, sample)
    if not urls:
        return None
    advice.entries_per_second = int(_rounded(len(urls) / seconds))
    rewritten, found, faster = None, list[str](), seconds
    # The source can be read, so a failure here means that the route does not fit.
    with suppress(BuildError, LimitExceededError), section.reading():
        if rewritten := with_route(source, sample):
            found, faster = _measure(rewritten, sample)
    if rewritten is None or found != urls or seconds < MIN_FACTOR * faster:
        return None
    advice.suggestion = Suggestion(
        line=_line(source, rewritten),
        entries_per_second=int(_rounded(len(urls) / faster)),
        factor=_rounded(seconds / faster),
    )
    return rewritten


def form_of(source: Source) -> str | Promise:
    """Return how a source is read; the methods of a contrib class may raise.

    Lazy, since a source is read in the language of the settings.
    """
    match reader_of(source):
        case OwnPagesReader():
            return gettext_lazy("contrib class with its own paging")
        case SitemapReader() as reader:
            if reader.key_space() is None:
                return gettext_lazy("contrib class, by position")
            return gettext_lazy("contrib class, by key")
        case reading.ViewReader():
            return gettext_lazy("views")
        case reading.ModelReader(source=declared):
            methods = [*compiling.declared_methods(declared)]
            if declared.location is None:
                methods[0] = "get_absolute_url"
            if methods:
                words = gettext_lazy("instances: {}")
                return format_lazy(words, ", ".join(methods))
            return gettext_lazy("columns")
    return "entries()"


def _line(source: Source, rewritten: ModelSource) -> str:
    route = rewritten.location
    values = [f"{name}={json.dumps(path)}" for name, path in route.arguments.items()]
    line = f"location = Route({', '.join([json.dumps(route.name), *values])})"
    return line if isinstance(source, ModelSource) else f"As a ModelSource: {line}"


def _rounded(number: float) -> float:
    return float(f"{number:.2g}")


def _measure(source: Source, key_range: KeyRange) -> tuple[list[str], float]:
    """Return the URLs of a key range, and the seconds of the fastest run."""
    times: list[float] = []
    while len(times) < _RUNS and sum(times) < _RUN_SECONDS:
        began = perf_counter()
        lines = _lines(source, key_range)
        times.append(perf_counter() - began)
    return locations_in(lines), min(times)


def _lines(source: Source, key_range: KeyRange) -> str:
    reader = reader_of(source)
    reader.max_entries = MAX_ENTRIES
    return "".join(reader.chunks(key_range, Tally("", logs=False)))


def _verify(source: Source, rewritten: ModelSource) -> int:
    """Return how many URLs there are, all the same; raise BuildError at another."""
    rows = 0
    reader = reader_of(source)
    keys = reader.first_keys(reader.rows_per_page)
    for key_range in key_ranges(islice(keys, 1, None)):
        now, then = [locations_in(_lines(it, key_range)) for it in (source, rewritten)]
        for url, other in zip_longest(now, then, fillvalue="no URL"):
            if url != other:
                line = _line(source, rewritten)
                raise BuildError(f"{line} gives {other}, not {url}")
        rows += len(now)
    return rows


def with_route(source: Source, sample: KeyRange) -> ModelSource | None:
    """Return a copy of a source whose location is a route that fits the sample.

    None where the location is not a method, or its URLs are not those of one route; the
    first URL without a route raises Resolver404. The caller compares the URLs.
    """
    rows = as_model_source(source)
    if rows is None or rows.languages:
        return None
    locate = compiling.declarations_of(rows)["location"]
    if not compiling.is_method(locate):
        return None
    copied = copy.copy(rows)
    copied.location = _find_route(
        in_range(reading.listed_rows(rows), rows.key, sample), locate
    )
    return copied if copied.location is not None else None


def as_model_source(source: Source) -> ModelSource | None:
    """Return a source of the same rows; None for what is not paged by their keys."""
    if isinstance(source, ModelSource):
        return source
    reader = reader_of(source)
    if not isinstance(reader, SitemapReader) or reader.key_space() is None:
        return None
    return _Rows(reader.sitemap)


def forms_of(url: str, site: Site) -> tuple[list[str], list[str]]:
    """Return a URL, or that of a path, with those much like it; and those of the site.

    Either all of them are of the site, or none.
    """
    url = with_scheme(url.strip(), site)
    if url.startswith("/") or "://" not in url.partition("?")[0]:
        url = f"{site.origin}/{url.removeprefix('/')}"
    url = encode_url(url)
    path = urlsplit(url).path
    bare = path.rstrip("/")
    paths = [path, f"{bare}/", bare, quote(unquote(path), safe=SAFE)]
    origins = [it.origin for it in own_sites(site)]
    if _host_of(url) not in map(_host_of, origins):
        return [url], []
    meant = [origin + it for origin in origins for it in paths]
    forms = list(dict.fromkeys([url, *meant]))
    return forms, forms


def _host_of(url: str) -> str:
    return (urlsplit(url).hostname or "").removeprefix("www.")


def rows_at(source: Source, rows: ModelSource, urls: Iterable[str]) -> list[Any]:
    """Return the rows, listed or not, of the first URL that leads to any; at most ten.

    The route of a method is what the first rows show.
    """
    location = rows.location
    if location is None or compiling.is_method(location):
        keys = islice(reader_of(source).first_keys(_SHOWING_ROWS), 1, 2)
        with suppress(Resolver404):
            routed = with_route(source, KeyRange(None, *keys))
            location = routed and routed.location
    codes = languages_of(rows)
    versions = [in_language(location, code) for code in codes] or [location]
    # Names may be annotations of the listed rows; and a unique field names a row whose
    # URL was another.
    for looked, is_unique in (
        (reading.every_row, False),
        (reading.listed_rows, False),
        (reading.every_row, True),
    ):
        for url, version in product(urls, versions):
            with suppress(Resolver404, ValueError, ValidationError, FieldError):
                asked = [_values(version, url)]
                if is_unique:
                    names = {it.name for it in rows.model._meta.fields if it.unique}
                    names |= {"pk"}
                    asked = [{k: v} for k, v in asked[0].items() if k in names]
                for values in filter(None, asked):
                    if found := list(looked(rows).filter(**values)[:10]):
                        return found
    return []


def _values(location: Any, url: str) -> dict[str, Any]:
    """Return what the fields of a row hold whose location is a URL."""
    path = urlsplit(url).path
    if isinstance(location, str):
        return {f"{location}__in": [url, path, unquote(path)]}
    view, arguments = match_of(url) or ("", {})
    if not isinstance(location, Route):
        return arguments  # of a method whose route is unknown: names of fields, perhaps
    if view != location.name:
        return {}
    fields = location.arguments.items()
    return {it: arguments[name] for name, it in fields if isinstance(it, str)}


class _Rows(ModelSource):
    """The rows and methods of a contrib class."""

    def __init__(self, sitemap: Any) -> None:
        self.sitemap, self.model = sitemap, sitemap.items().model
        self.location = sitemap._location
        for name in ("lastmod", "changefreq", "priority"):
            if callable(method := getattr(sitemap, name, None)):
                setattr(self, name, method)

    def get_queryset(self) -> QuerySet[Any]:
        queryset: QuerySet[Any] = self.sitemap.items()
        return queryset


def _find_route(rows: QuerySet[Any], locate: Callable[[Any], Any]) -> Route | None:
    patterns = set[tuple[str, ...]]()
    paths: dict[str, list[str]] = {}  # that hold an argument in every row so far
    values = defaultdict[str, set[str]](set)
    for row in rows.iterator(CHUNK_ROWS):
        match = match_of(attempt(locate, row))
        if match is None:
            continue
        view, arguments = match
        patterns.add((view, *arguments))
        if len(patterns) > 1:
            return None
        for name, value in arguments.items():
            known = paths.get(name) or _paths(rows.model, name)
            paths[name] = [
                path
                for path in known
                if str(attempt(attrgetter(path.replace("__", ".")), row)) == str(value)
            ]
            if not paths[name]:
                return None
            values[name].add(str(value))
    # A value may be in several fields by chance.
    if not patterns or any([len(paths[it]) > len(values[it]) == 1 for it in paths]):
        return None
    [[view, *names]] = patterns
    return Route(view, **{name: paths[name][0] for name in names})


def match_of(location: Any) -> tuple[str, dict[str, Any]] | None:
    """Return the name and arguments of a location; None of what is not listed."""
    if not isinstance(location, str | Promise):
        return None
    path = unquote(urlsplit(str(location)).path)
    path = "/" + path.removeprefix(get_script_prefix())
    language = translation.get_language_from_path(path) or translation.get_language()
    with translation.override(language):
        match: Any = resolve(path)
    # The captures of an include() are in kwargs alone, among what patterns give.
    given = {k: v for k, v in match.kwargs.items() if k not in match.extra_kwargs}
    return match.view_name, given | match.captured_kwargs


def where_it_leads(url: str, site: Site) -> str:
    """Return what the project has at a URL of no row that a section knows."""
    if site_at(url, site) is None:
        words = _("It is not on %s, and sitemaps list nothing else.")
        return words % site.origin
    with surroundings(site):
        try:
            found = match_of(url) or ("", {})
        except Resolver404:
            found = None
    if found is None:
        return _("The site has no page at this address.")
    words = _(
        "A view of the site answers at this address, but no section has a row for it "
        "(view %(view)s, %(values)s)."
    )
    return words % {"view": found[0], "values": found[1]}


def _paths(model: type[Model], argument: str) -> list[str]:
    """Return paths of fields, also behind foreign keys; the best for a name first."""
    paths = []
    fields: Iterable[Any] = model._meta.concrete_fields
    for field in fields:
        is_pk = field.primary_key and field.name != argument
        paths.append("pk" if is_pk else field.attname)
        if field.is_relation:
            for other in field.related_model._meta.concrete_fields:
                if other != field.target_field:  # its value is the field's own
                    paths.append(f"{field.name}__{other.attname}")
    return sorted(paths, key=lambda it: (it.replace("__", "_") != argument, "__" in it))
