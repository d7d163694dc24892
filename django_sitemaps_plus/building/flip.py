"""Flips: point pages to their new objects, in one short transaction."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db import connections
from django.utils import timezone

from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.core.dates import parse_w3c, w3c
from django_sitemaps_plus.models import (
    INDEX,
    Page,
    Publication,
    Section,
    State,
    has_subscribers,
    own_alias,
)
from django_sitemaps_plus.models.base import atomic, retried
from django_sitemaps_plus.models.clock import Now
from django_sitemaps_plus.models.sections import SUMS, TOTALS
from django_sitemaps_plus.publishing.sync import show_when_committed
from django_sitemaps_plus.section import OpenSection
from django_sitemaps_plus.signals import page_built
from django_sitemaps_plus.site_urls import page_url
from django_sitemaps_plus.sites import get_site
from django_sitemaps_plus.tracking.collecting import take_changes

from .guard import eroding, hold, must_wait
from .store import BuiltPage, Result

# Fields that a pointer takes over as they were built.
_TAKEN_OVER = (
    *("object", "entries", "skipped", "dropped"),
    *("plain_size", "gzip_size", "plain_hash", "gzip_hash"),
)


@retried
def flip(results: Sequence[Result]) -> list[Result]:
    """Point pages to what was built for them; return those that are published.

    A page whose claim has been taken over, or that a newer build has flipped, is left
    as it is; so is one that the guard holds.
    """
    now = timezone.now()
    results = sorted(results, key=lambda result: result.page.pk)
    held = [result for result in results if must_wait(*result)]
    with atomic():
        # Splits change the ranges of pages; an index has none.
        Section.objects.lock(
            [page.section_id for page, _ in results if page.section.name != INDEX]
        )
        held += eroding([it for it in results if it not in held])
        if held:
            hold(held)
        free = [result for result in results if result not in held]
        read_announce([result.page for result in free])
        done = [result for result in free if point(*result, now)]
        add_totals([Flip(page, [page], [new]) for page, new in done])
        # A page that is empty when it is first built leaves the index, though no bytes
        # of it have changed.
        changed = [it for it in done if it.new.is_changed or not it.page.built]
        record_flips([Flip(page, [page], [new]) for page, new in changed])
        # Pages that were stored again show the new object, not the damaged one.
        shown = [it.page for it in done if it.new.is_stored or it in changed]
        show_when_committed(shown)
    return done


def point(
    page: Page,
    new: BuiltPage,
    now: datetime,
    *,
    is_again: bool = False,
    **others: object,
) -> bool:
    """Set the pointer of one claimed page, inside a transaction of the caller's.

    The token is the fence: a builder that lost its claim changes nothing; nor does one
    that read the page before another flip. ``is_again`` has the page built once more.
    The other fields get another value than usual.
    """
    # Reset this for the next change. A new plan is announced as a whole.
    fields = {**pointer(page, new, now), "announce": page.state != State.NEXT}
    # A prepared query does not know what the field binds.
    problems: Any = Page._meta.get_field("problems")
    connection = connections[own_alias()]
    fields["problems"] = problems.get_db_prep_save(fields["problems"], connection)
    pointed = Page.objects.flipped(
        page.low is None,
        page.high is None,
        is_again,
        page=page.pk,
        token=page.token,
        version=page.wanted,
        known=page.built,
        first=page.low,
        end=page.high,
        **{**fields, **others},
    )
    return bool(pointed)


def read_announce(pages: Sequence[Page]) -> None:
    """Reload what is to be announced, and since when: a change may have come in.

    The state is reloaded too: a next plan may have taken the place of the old one.
    """
    # Indexes are never announced.
    keys = [page.pk for page in pages if page.section.name != INDEX]
    rows = Page.objects.announcements(pages=keys)
    known = {pk: values for pk, *values in rows}
    for page in pages:
        if page.pk in known:
            page.announce, page.is_edited, page.changed_at, page.state = known[page.pk]


def pointer(page: Page, new: BuiltPage, now: datetime) -> dict[str, Any]:
    """Return the fields that say what a page serves."""
    fields: dict[str, Any] = {name: getattr(new, name) for name in _TAKEN_OVER}
    fields["problems"] = [asdict(problem) for problem in new.problems]

    published_at = page.published_at
    fields["previous_object"] = page.previous_object
    # Prune goes by the age of a file. An object that was shown for longer than the
    # grace is old as soon as it is replaced, so the row names it while readers may
    # still open it; its age protects a younger one.
    is_old = published_at is not None and published_at <= now - get_settings().grace
    if is_old and new.object != page.object:
        fields["previous_object"] = page.object

    if new.is_changed:
        # Clocks differ and may be set back: other bytes must never have a Last-Modified
        # that a client has seen, nor an earlier one.
        fields["published_at"] = now
        if published_at is not None:
            next_second = published_at.replace(microsecond=0) + timedelta(seconds=1)
            fields["published_at"] = max(now, next_second)
        fields["lastmod"] = _lastmod(page, new.newest, now)
    return fields


def _lastmod(page: Page, newest: str, now: datetime) -> str:
    """Return what the index says of a page whose bytes have changed.

    That is the newest lastmod of the entries where it rose, else the time at which the
    change was noticed; nothing at first for a page without dates. Lastmods never fall,
    and other bytes have another: of two versions within a second, or by a clock that
    is behind, the second is a second later.
    """
    if timezone.is_naive(now):  # USE_TZ = False
        now = timezone.make_aware(now, timezone.get_default_timezone())
    present = w3c(now)
    # W3C text in UTC sorts by time.
    moment = min(w3c(parse_w3c(newest)), present) if newest else ""
    if moment > page.lastmod or not (page.lastmod or page.plain_hash):
        return moment
    if not page.lastmod:
        return present
    return max(present, w3c(parse_w3c(page.lastmod) + timedelta(seconds=1)))


class Flip(NamedTuple):
    """A page that stands for the rest, the pages before, and what took their place."""

    page: Page
    before: Sequence[Page]
    after: Sequence[Page | BuiltPage]


def add_totals(flips: Sequence[Flip]) -> None:
    """Add what flips change to the totals of their sections, which are locked."""
    totals: defaultdict[int, Counter[str]] = defaultdict(Counter)
    published = set()
    for page, before, after in flips:
        if page.section.name == INDEX:
            continue
        added = totals[page.section_id]
        added["planned"] += len(after) - len(before)
        if page.state != State.ACTIVE:
            continue
        for row in after:
            added.update(_counted(row))
        for row in before:
            added.subtract(_counted(row))
        if any([isinstance(it, BuiltPage) and it.is_changed for it in after]):
            published.add(page.section_id)
    for section, added in totals.items():
        if any(added.values()) or section in published:
            numbers = {name: added[name] for name in TOTALS}
            Section.objects.add(section in published, section=section, **numbers)


def _counted(page: Page | BuiltPage) -> dict[str, int]:
    sums = {name: getattr(page, name) for name in SUMS}
    return {"listed_pages": int(page.entries > 0), **sums}


def record_flips(flips: Sequence[Flip]) -> None:
    """Record what a transaction flips: for the index, and as publications.

    A page of the next plan is not served yet. That plan is noted as a whole, when it
    takes the place of the old one.
    """
    flips = [it for it in flips if it.page.section.name != INDEX]
    if not flips:
        return
    if has_subscribers():
        publications = [
            Publication(
                section=page.section,
                old=[old.object for old in before if old.object],
                new=[new.object for new in after if new.object],
                announce=page.announce or page.is_edited,
                moves_only=not page.announce,
                at=page.changed_at or Now(),
            )
            for page, before, after in flips
            if page.state != State.NEXT
        ]
        Publication.objects.bulk_create([p for p in publications if p.old or p.new])
    # Last, since every builder waits here for every other.
    Page.objects.mark_indexes(site=flips[0].page.section.site)


def send_page_built(page: Page, entries: int) -> None:
    """Send the signal that a page of a section is served with new bytes."""
    if page.section.name != INDEX and page_built.has_listeners():
        page_built.send_robust(
            sender=Page,
            section=page.section.name,
            number=page.number,
            entries=entries,
            url=page_url(page.section.name, page.number, get_site()),
        )


def take_changes_meanwhile(page: Page, section: OpenSection) -> None:
    """Take changes before the flip of a page that a deploy marked, and no edit did.

    That page is not announced. An edit that is in its bytes already would leave them
    as they are when the next build takes it, so that no engine would ever be notified.
    """
    # A first build announces nothing; a next plan takes changes once it is finished.
    if page.built and not page.announce and page.state == State.ACTIVE:
        take_new_changes(section)


def take_new_changes(section: OpenSection) -> None:
    """Take the changes recorded since changes were taken, if there are subscribers."""
    if has_subscribers():
        with section.reading():
            take_changes(section)
