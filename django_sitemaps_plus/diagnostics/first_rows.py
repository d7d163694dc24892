"""First rows: whether those of a section can be listed, and what is odd about them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import partial
from time import perf_counter
from typing import Any, TypeAlias

from django.db.models import BooleanField, ExpressionWrapper, F, Q
from django.utils.translation import get_language

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.core.key_ranges import EVERYTHING
from django_sitemaps_plus.core.limits import MAX_ENTRIES, LimitExceededError
from django_sitemaps_plus.core.validation import is_signed
from django_sitemaps_plus.exceptions import SitemapsPlusError
from django_sitemaps_plus.section import open_section
from django_sitemaps_plus.serving.live import live_page, live_plan
from django_sitemaps_plus.sources import ModelSource, Reader, Source, Tally
from django_sitemaps_plus.sources.columns import attempt
from django_sitemaps_plus.sources.compiling import is_method
from django_sitemaps_plus.sources.contrib import SitemapReader
from django_sitemaps_plus.sources.fields import FIELDS
from django_sitemaps_plus.sources.lines import CHUNK_ROWS
from django_sitemaps_plus.sources.querysets import by_key
from django_sitemaps_plus.sources.reading import every_row
from django_sitemaps_plus.tracking.relations import BY_CODE, is_tree, watched_ways

from .advice import form_of
from .status import SectionStatus

#: Parts of a section, each with what is odd about it and a remedy.
Doubts: TypeAlias = dict[str, tuple[str, str]]

_LACKING = "See whether its code lacks a return."
_REMEDIES = {
    "None": _LACKING,
    "the present time": "Return the time of the last change, such as obj.updated_at.",
}
_UNSIGNED = "Use a storage without signatures, as querystring_auth = False makes one."
_SIGNED = ("their URLs are signed, and expire on pages that are kept", _UNSIGNED)

# Seconds by which clocks may differ.
_TOLERANCE = 0.001


def look_at(status: SectionStatus, site: Site) -> tuple[bool | None, str, Doubts]:
    """Return whether the first rows of a section can be listed, how, and doubts."""
    section, tally = open_section(status.section, site), Tally(status.section, most=1)
    doubts: Doubts = {}
    try:
        with section.reading():
            form = form_of(section.source)
            is_empty = next(section.reader.first_keys(1), None) is None
            if status.live and (plan := live_plan(section)) and not plan.ranges:
                return False, "too many rows to be served live (LIVE_MAX_ROWS)", doubts
            reader = section.reader
            reader.max_entries, given = MAX_ENTRIES, _noting(reader)
            if is_signed(next(iter(reader.chunks(EVERYTHING, tally)), "")):
                doubts["media"] = _SIGNED
            if "title" in given:  # only the site map for people shows it
                titled = section.reader
                titled.max_entries, titled.titles_in = MAX_ENTRIES, get_language()
                given["title"] = _noting(titled)["title"]
                next(iter(titled.chunks(EVERYTHING, Tally("", logs=False))), "")
            doubts |= _doubts(section.source, given)
        has_page = not status.live or live_page(section.name, 1, None) is not None
    except (SitemapsPlusError, LimitExceededError) as error:
        return False, str(error), doubts
    if is_empty:
        return None, f"{form}; no rows", doubts
    if not tally.entries or not has_page:
        words = f"{form}; {next(map(str, tally.left_out), 'nothing is listed')}"
        return (None if has_page else False), words, doubts
    if tally.left_out:
        return None, f"{form}; of the first rows {tally.left_out[0]}", doubts
    if status.live:
        why = "always" if status.always_live else "not built, so it is"
        return True, f"{form}; {why} served live", doubts
    return True, f"{form}; entries: {status.entries:,}, pages: {status.pages:,}", doubts


def _noting(reader: Reader[Any]) -> dict[str, list[str]]:
    """Let a reader note, by the names of its methods, which rows get an odd value."""
    noted: dict[str, list[str]] = {}
    # The source serves others as well, and a sitemap is made for one use.
    asked = reader.source = copy.copy(reader.source)
    if isinstance(reader, SitemapReader):
        asked = reader.sitemap

    def note(name: str, method: Callable[[Any], Any], row: Any) -> Any:
        began = perf_counter()
        value = method(row)
        said = "None" if value is None else ""
        if isinstance(value, datetime):
            age = (datetime.now(value.tzinfo) - value).total_seconds()
            is_now = 0 <= age <= perf_counter() - began + _TOLERANCE
            said = "the present time" if is_now else ""
        noted[name].append(said)
        return value

    for name in (*FIELDS, "get_languages", "title"):
        method: Any = getattr(asked, name, None)
        module = getattr(method, "__module__", None) or ""
        is_own = module.partition(".")[0] not in ("django", "django_sitemaps_plus")
        if is_own and is_method(method):
            noted[name] = []
            vars(asked)[name] = partial(note, name, method)
    return noted


def _doubts(
    source: Source, given: Mapping[str, list[str]]
) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield what is odd about all that methods have given, and about declarations."""
    for name, said in given.items():
        if len({*said}) == 1 and said[0]:
            words = f"it returned {said[0]} for each of the first {len(said)} rows"
            yield f"{name}()", (words, _REMEDIES[said[0]])
    if not isinstance(source, ModelSource):
        return
    rows = every_row(source)
    if source.starts and source.ends:
        is_swapped = Q(**{f"{source.starts}__gt": F(source.ends)})
        dated = {f"{it}__isnull": False for it in (source.starts, source.ends)}
        asked = ExpressionWrapper(is_swapped, BooleanField())
        first = by_key(rows.filter(**dated), source.key)
        found = list(first.values_list(asked, flat=True)[:CHUNK_ROWS])
        if found and all(found):
            words = f"it is later than ends in each of the first {len(found)} rows"
            yield "starts", (words, "See whether they are swapped.")
    for way in watched_ways(source):
        if way.to_rows != BY_CODE or is_tree(source, way):
            continue
        for row in way.model._base_manager.using(rows.db).order_by("pk")[:1]:
            code: Any = source.watch[way.model]
            if attempt(code, row) is None:
                words = f"it returned None for {way.model._meta.label} {row.pk}"
                yield "watch", (words, _LACKING)
