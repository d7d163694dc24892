"""Splits: cut a page that has grown too large into several.

A split flips all its pages in one transaction and raises the section's
``plan_version``. They stay dirty once more: a change that was located by the old plan a
moment before is rendered after it.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from functools import partial

from django.utils import timezone

from django_sitemaps_plus.building import flip
from django_sitemaps_plus.building.guard import hold, must_wait
from django_sitemaps_plus.building.store import BuiltPage, Result, build_page
from django_sitemaps_plus.core.key_ranges import KeyRange, key_ranges, split_step
from django_sitemaps_plus.core.limits import LimitExceededError
from django_sitemaps_plus.exceptions import SourceError
from django_sitemaps_plus.models import Page, Section, State
from django_sitemaps_plus.models.base import atomic, retried
from django_sitemaps_plus.publishing.sync import show_when_committed
from django_sitemaps_plus.section import OpenSection
from django_sitemaps_plus.storage import deferred_flush

from .replan import add_pages, raise_plan_version


def split(page: Page, section: OpenSection) -> list[Result]:
    """Cut a claimed page that has grown too full, and publish its pieces.

    The first piece keeps the number. Nothing is returned where the claim was lost, or
    where the guard holds the page. A single row that is too large is a SourceError.
    """
    ways = split_ranges(page, section)
    while True:
        try:
            return _split_at(page, next(ways), section)
        except LimitExceededError:
            pass  # rows came in meanwhile, or they are large: smaller pieces


def split_ranges(page: Page, section: OpenSection) -> Iterator[list[KeyRange]]:
    """Yield ways to cut an overfull page, each into smaller pieces than the last."""
    bounds = KeyRange(page.low, page.high)
    with section.reading():
        reader = section.reader
        rows = reader.count(bounds)
    step = split_step(max(rows, 1), reader.rows_per_page, is_last=page.high is None)
    while step >= 1:
        with section.reading():
            keys = list(reader.first_keys(step, bounds))
        yield key_ranges(keys[1:], bounds.low, bounds.high)
        step //= 2
    raise SourceError(f"section {section.name!r}: one row alone fills more than a page")


@retried
def _split_at(page: Page, ranges: list[KeyRange], section: OpenSection) -> list[Result]:
    # Pieces are stored in the directory of the claimed page, which no prune touches,
    # and get their numbers from add_pages().
    pieces = [with_end(page, ranges[0].high)]
    for bounds in ranges[1:]:
        given = {"low": bounds.low, "high": bounds.high}
        pieces.append(Page(section=page.section, number=page.number, **given))
    with deferred_flush():  # ends here: pieces are pointed to before the batch
        made = [build_page(piece, section) for piece in pieces]
    whole = BuiltPage(
        entries=sum([new.entries for new in made]),
        skipped=sum([new.skipped for new in made]),
    )
    if must_wait(page, whole):
        with atomic():
            Section.objects.lock([page.section_id])
            hold([Result(page, whole)])
        return []

    flip.take_changes_meanwhile(page, section)
    now = timezone.now()
    with atomic():
        raise_plan_version(page.section)
        flip.read_announce([page])
        if page.state == State.RETIRED:
            return []  # a new plan, which has taken its place, owns its rows
        kept = (page.announce, page.is_edited)
        again = partial(flip.point, is_again=True, announce=kept[0], is_edited=kept[1])
        if not again(page, made[0], now, high=ranges[0].high):
            return []
        others = add_pages(page.section, ranges[1:], state=page.state)
        for other, new in zip(others, made[1:], strict=True):
            again(other, new, now)  # it has no token yet, and nobody else sees it
        flips = [flip.Flip(page, [page], made)]
        flip.add_totals(flips)
        flip.record_flips(flips)
        show_when_committed([page, *others])
    return list(map(Result, [page, *others], made))


def with_end(page: Page, high: str | None) -> Page:
    """Return a page as it would be with another end.

    The copy is compared with what the page has published: rows that came or went behind
    the end may have left its bytes as they were.
    """
    changed = copy(page)
    changed.high = high
    return changed
