"""Splits and merges: pages whose key ranges change.

Each flips all its pages in one transaction and raises the section's ``plan_version``.
Pages stay dirty once more: a change that was located by the old plan a moment before
is rendered after it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from copy import copy
from functools import partial
from typing import Any

from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from django_sitemaps_plus.building.claims import claim_page, give_back, keep_claims
from django_sitemaps_plus.building.flip import (
    Result,
    hold,
    point,
    pointer,
    publish,
    read_announce,
)
from django_sitemaps_plus.building.guard import why_held
from django_sitemaps_plus.building.late import take_late_changes
from django_sitemaps_plus.building.sending import send_page_built
from django_sitemaps_plus.building.store import BuiltPage, build_page
from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.core.key_ranges import (
    KeyRange,
    key_ranges,
    may_merge,
    split_step,
)
from django_sitemaps_plus.core.limits import LimitExceededError
from django_sitemaps_plus.exceptions import SourceError
from django_sitemaps_plus.models import Page, Section, State, own_alias
from django_sitemaps_plus.models.transactions import atomic, lock, retried
from django_sitemaps_plus.publishing.sync import show_when_committed
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.sources import rendering
from django_sitemaps_plus.storage import deferred_flush
from django_sitemaps_plus.tracking.locating import raise_wanted

from .numbering import add_pages
from .replan import raise_plan_version

#: Pages whose neighbours alone are looked at.
FEW_PAGES = 100


def split(page: Page, site: Site) -> list[Result]:
    """Cut a claimed page that has grown too full, and publish its pieces.

    The first piece keeps the number.

    Args:
        page: as it was claimed.
        site: the site.

    Returns:
        The pages of the pieces; none where the claim was lost, or where the guard
            holds the page.

    Raises:
        SourceError: the source failed, or one row alone is too large.
        StoreError: the storage failed.
    """
    ways = split_ranges(page, site)
    while True:
        try:
            return _split_at(page, next(ways), site)
        except LimitExceededError:
            pass  # rows came in meanwhile, or they are large: smaller pieces


def split_ranges(page: Page, site: Site) -> Iterator[list[KeyRange]]:
    """Yield ways to cut an overfull page, each into smaller pieces than the last.

    Raises:
        SourceError: there is no other way.
    """
    source = registry.get(page.section.name)
    bounds = KeyRange(page.low, page.high)
    with rendering(site):
        rows = source.count(bounds, site)
    step = split_step(max(rows, 1), source.rows_per_page, is_last=page.high is None)
    while step >= 1:
        with rendering(site):
            keys = list(source.first_keys(step, site, bounds))
        yield key_ranges(keys[1:], bounds.low, bounds.high)
        step //= 2
    raise SourceError(
        f"section {page.section.name!r}: one row alone fills more than a page"
    )


@retried
def _split_at(page: Page, ranges: list[KeyRange], site: Site) -> list[Result]:
    built = _build_pieces(page, ranges, site)
    if _must_wait(page, built):
        return []
    take_late_changes(page, site)
    now = timezone.now()
    with atomic():
        raise_plan_version(page.section)
        read_announce([page])
        again = partial(point, is_again=True, announce=page.announce)
        if not again(page, built[0], now, high=ranges[0].high):
            return []
        others = add_pages(page.section, ranges[1:], state=page.state)
        for other, piece in zip(others, built[1:], strict=True):
            again(other, piece, now)
        publish([(page, [page], built)])
        show_when_committed([page, *others])
    return list(zip([page, *others], built, strict=True))


def _build_pieces(page: Page, ranges: list[KeyRange], site: Site) -> list[BuiltPage]:
    pieces = [
        _with_end(page, ranges[0].high),
        *[
            Page(section=page.section, number=page.number, low=r.low, high=r.high)
            for r in ranges[1:]
        ],
    ]
    with deferred_flush():  # of their own, since they are pointed to before the batch
        return [build_page(piece, site) for piece in pieces]


def _must_wait(page: Page, pieces: list[BuiltPage]) -> bool:
    """Return whether the guard holds the page, which then stays as it is.

    Each piece has fewer entries than the page had; what counts is their sum.
    """
    whole = BuiltPage(
        entries=sum([piece.entries for piece in pieces]),
        skipped=sum([piece.skipped for piece in pieces]),
    )
    if not why_held(page, whole):
        return False
    with atomic():
        lock([page.section_id])
        hold([(page, whole)])
    return True


def _with_end(page: Page, high: str | None) -> Page:
    """Return a page as it would be with another end.

    It is compared with what the page has published: rows that came or went behind the
    end may have left its bytes as they were.
    """
    changed = copy(page)
    changed.high = high
    return changed


def merge_small(section: Section, site: Site, built: Collection[int]) -> bool:
    """Merge pages with neighbours where both hold less than half of what a page may.

    Args:
        section: its row.
        site: the site.
        built: primary keys of pages that have been built. Others that would merge, as
            all do after the limit was raised, wait until they are.

    Returns:
        Whether pages are dirty again: what others were merged into, and those that have
        lost rows of which nobody knew.
    """
    merged: set[int] = set()
    pairs = _small_neighbours(section, frozenset(built))
    for pair in pairs:
        # What one was merged into is looked at again the next time.
        if merged.isdisjoint(pair) and _merge_pair(section, pair, site):
            merged.update(pair)
    return bool(pairs) and section.pages.claimable().exists()


def _small_neighbours(section: Section, built: frozenset[int]) -> list[tuple[int, int]]:
    """Return the keys of pages, two by two, for which one page would do.

    Of each two at least one has been built.
    """
    source = registry.get(section.name)
    if source.has_own_paging:
        return []  # a bound is the number of a page, so no range has two
    rows = _small_pages(section, built, source.limit // 2)
    by_low = {row[0]: row for row in rows}
    found = []
    for _, high, pk, entries, size in by_low.values():
        behind = None if high is None else by_low.get(high)
        if behind is None or built.isdisjoint((pk, behind[2])):
            continue
        _, _, other, more, more_size = behind
        if may_merge(entries + more, size + more_size, source.limit):
            found.append((pk, other))
    return found


def _small_pages(section: Section, built: frozenset[int], limit: int) -> Iterable[Any]:
    """Return bounds, key and sizes of pages of fewer entries.

    Where few have been built, only of those and their neighbours: all others may be
    small too, and this is asked each time one of them is rendered.
    """
    small = section.pages.filter(state=State.ACTIVE, built__gt=0, entries__lt=limit)
    if len(built) <= FEW_PAGES:
        bounds = list(small.filter(pk__in=built).values_list("low", "high"))
        lows = [low for low, _ in bounds if low is not None]
        highs = [high for _, high in bounds if high is not None]
        near = Q(pk__in=built) | Q(low__in=highs) | Q(high__in=lows)
        small = small.filter(near)
    rows = small.values_list("low", "high", "pk", "entries", "plain_size")
    return rows.order_by("pk")


def _merge_pair(section: Section, pair: tuple[int, int], site: Site) -> bool:
    active = section.pages.filter(state=State.ACTIVE).with_section()
    pages = active.in_bulk(pair)
    if len(pages) < len(pair):
        return False
    a, b = [pages[pk] for pk in pair]
    # One of them may have been cut since it was looked at.
    return a.high == b.low and _merge(a, b, site)


def _merge(a: Page, b: Page, site: Site) -> bool:
    if not claim_page(a):
        return False
    try:
        return claim_page(b) and _merge_claimed(a, b, site)
    except LimitExceededError:
        return False
    finally:
        give_back(a)
        give_back(b)


@retried
def _merge_claimed(a: Page, b: Page, site: Site) -> bool:
    with keep_claims([a, b]):
        built = build_page(_with_end(a, b.high), site)
    if _has_lost(built, a, b):
        # Not noticed so far. Each is built by itself, so that the guard looks at it.
        raise_wanted([a.pk, b.pk])
        return False
    now = timezone.now()
    with atomic():
        raise_plan_version(a.section)
        # One that has been merged into another meanwhile can be claimed still.
        active = Page.objects.filter(state=State.ACTIVE)
        kept = active.filter(pk=a.pk, token=a.token, built=a.built)
        gone = active.filter(pk=b.pk, token=b.token, built=b.built)
        fields = pointer(a, built, now)
        fields |= {"high": b.high, "wanted": F("wanted") + 1}
        retired = {"state": State.RETIRED, "retired_at": now}
        is_done = bool(kept.update(**fields) and gone.update(**retired))
        if is_done:
            publish([(a, [a, b], [built])])
            show_when_committed([a])
        else:
            transaction.set_rollback(True, using=own_alias())
    if is_done and built.is_new:
        send_page_built(a, built.entries, site)
    return is_done


def _has_lost(built: BuiltPage, *pages: Page) -> bool:
    """Return whether one page would list fewer rows, or leave out more, than all."""
    entries, skipped = sum(p.entries for p in pages), sum(p.skipped for p in pages)
    return built.entries < entries or built.skipped > skipped
