"""A section: its last 30 days, its pages, and what these list and leave out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from html import unescape
from itertools import islice
from time import monotonic
from typing import TypeAlias
from urllib.parse import unquote

from django.db.models import Case, F, Q, TextChoices, Value, When
from django.utils import timezone
from django.utils.encoding import uri_to_iri
from django.utils.translation import gettext_lazy as _

from django_sitemaps_plus.cache import recall, remember
from django_sitemaps_plus.conf import Site, get_settings
from django_sitemaps_plus.core.entry_lines import entries_in
from django_sitemaps_plus.core.gzip import inflate
from django_sitemaps_plus.core.key_ranges import KeyRange
from django_sitemaps_plus.core.limits import LimitExceededError
from django_sitemaps_plus.exceptions import (
    BuildError,
    ConfigurationError,
    SitemapsPlusError,
)
from django_sitemaps_plus.models import (
    INDEX,
    Figure,
    Hold,
    Page,
    PageQuerySet,
    Section,
    State,
)
from django_sitemaps_plus.models.claims import is_parked
from django_sitemaps_plus.models.clock import Now
from django_sitemaps_plus.models.figures import KEPT, FigureQuerySet
from django_sitemaps_plus.models.pages import noted_pages
from django_sitemaps_plus.models.sections import check_origin, hold_words
from django_sitemaps_plus.planning import first_plan
from django_sitemaps_plus.rendering import render_page
from django_sitemaps_plus.section import open_section
from django_sitemaps_plus.serving.live import cache_key, live_plan
from django_sitemaps_plus.sources import Tally
from django_sitemaps_plus.storage import read_document

#: Pages that are read at once.
AT_ONCE = 100

#: Seconds for which trends of all sections are kept.
TRENDS_SECONDS = 600

#: Pages that a search looks through, its seconds, and the entries that it returns.
MAX_PAGES, MAX_SECONDS, MAX_FOUND = 100, 2, 100

#: URLs and lastmods of entries.
Entries: TypeAlias = Iterator[tuple[str, str]]

#: Returns a page as XML, "" without entries, and None where it cannot be read now.
Read: TypeAlias = Callable[[int], str | None]


class PageState(TextChoices):
    """How a page is, in words for people."""

    LIVE = "live", _("served live")  # rendered on request: no build has made it
    FRESH = "fresh", _("up to date")
    DIRTY = "dirty", _("to build")
    BUILDING = "building", _("being built")
    LOST = "lost", _("its file is missing or damaged")
    FAILED = "failed", _("failed, is tried again")
    PARKED = "parked"  # gave up after many attempts; it is tried again rarely
    HELD = "held", _("waiting for your approval")  # the guard holds it


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionPage:
    """A page as its section lists it."""

    number: int
    state: PageState
    low: str | None  # the first key of its range; None where it has no lower bound
    entries: int | None = None  # None of one that is served live
    skipped: int = 0
    dropped: int = 0
    lastmod: str = ""
    rendered_at: datetime | None = None
    published_at: datetime | None = None
    error: str = ""  # of the last attempt
    attempts: int = 0


@dataclass(slots=True, kw_only=True)
class SectionPages:
    """Some pages of a section, and where there are others."""

    pages: Sequence[SectionPage] = ()
    is_first: bool = True  # whether none comes before these
    previous: int | None = None  # the number to begin with; None for the first page
    following: int | None = None  # the same; None where these are the last
    has_next_plan: bool = False  # a new plan is being built
    is_live: bool = False
    fault: str = ""  # why it could not be built, or pages served live are not known
    held: str = ""  # why it waits for an approval
    refused: str = ""  # why crawlers get none of them


def read_pages(section: str, site: Site, number: int | None = None) -> SectionPages:
    """Return pages of a section of the site in force, from one of them on.

    Without a number, or where no page has it, they are the first. By six queries, each
    of which reads few rows however many pages there are: no index has bounds without a
    number, so pages are in the order of their own numbers there.
    """
    # Read the section first: PostgreSQL takes one that it does not know for small, and
    # sorts all pages.
    own = Section.objects.with_plan(site=site.name, name=section)
    active = Page.objects.filter(section__in=own).active()
    others = active.filter(low_number=None).exclude(low=None)
    has_text = others.exists()
    key = "number" if has_text else "low_number"
    ordered = active.filter(**{f"{key}__isnull": False}).order_by(key, "pk")
    start = None
    if number is not None:
        start = ordered.filter(number=number).values_list(key, "pk").first()

    found = SectionPages()
    for row in own:
        found.has_next_plan, found.fault = row.has_next, row.fault
        found.held = hold_words(row.hold_reason, row.hold_numbers)
        try:
            check_origin(row.origin, site)
        except ConfigurationError as error:
            found.refused = str(error)
    if start is None:
        rows = _shown(ordered)
        if not has_text:  # the page without a lower bound has no place in the order
            rows = [*_shown(active.filter(low=None, low_number=None)), *rows]
    else:
        low, first = start  # several UUIDs may have one number
        behind = ordered.filter(**{f"{key}__gte": low})
        rows = _shown(behind.exclude(**{key: low}, pk__lt=first))
        before = ordered.filter(**{f"{key}__lte": low}).reverse()
        before = before.exclude(**{key: low}, pk__gte=first)
        numbers = [*before.values_list("number", flat=True)[: AT_ONCE + 1]]
        found.is_first = has_text and not numbers
        if len(numbers) >= AT_ONCE + has_text:
            found.previous = numbers[AT_ONCE - 1]
    if not rows and not found.has_next_plan:
        found.is_live = True
        rows = _live_pages(found, section, site, number)

    found.pages = rows[:AT_ONCE]
    if len(rows) > AT_ONCE:
        found.following = rows[AT_ONCE].number
    return found


def _shown(pages: PageQuerySet) -> list[SectionPage]:
    """Return the first of pages, and one more."""
    dirty = Q(is_dirty=1)
    # A token is compared first, since few pages have one and a time costs more.
    claimed = ~Q(token="") & Q(claimed_at__gte=Now() - get_settings().lease)
    state = Case(  # the first that is true
        When(hold=Hold.HELD, then=Value(PageState.HELD.value)),
        When(dirty & is_parked(), then=Value(PageState.PARKED.value)),
        When(dirty & ~Q(error=""), then=Value(PageState.FAILED.value)),
        When(claimed, then=Value(PageState.BUILDING.value)),
        When(dirty, then=Value(PageState.DIRTY.value)),
        default=Value(PageState.FRESH.value),
    )
    counts = ("entries", "skipped", "dropped", "attempts")
    columns = ("number", "low", "lastmod", "error", "published_at", *counts)
    others = {"rendered_at": F("checked_at"), "now": state}
    found, noted = list[SectionPage](), noted_pages()
    for row in pages.values("pk", *columns, **others)[: AT_ONCE + 1]:
        now, since = PageState(row.pop("now")), noted.get(row.pop("pk"))
        is_mended = since is None or (
            row["rendered_at"] and row["rendered_at"] >= since
        )
        if not is_mended and now in (PageState.FRESH, PageState.DIRTY):
            now = PageState.LOST
        found.append(SectionPage(state=now, **row))
    return found


def _live_pages(
    found: SectionPages, section: str, site: Site, number: int | None
) -> list[SectionPage]:
    """Return the pages of the live plan, as those of a built one."""
    try:
        plan = live_plan(open_section(section, site))
    except SitemapsPlusError as error:
        found.fault = str(error)
        return []
    ranges = plan.ranges if plan else []
    first = number if number and number <= len(ranges) else 1
    found.is_first = first == 1
    found.previous = first - AT_ONCE if first > AT_ONCE + 1 else None
    shown = ranges[first - 1 : first + AT_ONCE]
    return [
        SectionPage(number=at, state=PageState.LIVE, low=it.low)
        for at, it in enumerate(shown, first)
    ]


def page_numbers(section: str, site: Site) -> Sequence[int]:
    """Return the numbers of the pages that are served, or SitemapsPlusError."""
    planned = Page.objects.of(site.name, section).exclude(state=State.RETIRED)
    rows = [*planned.order_by("number").values_list("number", "state")]
    if rows:
        return [number for number, state in rows if state != State.NEXT]
    plan = live_plan(open_section(section, site))
    return range(1, len(plan.ranges) + 1) if plan else ()


def entries_with(word: str, text: str) -> Entries:
    """Yield URL and lastmod of the entries whose URL, encoded or not, has a word."""
    word = word.casefold()
    for escaped, lastmod, _rest in entries_in(text):
        url = unescape(escaped)
        if word in url.casefold() or word in unquote(url).casefold():
            yield url, lastmod


@dataclass(slots=True)
class Search:
    """The entries of a section that have a word in their URL, as far as it looked."""

    pages: int  # of the section
    looked: int = 0  # through so many of them
    unread: int = 0  # so many of these could not be read
    is_cut: bool = False  # there may be more on the pages that it looked through
    found: list[tuple[int, str, str]] = field(default_factory=list)  # page, URL, date


def search(word: str, numbers: Sequence[int], read: Read) -> Search:
    """Look for a word in the URLs of pages, one page after another.

    The search ends after MAX_PAGES, with the page at which MAX_SECONDS are over, or
    once MAX_FOUND entries are found. Their URLs are decoded for people.
    """

    def having(number: int) -> Entries | None:
        text = read(number)
        return None if text is None else entries_with(word, text)

    pages = ((number, having(number)) for number in numbers[:MAX_PAGES])
    return _searched(len(numbers), pages)


def losing(section: str, site: Site) -> Search:
    """Find the entries that pages list which the guard holds, and their rows do not.

    Within the limits of a search.
    """
    held = Page.objects.of(site.name, section).filter(hold=Hold.HELD)
    opened = open_section(section, site)

    def lost(row: Page) -> Entries | None:
        try:
            bounds, old = KeyRange(row.low, row.high), read_document(row.object)
            document = render_page(opened, bounds, is_roomy=True).document
        except (SitemapsPlusError, LimitExceededError):
            return None
        new = inflate(document.gzip) if document else b""
        kept = {escaped for escaped, *_others in entries_in(new.decode())}
        entries = entries_in(old.decode())
        return ((unescape(it), date) for it, date, _rest in entries if it not in kept)

    rows = held.order_by("number")[:MAX_PAGES]
    return _searched(held.count(), ((row.number, lost(row)) for row in rows))


def _searched(count: int, pages: Iterable[tuple[int, Entries | None]]) -> Search:
    """Take the entries of pages up to the limits; None of one that cannot be read."""
    until, result = monotonic() + MAX_SECONDS, Search(count)
    for number, entries in pages:
        result.looked += 1
        result.unread += entries is None
        for url, lastmod in entries or ():
            result.is_cut = len(result.found) == MAX_FOUND
            if result.is_cut:
                return result
            result.found.append((number, uri_to_iri(url), lastmod))
        if monotonic() >= until:
            break
    return result


def read_history(section: str, site: Site) -> dict[str, list[float | None]]:
    """Return what builds of a section came to by each of the last 30 days, by kind."""
    rows = Figure.objects.filter(name=section, kind__in=Figure.STATES)
    known = {kind: values for (_name, kind), values in _by_day(rows, site).items()}
    return {it: known.get(it, [None] * KEPT.days) for it in Figure.STATES}


def read_trends(site: Site) -> dict[str, list[float | None]]:
    """Return the entries of each section by each of the last 30 days.

    By one query for what each build has recorded, at most every ten minutes.
    """
    key = cache_key("trends", site)
    trends: dict[str, list[float | None]] | None = recall(key, dict)
    if trends is None:
        rows = Figure.objects.filter(kind=Figure.Kind.ENTRIES)
        trends = {name: values for (name, _kind), values in _by_day(rows, site).items()}
        remember(key, trends, TRENDS_SECONDS)
    return trends


def read_audits(site: Site) -> list[float | None]:
    """Return the findings of the last audit by each of the last 30 days."""
    rows = Figure.objects.filter(name=INDEX, kind=Figure.Kind.FINDINGS)
    return next(iter(_by_day(rows, site).values()), [])


def last_days() -> list[date]:
    """Return the days whose figures are kept, the oldest first."""
    today = _day(timezone.now())
    return [today - timedelta(days=ago) for ago in reversed(range(KEPT.days))]


def _by_day(
    rows: FigureQuerySet, site: Site
) -> dict[tuple[str, str], list[float | None]]:
    """Return states of a site by name and kind: a value for each day, if known."""
    found, days = dict[tuple[str, str], list[float | None]](), last_days()
    rows = rows.since(timezone.now() - KEPT).filter(site=site.name).order_by("hour")
    for name, kind, hour, value in rows.values_list("name", "kind", "hour", "value"):
        series = found.setdefault((name, kind), [None] * len(days))
        # The first hours are of the day before; another clock may be ahead.
        at = max(0, min((_day(hour) - days[0]).days, len(days) - 1))
        series[at:] = [value] * (len(days) - at)
    return found


def _day(moment: datetime) -> date:
    # Without USE_TZ there are no zones.
    return moment.date() if timezone.is_naive(moment) else timezone.localdate(moment)


def preview(
    section: str, number: int, limit: int, site: Site
) -> tuple[list[str], Tally]:
    """Render the first entries of a page; neither a row nor a file is written.

    The tally is of all rows that are read for them, in batches of some hundred.

    Raises:
        NotRegistered: there is no such section.
        BuildError: there is no such page, or the source could not be read.
    """
    opened, tally = open_section(section, site), Tally(section)
    row = Page.objects.served(site.name, section, number)
    if row is not None:
        bounds = KeyRange(row.low, row.high)
    else:  # by the plan that a build would make if none has
        pages = Page.objects.of(site.name, section)
        count = pages.exclude(state=State.NEXT).count()
        ranges = [] if count else first_plan(opened).ranges
        if number > len(ranges):
            count = count or len(ranges)
            words = f"section {section!r} has no page {number}: it has {count}"
            raise BuildError(words)
        bounds = ranges[number - 1]
    with opened.reading():
        chunks = opened.reader.chunks(bounds, tally)
        lines = (line for chunk in chunks for line in chunk.splitlines())
        return list(islice(lines, limit)), tally
