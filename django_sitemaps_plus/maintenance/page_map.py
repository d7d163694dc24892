"""The map of the pages: those of a section, in the order of their key ranges."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from typing import Any, NamedTuple

from django.db import connections, models
from django.db.models import Case, Q, Value, When
from django.db.models.functions import Cast
from django.urls import NoReverseMatch
from django.utils.translation import gettext_lazy as _

from django_sitemaps_plus.conf import Site, get_settings
from django_sitemaps_plus.core.key_ranges import in_plan_order
from django_sitemaps_plus.exceptions import SitemapsPlusError
from django_sitemaps_plus.models import Hold, Page, State
from django_sitemaps_plus.models.clock import Now
from django_sitemaps_plus.models.page_claims import is_parked
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.rendering import reading
from django_sitemaps_plus.serving.live import live_plan
from django_sitemaps_plus.site_urls import page_url

from .problem_groups import shortened
from .prune import removed_sections

#: Characters of a key, of a hash and of an error that are shown, at most.
MAX_KEY, MAX_HASH, MAX_ERROR = 80, 12, 300

_COLUMNS = (
    *("low", "high", "number", "entries", "skipped", "lastmod", "plain_hash", "error"),
    *("state", "map_state", "rendered"),
)


class MapState(models.TextChoices):
    """How a page is; of several that are true, the last one of these counts."""

    LIVE = "live", _("served live")  # rendered on request: no build has made it
    FRESH = "fresh", _("fresh")
    DIRTY = "dirty", _("dirty")  # it is to be built
    BUILDING = "building", _("building")  # a builder is at work on it
    FAILED = "failed", _("failed")  # its last build did, or ended with its builder
    HELD = "held", _("held")  # by the guard


class MapPage(NamedTuple):
    """A page as the map shows it."""

    number: int
    state: str
    entries: int | None = None  # None of one that is served live
    skipped: int = 0
    lastmod: str = ""
    low: str | None = None  # the first 80 characters; None is infinity
    high: str | None = None
    hash: str = ""  # the first 12 digits
    rendered_at: str | None = None  # 2026-11-20 09:30:00, in UTC
    error: str = ""


@dataclass(slots=True)
class PageMap:
    """The pages of a section, in order."""

    limit: int = 1  # entries of a full page
    pages: list[MapPage] = field(default_factory=list)
    next_pages: int = 0  # of a plan that is being built
    is_live: bool = False
    fault: str = ""  # why pages that are served live are not known
    file_url: tuple[str, str] = ("", "")  # what is before and after a page's number


def section_names(site: Site) -> list[str]:
    """Return the sections of the site in force that are registered or have pages."""
    return sorted([*registry, *removed_sections(site)])


def read_map(section: str, site: Site) -> PageMap:
    """Return the pages of a section of the site in force, by one query."""
    rows = Page.objects.of(site.name, section).planned()
    # As text, since of thousands Django takes longer to make times than for all else.
    shown = {"map_state": _state(), "rendered": Cast("checked_at", models.CharField())}
    found = list(rows.annotate(**shown).values_list(*_COLUMNS, named=True))
    active = [row for row in found if row.state == State.ACTIVE]
    page_map = PageMap(next_pages=len(found) - len(active), is_live=not found)
    zone = connections[rows.db].timezone
    page_map.pages = [_as_page(row, zone) for row in _in_order(active)]
    if page_map.is_live:
        _read_live(page_map, section, site)
    page_map.limit = _limit(section, site, page_map.pages)
    with suppress(NoReverseMatch):
        before, _number, after = page_url(section, 1, site).rpartition("1")
        page_map.file_url = (before, after)
    return page_map


def _state() -> Case:
    # A token is compared first, since few pages have one and a time costs more.
    claimed = ~Q(token="") & Q(claimed_at__gte=Now() - get_settings().lease)
    failed = Q(is_dirty=1) & (is_parked() | ~Q(error=""))
    return Case(
        When(hold=Hold.HELD, then=Value(MapState.HELD.value)),
        When(failed, then=Value(MapState.FAILED.value)),
        When(claimed, then=Value(MapState.BUILDING.value)),
        When(is_dirty=1, then=Value(MapState.DIRTY.value)),
        default=Value(MapState.FRESH.value),
    )


def _in_order(rows: list[Any]) -> list[Any]:
    try:
        return in_plan_order(rows)
    except ValueError:  # a plan that is damaged is to be seen
        return sorted(rows, key=lambda row: row.number)


def _as_page(row: Any, zone: tzinfo | None) -> MapPage:
    return MapPage(
        row.number,
        row.map_state,
        row.entries,
        row.skipped,
        row.lastmod,
        _cut(row.low),
        _cut(row.high),
        row.plain_hash[:MAX_HASH],
        _in_utc(row.rendered, zone) if row.rendered else None,
        row.error[:MAX_ERROR],
    )


def _in_utc(text: str, zone: tzinfo | None) -> str:
    if zone is not UTC:  # else the text of every database is
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=zone)
        text = moment.astimezone(UTC).isoformat(" ")
    return text[:19]


def _cut(key: str | None) -> str | None:
    return key and shortened(key, MAX_KEY)


def _read_live(page_map: PageMap, section: str, site: Site) -> None:
    try:
        plan = live_plan(section, site)
    except SitemapsPlusError as error:
        page_map.fault = str(error)[:MAX_ERROR]
        return
    page_map.pages = [
        MapPage(number, MapState.LIVE.value, low=_cut(it.low), high=_cut(it.high))
        for number, it in enumerate(plan.ranges if plan else [], 1)
    ]


def _limit(section: str, site: Site, pages: Collection[MapPage]) -> int:
    # It may be code of the user.
    with suppress(SitemapsPlusError), reading(section, site) as source:
        return max(1, source.limit)
    return max([page.entries or 1 for page in pages], default=1)
