"""Explanations: which pages list a URL or a row, or what leaves it out."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from copy import copy
from dataclasses import dataclass, field, replace
from datetime import datetime, tzinfo
from functools import partial
from time import monotonic
from typing import Any, TypeAlias

from django.db.models import Model
from django.utils import timezone
from django.utils.translation import get_language, override
from django.utils.translation import gettext as _

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.core import entry_lines
from django_sitemaps_plus.core.limits import LimitExceededError
from django_sitemaps_plus.core.xml import escape
from django_sitemaps_plus.exceptions import BuildError, StoreError
from django_sitemaps_plus.models import INDEX, Exclusion, Page, Section
from django_sitemaps_plus.models.exclusions import label_of
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.section import OpenSection, open_section
from django_sitemaps_plus.serving.live import live_plan
from django_sitemaps_plus.sources import ModelSource, Source, Tally
from django_sitemaps_plus.sources.columns import attempt
from django_sitemaps_plus.sources.conditions import unmet
from django_sitemaps_plus.sources.lines import describe
from django_sitemaps_plus.sources.reading import every_row, listed_rows
from django_sitemaps_plus.storage import read_document
from django_sitemaps_plus.tracking.locating import locate, owners

from . import conditions
from .advice import as_model_source, forms_of, rows_at, where_it_leads
from .words import at


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """An entry on a page."""

    url: str  # the one asked for, or one much like it
    section: str
    page: int
    lastmod: str  # "" for none
    object: str  # in storage; "" where the page is rendered live
    published_at: datetime | None  # of the object; the entry may be older
    since: datetime | None  # when engines were told that it came, if that is kept


@dataclass(slots=True)
class Lead:
    """A row that is asked for, or that a URL leads to, in one section."""

    section: str
    row: str
    key: str  # the primary key of the row
    lines: str = field(repr=False)  # of its entries, also where a condition is not met
    reasons: list[str]  # why it is not listed; none where it is

    @property
    def urls(self) -> list[str]:
        """The URLs that the section gives the row: one, or one a language."""
        return entry_lines.urls_in(self.lines.encode())


@dataclass(slots=True, kw_only=True)
class Explanation:
    """The pages that list a URL or a row, and the reasons why none does."""

    url: str  # of a row the first that there is; "" without any
    listings: list[Listing] = field(default_factory=list)
    rows: list[Lead] = field(default_factory=list)
    engines: dict[str, str] = field(default_factory=dict)  # what each has answered
    notes: list[str] = field(default_factory=list)
    is_whole: bool = True  # whether all pages could be read that may list it

    @property
    def is_listed(self) -> bool:
        """Whether the URL itself is listed."""
        return any(listing.url == self.url for listing in self.listings)

    @property
    def is_leaving(self) -> bool:
        """Whether the next build takes it off the pages that list it."""
        return bool(self.listings and self.rows) and all(it.reasons for it in self.rows)


#: Pages of a section that are read where no row leads to one.
MAX_PAGES = 500

#: Finds rows, listed or not, of a source that is paged by their keys.
Find: TypeAlias = Callable[[Source, ModelSource], Iterable[Any]]

#: Returns the names of those fields of a row that somebody may see: None for all, and
#: no name where the row itself may not be seen.
Shown: TypeAlias = Callable[[Any], Collection[str] | None]


@dataclass(frozen=True, slots=True)
class Viewer:
    """Somebody who sees an explanation; sources run in another language and zone."""

    shown: Shown
    until: float = math.inf  # the monotonic time at which no other page is read
    language: str | None = field(default_factory=get_language)
    zone: tzinfo = field(default_factory=timezone.get_current_timezone)


def explain_url(
    url: str, site: Site, shown: Shown = lambda row: None, seconds: float = math.inf
) -> Explanation:
    """Say which pages list a URL or a path, or one much like it, or what leaves it out.

    Where it leads to a row, the page of that row is read; else the first 500 pages of
    each section, as far as some ``seconds`` allow.

    Raises:
        ValueError: it is not a URL.
        DatabaseError, InterfaceError: our own rows cannot be read.
    """
    forms, urls = forms_of(url, site)
    found, find = Explanation(url=forms[0]), partial(rows_at, urls=urls)
    viewer, unread = Viewer(shown, monotonic() + seconds), list[str]()
    for name in registry:
        _add(found, open_section(name, site), find, forms, viewer, unread)
    if not any([it.reasons for it in found.rows]):
        found.notes += [it for it in unread if it not in found.notes]
    if not found.listings and not found.rows and not found.notes:
        found.notes.append(where_it_leads(found.url, site))
    _ask_engines(found, site)
    return found


def exclusions_at(url: str, site: Site, shown: Shown) -> set[int]:
    """Return the keys of exclusions of the rows that a URL or a path leads to.

    Those of rows that may not be seen are not among them.
    """
    found, urls = set[int](), forms_of(url, site)[1]
    for name in registry:
        section, rows = open_section(name, site), list[Any]()
        with suppress(BuildError, LimitExceededError), section.reading():
            if model := as_model_source(section.source):
                rows = rows_at(section.source, model, urls)
        for row in rows:
            fields = shown(row)
            if fields is None or fields:
                found.update(Exclusion.objects.of_row(row).values_list("pk", flat=True))
    return found


def explain_object(
    row: Model, site: Site, shown: Shown = lambda row: None
) -> Explanation:
    """Say which pages list a row of a model, or what leaves it out.

    Of each section that has it, the page of the row is read; of one that is not built,
    only the row.

    Raises:
        DatabaseError, InterfaceError: our own rows cannot be read.
    """

    def same(source: Source, rows: ModelSource) -> Iterable[Any]:
        # A section may have the row's parent, or a child of it.
        is_same = label_of(type(row)) == label_of(rows.model)
        return every_row(rows).filter(pk=row.pk) if is_same else ()

    found, viewer = Explanation(url=""), Viewer(shown)
    for name in registry:
        section = open_section(name, site)
        with _noting(found), section.reading():
            models = section.reader.tracked_models
            # A contrib class that was never built has said none yet.
            if models and label_of(type(row)) not in map(label_of, models):
                continue
        before = len(found.notes)
        _add(found, section, same, (), viewer)
        has_failed = name not in [it.section for it in found.rows]
        has_failed &= len(found.notes) > before
        if has_failed and (whole := _of_all_rows(section)):
            # Its query fails: look the row up without it, as far as that goes.
            _add(found, whole, same, (), viewer)
    found.url = _ask_engines(found, site)
    return found


def _ask_engines(found: Explanation, site: Site) -> str:
    """Add what engines have said; return the URL as it is listed, or would be."""
    known = [it.url for it in found.listings]
    known += [url for lead in found.rows for url in lead.urls]
    told = found.url if found.url in known else [*known, found.url][0]
    if told:
        is_gone = found.is_whole and not found.listings
        found.engines = conditions.answers_of_engines(told, site, is_gone=is_gone)
    return told


def _add(
    found: Explanation,
    section: OpenSection,
    find: Find,
    forms: Sequence[str],
    viewer: Viewer,
    unread: list[str] | None = None,
) -> None:
    """Add what a section says of some rows, and the pages that list them.

    With a list for why its rows cannot be read, its pages are still searched.
    """
    leads: dict[Any, Lead] = {}
    with _noting(found, unread), section.reading():
        leads = _leads(section, find, viewer)
    found.rows += leads.values()
    if leads or forms:
        with _noting(found):
            _search(found, section, leads, forms, viewer)


def _of_all_rows(section: OpenSection) -> OpenSection | None:
    """Return a section over all rows of its model, whatever its query says."""
    source = section.source
    if not isinstance(source, ModelSource) or not hasattr(source, "model"):
        return None
    whole: Any = copy(source)
    whole.get_queryset = whole.model._base_manager.all
    return replace(section, source=whole)


@contextmanager
def _noting(found: Explanation, unread: list[str] | None = None) -> Iterator[None]:
    """Note why a section cannot be read, and go on with others."""
    try:
        yield
    except (BuildError, LimitExceededError) as error:
        if unread is not None:
            unread.append(str(error))
            return
        found.is_whole = False
        if str(error) not in found.notes:
            found.notes.append(str(error))


def _leads(section: OpenSection, find: Find, viewer: Viewer) -> dict[Any, Lead]:
    """Return what there is to say of the rows that are found, by their keys."""
    leads: dict[Any, Lead] = {}
    reader, rows = section.reader, as_model_source(section.source)
    reader.has_excluded = True
    space = reader.key_space()
    if rows is None or space is None:
        return leads
    for row in find(section.source, rows):
        tally, key = Tally(section.name, logs=False), getattr(row, space.attribute)
        shown, missed = viewer.shown(row), unmet(listed_rows(rows), row)
        is_whole = conditions.sees_all(row, shown)
        with override(viewer.language), timezone.override(viewer.zone):
            reasons = []
            for excluded in Exclusion.objects.of_row(row):
                words = _("excluded since %(at)s")
                if excluded.by:
                    words = _("excluded by %(by)s since %(at)s")
                words %= {"by": excluded.by, "at": at(excluded.at)}
                reasons.append(f"{words}: {excluded.note}" if excluded.note else words)
            reasons += dict.fromkeys(
                conditions.reasons_of(missed, row, viewer.shown, rows)
            )
        lines = "".join([it for _key, it in reader.lines_by_key([key], tally)])
        if not lines and (whole := _of_all_rows(section)):
            # A page that was built before may have it still.
            quiet = Tally(section.name, logs=False)
            with suppress(BuildError, LimitExceededError), whole.reading():
                for _key, it in whole.reader.lines_by_key([key], quiet):
                    lines += it
        if not reasons and not tally.entries:
            with override(viewer.language):
                left_out = tally.left_out
                reasons = [
                    conditions.plainly(it.reason, is_whole=is_whole) for it in left_out
                ]
        name, words = str(describe(row)), attempt(str, row)
        is_named = isinstance(words, str) and words != Model.__str__(row)
        if is_whole and is_named and words not in name:
            name = f"{name} ({words[:100]})"
        if shown is not None and not shown:
            with override(viewer.language):
                name = str(row._meta.verbose_name)
                words = _("only those who may view it see why: %s") % name
            reasons = [words] if reasons else []
        leads[key] = Lead(section.name, name, str(row.pk), lines, reasons)
    return leads


def _search(
    found: Explanation,
    section: OpenSection,
    leads: dict[Any, Lead],
    forms: Sequence[str],
    viewer: Viewer,
) -> None:
    """Add the entries with some URLs, or with those of rows, on pages of a section."""
    wanted = {*forms}.union(*[lead.urls for lead in leads.values()])
    urls = {entry_lines.head_of(escape(url)): url for url in wanted}
    searched, listed = 0, set[str]()
    changes = conditions.read_changes(section.name, section.site) if urls else []
    added = {it["url"]: it["at"] for it in changes[::-1] if it["kind"] == "added"}
    for page, document in _documents(section, leads, is_whole=bool(forms)):
        if monotonic() >= viewer.until:
            found.is_whole = False
            words = _("There was no time to search all pages of section %r.")
            found.notes.append(words % section.name)
            break
        searched += 1
        if document is None:
            found.is_whole = False
            words = _(
                "The file of page %(page)s of section %(section)r cannot be read."
            )
            found.notes.append(words % {"page": page.number, "section": section.name})
            continue
        # Without a URL, only a page that has left the row out is known not to list it.
        left_out = {it.get("key") for it in page.problems if isinstance(it, dict)}
        known = [it.urls or it.key in left_out for it in leads.values()]
        if page.object and not forms and not all(known):
            found.is_whole = False
        for line in entry_lines.lines_of(urls, document) if urls else ():
            entry = Listing(
                url=urls[entry_lines.head(line)],
                section=section.name,
                page=page.number,
                lastmod="".join(entry_lines.lastmods_in(line)),
                object=page.object,
                published_at=page.published_at,
                since=added.get(urls[entry_lines.head(line)]),
            )
            listed.add(entry.url)
            found.listings.append(entry)
    if searched == MAX_PAGES:
        found.is_whole = False
        words = _("Only %(count)s pages of section %(section)r were searched.")
        found.notes.append(words % {"count": MAX_PAGES, "section": section.name})
    found.notes += conditions.removal_of(
        found.url, section.name, [] if listed else changes
    )
    rightful = [lead.urls for lead in leads.values() if not lead.reasons]
    stale = listed.difference(*rightful) if len(rightful) < len(leads) else ()
    for key, lead in leads.items():
        if not lead.reasons and not listed.issuperset(lead.urls):
            lead.reasons = [conditions.delay_of(section, key)]
    if stale and all(it.object for it in found.listings):
        why = conditions.delay_of(section, *leads, is_over=True)
        found.notes.append(_("The page that lists it is out of date: %s.") % why)


def _documents(
    section: OpenSection, leads: dict[Any, Lead], *, is_whole: bool
) -> Iterator[tuple[Page, bytes | None]]:
    """Yield the pages that own some rows, or the first of all, with their documents.

    None stands for one that is lost.
    Those of a section that is served live are rendered, as a whole or as far as they
    have the rows.
    """
    keys = [*leads]
    with section.reading():
        reader = section.reader
        space = reader.key_space() if keys else None
    rows = Section.objects.filter(site=section.site.name, name=section.name)
    if row := rows.planned().first():
        pages = row.pages.active().exclude(object="").order_by("number")
        if space is not None:
            pages = pages.filter(pk__in=locate(row, space, keys).pages)
        for page in pages[:MAX_PAGES]:
            document = None
            with suppress(StoreError):
                document = read_document(page.object)
            yield page, document
        return
    # A stored index lists no page that was never built.
    indexes = Page.objects.of(section.site.name, INDEX).exclude(object="")
    plan = live_plan(section)
    ranges = plan.ranges if plan and not indexes.exists() else []
    numbers: Iterable[int] = range(min(len(ranges), MAX_PAGES))
    if space is not None and ranges:
        numbers = sorted({*owners(space, [it.low for it in ranges], keys)})
    lines = "".join([it.lines for it in leads.values() if not it.reasons])
    for number in numbers:
        if is_whole:
            with section.reading():
                tally = Tally(section.name, logs=False)
                lines = "".join(reader.chunks(ranges[number], tally))
        yield Page(number=number + 1), lines.encode()
