"""Pages: what is published, what is to be built, and what an index lists."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import Any, TypeAlias

from django.db import connections, models
from django.db.models import Case, F, When
from django.utils import timezone

from django_sitemaps_plus.cache import forget, recall, remember
from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.core.dates import W3C_LENGTH

from .base import Row, own_alias
from .claims import Hold, State
from .page_queries import PageQueries
from .sections import Section

#: Pages by the name of their section: of each the section, number and lastmod.
Listed: TypeAlias = dict[str, list[tuple[Any, int, str]]]

_SECONDS = 7 * 86_400

#: Pages that are noted at once.
MAX_NOTED = 500


class PageQuerySet(PageQueries["Page"]):
    """Pages by what is to be done with them."""


class Page(Row):
    """A sitemap file of a section: its key range and the object it points to."""

    section = models.ForeignKey(Section, models.CASCADE, related_name="pages")
    number = models.PositiveIntegerField()  # 1 and on; the index is page 0 of its own
    #: Place in the order of creation of the site's pages; decides which index lists it.
    index_position = models.PositiveIntegerField(default=0)
    # Bounds as text, since keys have any type; None is infinity, "" may be a key.
    low = models.TextField(null=True)  # noqa: DJ001
    high = models.TextField(null=True)  # noqa: DJ001
    #: ``low`` as a number by which databases find the page of a key; see `as_number()`.
    low_number = models.BigIntegerField(null=True)

    state = models.CharField(max_length=8, choices=State, default=State.ACTIVE)
    retired_at = models.DateTimeField(null=True)

    #: Raised by each change; the page is dirty while it is above `built`.
    wanted = models.PositiveBigIntegerField(default=1)
    built = models.PositiveBigIntegerField(default=0)
    is_dirty = models.GeneratedField(
        # A number, since SQLite finds no index for a bare boolean.
        expression=Case(When(wanted__gt=F("built"), then=1), default=0),
        output_field=models.PositiveSmallIntegerField(),
        db_persist=True,
    )
    #: The builder at work on the page, and since when by the database's clock.
    token = models.CharField(max_length=32, blank=True)
    claimed_at = models.DateTimeField(null=True)
    #: Claims without a result, since it was last built or a deploy.
    attempts = models.PositiveSmallIntegerField(default=0)
    #: How many of these no builder gave up by itself: they died, or are at work.
    deaths = models.PositiveSmallIntegerField(default=0)
    #: The version that the last attempt was for, and the database's time before which
    #: there is no other for the same.
    tried = models.PositiveBigIntegerField(default=0)
    not_before = models.DateTimeField(null=True)
    error = models.TextField(blank=True)  # of the last attempt
    hold = models.CharField(max_length=8, blank=True, choices=Hold, default=Hold.NONE)
    held_entries = models.PositiveIntegerField(default=0)  # that it would have
    held_skipped = models.PositiveIntegerField(default=0)
    #: Whether the next change of its bytes is submitted to search engines; not after a
    #: deploy, until it was built.
    announce = models.BooleanField(default=True)
    #: Whether an edit was marked since the last flip: a deploy leaves it to announce.
    is_edited = models.BooleanField(default=False)
    #: When the first change since the last flip was committed, if that is known.
    changed_at = models.DateTimeField(null=True)
    checked_at = models.DateTimeField(null=True)  # when it was last compared

    #: Name in storage; "" for a page without entries.
    object = models.CharField(max_length=300, blank=True)
    #: The last one that was replaced after it had stood for longer than the grace.
    previous_object = models.CharField(max_length=300, blank=True)
    entries = models.PositiveIntegerField(default=0)
    skipped = models.PositiveIntegerField(default=0)  # rows that could not be listed
    dropped = models.PositiveIntegerField(default=0)  # values left out of their entry
    problems = models.JSONField(default=list)  # the first of both
    plain_size = models.PositiveBigIntegerField(default=0)  # bytes
    gzip_size = models.PositiveBigIntegerField(default=0)  # bytes
    plain_hash = models.CharField(max_length=64, blank=True)  # SHA-256, hexadecimal
    gzip_hash = models.CharField(max_length=64, blank=True)  # the same of the object
    #: The lastmod in the index, as W3C text in UTC, or ""; it only ever rises.
    lastmod = models.CharField(max_length=W3C_LENGTH, blank=True)
    published_at = models.DateTimeField(null=True)  # when the pointer was set

    #: Set by `served`: what its section was built for, and its name.
    origin: str
    section_name: str

    objects = PageQuerySet.as_manager()

    class Meta(Row.Meta):
        constraints = [
            models.UniqueConstraint(
                fields=["section", "number"], name="sitemaps_plus_page_number"
            )
        ]
        indexes = [
            # A refresh asks for these, most often in vain: no page of many is read.
            models.Index(
                fields=["section", "is_dirty", "not_before"], name="sitemaps_plus_dirty"
            ),
            models.Index(
                fields=["section", "state", "hold"], name="sitemaps_plus_state"
            ),
            models.Index(
                fields=["section", "checked_at"], name="sitemaps_plus_checked"
            ),
            models.Index(fields=["section", "low_number"], name="sitemaps_plus_low"),
        ]

    def __str__(self) -> str:
        return f"page {self.number} of section {self.section_id}"


def listed_pages(
    site: str, registered: Collection[str], number: int, *, is_live: bool
) -> tuple[Listed, set[str]]:
    """Return the pages that an index lists, and the sections that have a plan.

    A live one lists pages that were never built, too, if they can be rendered here.
    """
    # Sections come first: one that is planned meanwhile is listed as one without.
    sections = Section.objects.listable(site, tuple(registered))
    names = {pk: name for pk, name, _ in sections}
    ids = tuple(sorted(names))
    unbuilt = tuple([pk for pk in ids if is_live and names[pk] in registered])
    most = get_settings().max_sitemaps
    first = max(number - 1, 0) * most
    rows = Page.objects.index_rows(ids, unbuilt, first, first + most)
    positions = [] if rows or number else Page.objects.first_position(ids, unbuilt)
    if positions:
        # A new plan of very many pages has left the first index empty. So the first
        # lists the pages of the next one: everybody knows the first alone.
        first = positions[0][0] // most * most
        rows = Page.objects.index_rows(ids, unbuilt, first, first + most)
    # Rows come about in this order, so to sort them here is faster than there.
    rows.sort()
    by_section = groupby(rows, itemgetter(0))
    listed = {names[pk]: list(pages) for pk, pages in by_section}
    return listed, {name for _, name, next_number in sections if next_number > 1}


def note_damaged(page: Page) -> None:
    """Note that the object of a page cannot be served."""
    noted = noted_pages()
    if not damaged_among([page]) and len(noted) < MAX_NOTED:
        remember(_key(), noted | {page.pk: timezone.now()}, _SECONDS)


def noted_pages() -> dict[int, datetime]:
    """Return when pages were noted, by their primary keys."""
    return recall(_key(), dict) or {}


def damaged_among(pages: Iterable[Page]) -> dict[Page, datetime]:
    """Return those that were noted, and not built since, and when they were noted.

    A build of another process, which may have no part in the cache, has mended some.
    """
    noted = noted_pages()
    listed = {it: noted[it.pk] for it in pages if it.pk in noted}
    return {
        page: moment
        for page, moment in listed.items()
        if not page.checked_at or page.checked_at < moment
    }


def damaged_pages() -> dict[Page, datetime]:
    """Return the same of all pages."""
    noted = noted_pages()
    return damaged_among(Page.objects.filter(pk__in=noted)) if noted else {}


def forget_damaged() -> None:
    """Forget them all, once they are dealt with."""
    forget(_key())


def _key() -> str:
    # Another database, whose pages have the same keys, may share the cache.
    own = connections[own_alias()].settings_dict
    name = f"{own['HOST']} {own['PORT']} {own['NAME']}"
    return f"damaged:{hashlib.sha256(name.encode()).hexdigest()[:32]}"
