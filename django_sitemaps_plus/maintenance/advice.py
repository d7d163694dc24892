"""Advice on sources: how fast each is, and which route can replace its method."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice, zip_longest
from time import perf_counter

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.core.key_ranges import KeyRange, key_ranges
from django_sitemaps_plus.core.limits import MAX_ENTRIES, LimitExceededError
from django_sitemaps_plus.exceptions import BuildError
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.section import OpenSection, open_section
from django_sitemaps_plus.sources import ModelSource, Source, Tally, reader_of
from django_sitemaps_plus.sources.contrib import OwnPagesReader, SitemapReader
from django_sitemaps_plus.sources.declarations import declared_methods
from django_sitemaps_plus.sources.reading import ModelReader, ViewReader

from .routes import with_route

#: Entries that a section is measured on, from the lowest key.
SAMPLE_ENTRIES = 5_000

#: How many times as fast a suggestion is at least.
MIN_FACTOR = 1.2

# A measurement ends with the first of these that is reached.
_RUNS, _RUN_SECONDS = 3, 1

_LOC = re.compile("<url><loc>([^<]*)</loc>")


@dataclass(slots=True, kw_only=True)
class Suggestion:
    """A line that gives the same URLs for the whole sample."""

    line: str
    entries_per_second: int
    factor: float  # how many times as fast as the section is now


@dataclass(slots=True, kw_only=True)
class Advice:
    """What there is to say about one section."""

    section: str
    form: str = ""
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


def form_of(source: Source) -> str:
    """Return how a source is read; the methods of a contrib class may raise."""
    match reader_of(source):
        case OwnPagesReader():
            return "contrib class with its own paging"
        case SitemapReader() as reader:
            by = "position" if reader.key_space() is None else "key"
            return f"contrib class, by {by}"
        case ViewReader():
            return "views"
        case ModelReader(source=declared):
            methods = [*declared_methods(declared)]
            if declared.location is None:
                methods[0] = "get_absolute_url"
            return f"instances: {', '.join(methods)}" if methods else "columns"
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
    return _LOC.findall(lines), min(times)


def _lines(source: Source, key_range: KeyRange) -> str:
    reader = reader_of(source)
    reader.max_entries = MAX_ENTRIES
    return "".join(reader.chunks(key_range, QuietTally("")))


class QuietTally(Tally):
    """Logs nothing: rows are rendered more than once, or for a person who looks."""

    def _name(self, problem: str, action: str) -> None:
        if self.names:
            self.problems.append(problem)


def _verify(source: Source, rewritten: ModelSource) -> int:
    """Return how many URLs there are, all the same; raise BuildError at another."""
    rows = 0
    reader = reader_of(source)
    keys = reader.first_keys(reader.rows_per_page)
    for key_range in key_ranges(islice(keys, 1, None)):
        now, then = [_LOC.findall(_lines(it, key_range)) for it in (source, rewritten)]
        for url, other in zip_longest(now, then, fillvalue="no URL"):
            if url != other:
                line = _line(source, rewritten)
                raise BuildError(f"{line} gives {other}, not {url}")
        rows += len(now)
    return rows
