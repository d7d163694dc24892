"""Explanations: which pages list a URL, or what leaves it out."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from django.urls import Resolver404

from django_sitemaps_plus.conf import Site, own_sites, site_at
from django_sitemaps_plus.core.diff import urls_in
from django_sitemaps_plus.core.limits import LimitExceededError
from django_sitemaps_plus.core.locations import SAFE, encode_url
from django_sitemaps_plus.core.xml import escape
from django_sitemaps_plus.exceptions import BuildError
from django_sitemaps_plus.models import Delivery, Page, Section
from django_sitemaps_plus.notifications import Takes
from django_sitemaps_plus.notifications.configuration import get_engines
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.rendering import reading
from django_sitemaps_plus.serving.live import live_plan
from django_sitemaps_plus.sources import Source, reader_of, surroundings
from django_sitemaps_plus.sources.conditions import unmet
from django_sitemaps_plus.sources.lines import describe
from django_sitemaps_plus.sources.rows import listed_rows
from django_sitemaps_plus.storage import read_document
from django_sitemaps_plus.tracking.collecting import waiting_changes
from django_sitemaps_plus.tracking.locating import locate, owners

from .advice import QuietTally
from .routes import as_model_source, match_of, rows_at

#: Pages of a section that are read where no row leads to one.
MAX_PAGES = 500

_LASTMOD = re.compile(rb"<lastmod>([^<]*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """An entry on a page."""

    url: str  # the one asked for, or one much like it
    section: str
    page: int
    lastmod: str  # "" for none
    object: str  # in storage; "" where the page is rendered live
    published_at: datetime | None  # of the object; the entry may be older


@dataclass(slots=True, kw_only=True)
class Lead:
    """A row that a URL leads to, in one section."""

    section: str
    row: str
    urls: list[str]  # that the section gives it: one, or one a language
    reasons: list[str]  # why it is not listed; none where it is


@dataclass(slots=True, kw_only=True)
class Explanation:
    """What there is to say about a URL."""

    url: str
    listings: list[Listing] = field(default_factory=list)
    rows: list[Lead] = field(default_factory=list)
    engines: dict[str, str] = field(default_factory=dict)  # what each has answered
    notes: list[str] = field(default_factory=list)

    @property
    def is_listed(self) -> bool:
        """Whether the URL itself is listed."""
        return any(listing.url == self.url for listing in self.listings)


def explain_url(url: str, site: Site) -> Explanation:
    """Say which pages list a URL or a path, or one much like it, or what leaves it out.

    Where it leads to a row, the page of that row is read; else the first 500 pages of
    each section.

    Raises:
        ValueError: it is not a URL.
        DatabaseError, InterfaceError: our own rows cannot be read.
    """
    path = f"/{url.removeprefix('/')}"
    found = Explanation(url=encode_url(url if "://" in url else site.origin + path))
    forms = _forms(found.url, site)
    for name in registry:
        leads: dict[Any, Lead] = {}
        with _noting(found), reading(name, site) as source:
            leads = _leads(name, source, forms, site)
        found.rows += leads.values()
        with _noting(found):
            _search(found, name, leads, forms, site)
    if not found.listings and not found.rows:
        found.notes.append(_where_it_leads(found.url, site))
    asked = Delivery.objects.filter(site=site.name, wanted__gt=0).to([found.url])
    takers = [e.name for e in get_engines().values() if e.takes is Takes.URLS]
    found.engines = dict.fromkeys(takers, "it was never asked")
    found.engines |= {delivery.engine: _answer(delivery) for delivery in asked}
    return found


@contextmanager
def _noting(found: Explanation) -> Iterator[None]:
    """Note why a section cannot be read, and go on with others."""
    try:
        yield
    except (BuildError, LimitExceededError) as error:
        if str(error) not in found.notes:
            found.notes.append(str(error))


def _forms(url: str, site: Site) -> list[str]:
    """Return a URL, and those of the site that somebody may have meant."""
    path = urlsplit(url).path
    bare = path.rstrip("/")
    paths = [path, f"{bare}/", bare, quote(unquote(path), safe=SAFE)]
    own = own_sites(site)
    return list(dict.fromkeys([url, *[o.origin + it for o in own for it in paths]]))


def _leads(
    section: str, source: Source, urls: Iterable[str], site: Site
) -> dict[Any, Lead]:
    """Return the rows that some URLs lead to, listed or not, by their keys."""
    leads: dict[Any, Lead] = {}
    reader, rows = reader_of(source), as_model_source(source)
    space = reader.key_space()
    if rows is None or space is None:
        return leads
    for row in rows_at(source, rows, urls, site):
        tally, key = QuietTally(section), getattr(row, space.attribute)
        reasons = list(unmet(listed_rows(rows), row))
        lines = [text for _, text in reader.lines_by_key([key], site, tally)]
        if not reasons and not tally.entries:
            reasons = [it.partition(" left out: ")[2] for it in tally.problems]
        own = sorted(set(urls_in("".join(lines).encode())))
        leads[key] = Lead(section=section, row=describe(row), urls=own, reasons=reasons)
    return leads


def _search(
    found: Explanation, name: str, leads: dict[Any, Lead], forms: list[str], site: Site
) -> None:
    """Add the entries with some URLs, or with those of rows, on pages of a section."""
    wanted = {*forms}.union(*[lead.urls for lead in leads.values()])
    urls = {escape(url).encode(): url for url in wanted}
    pattern = rb"<url><loc>(%b)</loc>(.*)" % b"|".join(map(re.escape, urls))
    searched, listed = 0, set[str]()
    for page, document in _documents(name, [*leads], site):
        searched += 1
        for match in re.finditer(pattern, document):
            lastmod = _LASTMOD.search(match[2])
            entry = Listing(
                url=urls[match[1]],
                section=name,
                page=page.number,
                lastmod=lastmod[1].decode() if lastmod else "",
                object=page.object,
                published_at=page.published_at,
            )
            listed.add(entry.url)
            found.listings.append(entry)
    if searched == MAX_PAGES:
        found.notes.append(f"Only {MAX_PAGES} pages of section {name!r} were searched.")
    for lead in leads.values():
        if not listed.issuperset(lead.urls):
            lead.reasons = [_delay(name, site)]


def _documents(name: str, keys: list[Any], site: Site) -> Iterator[tuple[Page, bytes]]:
    """Yield the pages that own some keys, or the first of all, with their documents.

    Those of a section that is served live are rendered.
    """
    with reading(name, site) as source:
        reader = reader_of(source)
        space = reader.key_space() if keys else None
    if section := Section.objects.filter(site=site.name, name=name).planned().first():
        pages = section.pages.active().exclude(object="").order_by("number")
        if space is not None:
            pages = pages.filter(pk__in=locate(section, space, keys).pages)
        for page in pages[:MAX_PAGES]:
            yield page, read_document(page.object)
        return
    plan = live_plan(name, site)
    ranges = plan.ranges if plan else []
    numbers: Iterable[int] = range(min(len(ranges), MAX_PAGES))
    if space is not None and ranges:
        numbers = sorted({*owners(space, [it.low for it in ranges], keys)})
    for number in numbers:
        with reading(name, site):
            lines = "".join(reader.chunks(ranges[number], site, QuietTally(name)))
        yield Page(number=number + 1), lines.encode()


def _delay(name: str, site: Site) -> str:
    """Return why a row that is listed by now is on no page."""
    section = Section.objects.filter(site=site.name, name=name).first()
    if section is None:
        return "the section is too large to be served before it is built"
    if section.hold_reason:
        return f"the guard holds the section: {section.hold_reason}"
    dirty = section.pages.active().filter(is_dirty=1)
    if error := dirty.exclude(error="").values_list("error", flat=True).first():
        return f"its page could not be built: {error}"
    command = f"manage.py build_sitemaps {shlex.quote(name)}"
    if dirty.exists() or waiting_changes([name]):
        return f"it waits for a build: run {command}"
    return f"no change was recorded: run {command} --full"


def _where_it_leads(url: str, site: Site) -> str:
    if site_at(url, site) is None:
        return f"It is not on {site.origin}, and sitemaps list nothing else."
    with surroundings(site):
        try:
            [view, values] = match_of(url) or ("", {})
        except Resolver404:
            return "No URL pattern matches it."
    return f"It leads to the view {view!r} with {values}, and to no row of a section."


def _answer(delivery: Delivery) -> str:
    if delivery.state == Delivery.State.SENT:
        return f"it accepted it at {delivery.sent_at:%Y-%m-%d %H:%M:%S} UTC"
    if delivery.state == Delivery.State.DEAD:
        return f"it rejected it: {delivery.error}"
    words = f"it is asked next at {delivery.not_before:%Y-%m-%d %H:%M:%S} UTC"
    return f"{words}: {delivery.error}" if delivery.error else words
