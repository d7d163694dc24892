"""Live pages and indexes: render them on request, and keep them for a while."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import partial
from inspect import getattr_static
from typing import Any

from django.conf import settings
from django.db import Error
from django.utils import timezone

from django_sitemaps_plus import planning
from django_sitemaps_plus.cache import first_to, forget, recall, remember
from django_sitemaps_plus.conf import Site, get_settings
from django_sitemaps_plus.core.dates import parse_w3c
from django_sitemaps_plus.core.documents import render_index
from django_sitemaps_plus.core.gzip import Document, write_document
from django_sitemaps_plus.core.key_ranges import KeyRange
from django_sitemaps_plus.core.limits import LimitExceededError
from django_sitemaps_plus.exceptions import BuildError, SourceError, StalePlanError
from django_sitemaps_plus.models import INDEX, Page
from django_sitemaps_plus.models.pages import listed_pages
from django_sitemaps_plus.outages import in_one_line, is_outage
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.rendering import render_page
from django_sitemaps_plus.section import OpenSection, open_section
from django_sitemaps_plus.site_urls import index_lines, stylesheet_url
from django_sitemaps_plus.sites import get_site
from django_sitemaps_plus.sources import surroundings
from django_sitemaps_plus.sources.dates import lastmod_text

from .single_flight import SingleFlight, patience

logger = logging.getLogger(__name__)

#: Gzipped bytes of a page above which it is not kept.
MAX_BYTES = 1_000_000

#: Seconds for which it is kept how many rows of a section fit on a page.
STEP_SECONDS = 7 * 24 * 3_600

#: Seconds between two plans of a section that are made because a page is empty.
EMPTY_SECONDS = 60

#: How long a page counts as unavailable after the last request that met an error; and
#: how long nobody knows better, where no other request was made.
FAULT_AGE, DOUBT_AGE = timedelta(minutes=5), timedelta(days=1)

#: Pages of a site of which that is known at once.
MAX_FAULTS = 100

_TOO_LARGE = (
    "section %r has too many rows to be served live (LIVE_MAX_ROWS), so it is left out "
    "until it is built"
)
_EMPTY = "it is listed, but each of its rows is left out"

# To be raised when Plan, Document or LiveFault changes: while a release is rolled out,
# the old one and the new one share a cache.
_FORMAT = 2


@dataclass(frozen=True, slots=True)
class LiveFault:
    """An error that a request for a live page has met."""

    number: int  # of the page; 0 for the plan of its section
    words: str
    since: datetime  # of the first request of those that met one
    at: datetime  # of the last

    @property
    def is_recent(self) -> bool:
        """Whether it is most likely so still; an index may be kept that has it."""
        kept = timedelta(seconds=get_settings().live_cache)
        return self.at > timezone.now() - FAULT_AGE - kept


def live_index(number: int, row: Page | None) -> Document | None:
    """Return an index as its pages are now; None where it would list none.

    A kept index is rendered anew once a page is published.

    Raises:
        SourceError, DatabaseError: rows of a source, or ours, could not be read.
    """
    site = get_site()

    def render() -> Document | None:
        registry.must_be_whole()
        try:
            listed, planned = listed_pages(site.name, registry, number, is_live=True)
        except Error as error:
            if row is not None or is_outage(error):
                raise
            listed, planned = {}, set()  # our tables may not exist yet
        # Sections without a plan are listed in the first index, by their live plans;
        # all of them share what is waited for, found and set.
        with patience(), planning.sharing(), surroundings(site):
            faults = _known_faults(site)
            for name in registry if not number else ():
                if name not in listed and name not in planned:
                    section = open_section(name)
                    with noted(section, 0, faults) as met:
                        plan = live_plan(section)
                        if plan and not plan.ranges:
                            words = _TOO_LARGE % section.name
                            met.append(f"{words}. {planning.remedy_of_size(section)}")
                    pages = len(plan.ranges) if plan else 0
                    lastmod = _lastmod(section) if pages == 1 else ""
                    listed[name] = [(name, n + 1, lastmod) for n in range(pages)]
        lines = index_lines(site, listed)
        pieces = render_index(lines, stylesheet_url(site))
        return write_document(pieces) if lines else None

    version = None if row is None else row.wanted
    key = cache_key("page", INDEX, number, site, list(registry), version)
    return shared(key, render)


def live_page(section: str, number: int, row: Page | None) -> Document | None:
    """Return a page as its source is now; None where it would have no entries.

    Without a row it is a page of the live plan.

    Raises:
        SourceError: the source could not be read.
        BuildError: only a build can split the page.
    """
    opened = open_section(section)

    def render() -> Document | None:
        with noted(opened, number) as met:
            if row is None:
                document = _render_unplanned(opened, number)
                plan = live_plan(opened) if document is None else None
                if plan and number <= len(plan.ranges):
                    met.append(_EMPTY)
                return document
            try:
                # Rows may have come in since, and only a build splits the page.
                bounds = KeyRange(row.low, row.high)
                return render_page(opened, bounds, is_roomy=True).document
            except (LimitExceededError, StalePlanError) as error:
                words = f"section {section!r} awaits a build: {error}"
                raise BuildError(words) from error

    # A copy from before a publication would be older than what was published.
    published = None if row is None else row.object
    key = cache_key("page", section, number, opened.site, opened.source, published)
    return shared(key, render)


def live_faults(site: Site) -> dict[str, LiveFault]:
    """Return what requests for live pages have met lately: of each section, the first.

    Where processes share no cache, only what those of this process have met.
    """
    found: dict[str, LiveFault] = {}
    faults = _known_faults(site).items()
    for (name, _number), fault in sorted(
        faults, key=lambda it: (not it[1].is_recent, it[0])
    ):
        found.setdefault(name, fault)
    return found


@contextmanager
def noted(
    section: OpenSection, number: int, known: Container[Any] | None = None
) -> Iterator[list[str]]:
    """Note in the cache that a page cannot be rendered, or that it can be again.

    Number 0 stands for the plan of a section. The list takes what keeps a page from
    crawlers without an error. Pages that have a fault may be given.
    """
    site, key, met = section.site, (section.name, number), list[str]()
    try:
        yield met
    except BuildError as error:
        _note(section, number, in_one_line(error))
        raise
    if met:
        _note(section, number, met[0])
    elif known is not None and key not in known:
        return
    elif (faults := _known_faults(site)).pop(key, None):
        remember(_fault_key(site), faults, int(DOUBT_AGE.total_seconds()))


def _note(section: OpenSection, number: int, words: str) -> None:
    site, key = section.site, (section.name, number)
    faults, now = _known_faults(site), timezone.now()
    since = faults[key].since if key in faults else now
    if key in faults or len(faults) < MAX_FAULTS:
        faults[key] = LiveFault(number, words, since, now)
        remember(_fault_key(site), faults, int(DOUBT_AGE.total_seconds()))


def _known_faults(site: Site) -> dict[tuple[str, int], LiveFault]:
    oldest, found = timezone.now() - DOUBT_AGE, recall(_fault_key(site), dict) or {}
    faults = {key: it for key, it in found.items() if isinstance(it, LiveFault)}
    return {key: it for key, it in faults.items() if it.at > oldest}


def _fault_key(site: Site) -> str:
    # Moments with and without a zone cannot be compared.
    return cache_key("faults", site, settings.USE_TZ)


def live_plan(section: OpenSection) -> planning.Plan | None:
    """Return the plan by which a section is served while it is not built.

    None for a section without rows. A section of more than LIVE_MAX_ROWS rows has no
    ranges: it is absent until it is built.
    """
    key, configured = _plan_key(section), get_settings()

    def make() -> planning.Plan | None:
        limit, known = configured.live_max_rows, recall(f"{key}:step", planning.Plan)
        plan = planning.bounded_plan(section, limit, known.step if known else None)
        if plan is None:
            logger.error(
                "Section %r has more than %s rows (LIVE_MAX_ROWS) and is not built, so "
                "it is left out. %s",
                section.name,
                limit,
                planning.remedy_of_size(section),
                extra={"action": "section_too_large", "section": section.name},
            )
            return planning.Plan([], 0)  # kept, so that the rows are not counted again
        return plan if plan.ranges else None

    return SingleFlight(key, planning.Plan, configured.plan_seconds, make).value()


def newer_plan(
    key: str, plan: planning.Plan, make: Callable[[], planning.Plan | None]
) -> planning.Plan | None:
    """Return another plan than one of which a page is empty; None if there is none.

    Rows may be under other keys by now, so the plan is made anew, though only once in
    EMPTY_SECONDS: a page of bad rows alone stays empty.
    """
    if first_to(f"{key}:empty", EMPTY_SECONDS):
        forget(key)
    newer = make()
    return None if newer == plan else newer


def shared(
    key: str, render: Callable[[], Document | None], seconds: int | None = None
) -> Document | None:
    """Return what is kept, for LIVE_CACHE_SECONDS or these, or render it once."""
    if seconds is None:
        seconds = get_settings().live_cache

    def is_small(document: Document) -> bool:
        return document.gzip_size < MAX_BYTES

    return SingleFlight(key, Document, seconds, render, is_small).value()


def cache_key(kind: str, *parts: object) -> str:
    """Return the name in the cache of what these parts decide."""
    # A digest, since caches refuse keys with spaces, as a name may have.
    digest = hashlib.sha256(repr((_FORMAT, *parts)).encode()).hexdigest()
    return f"{kind}:{digest[:32]}"


def _plan_key(section: OpenSection) -> str:
    source = section.source
    limit, configured = getattr_static(source, "limit", None), get_settings()
    if not isinstance(limit, int):  # code of the user
        with section.reading():
            limit = source.limit
    limits = (limit, configured.live_max_rows, configured.historic_limits)
    return cache_key("plan", section.name, section.site, source, limits)


def _lastmod(section: OpenSection) -> str:
    """Return the latest lastmod of a section where one query gives it, else "".

    A lastmod that a kept page may lack does not count, or a crawler that has read this
    page would not read it again.
    """
    seconds = get_settings().live_cache
    until = datetime.now(UTC) - timedelta(seconds=seconds)
    text = ""
    with optional_lastmod(), section.reading():
        reader, source = section.planned_by or section.reader, section.source
        find = partial(reader.latest_lastmod, until)
        if name := getattr(source, "lastmod", None):  # a class of contrib has none
            latest = planning.found_once(reader, ("lastmod", name), find)
        else:
            latest = find()
        text = lastmod_text(latest) if isinstance(latest, date) else ""
    return text if text and parse_w3c(text) <= until else ""


@contextmanager
def optional_lastmod() -> Iterator[None]:
    """Log what a source raises, which costs an index one lastmod."""
    try:
        yield
    except SourceError as error:
        logger.warning("No lastmod: %s", error, extra={"action": "lastmod_failed"})


def _render_unplanned(section: OpenSection, number: int) -> Document | None:
    """Render a page of a live plan, which another plan would take from its index.

    A page that is too full for any sitemap makes another all the same: first with as
    many rows a page, since rows have come in; then with half as many. So may an empty
    one.
    """
    plan, may_be_old = live_plan(section), True
    step = plan.step if plan else 0
    while plan and number <= len(plan.ranges):
        bounds = plan.ranges[number - 1]
        try:
            document = render_page(section, bounds, is_roomy=True).document
        except (LimitExceededError, StalePlanError) as error:
            if step < 1:
                name, words = section.name, "one row alone fills more than a page"
                raise SourceError(f"section {name!r}: {words}") from error
            plan, may_be_old = planning.first_plan(section, step), False
            key, seconds = _plan_key(section), get_settings().plan_seconds
            remember(key, plan, seconds)
            # The next plan would else list too few pages until one does not fit.
            remember(f"{key}:step", planning.Plan([], step), STEP_SECONDS)
            step //= 2
            continue
        if document is not None or not may_be_old:
            return document
        make, may_be_old = partial(live_plan, section), False
        plan = newer_plan(_plan_key(section), plan, make)
    return None
