"""Sections and their pages: what is published, and what is to be built."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import models, router
from django.db.models import Case, F, Q, When
from django.db.models.functions import Now

from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.core.dates import W3C_LENGTH

from .base import Row, RowQuerySet

#: The name under which a site's index is kept: no section of a user can have it.
INDEX = ""

#: Claims without a result after which a page is parked until somebody looks.
MAX_ATTEMPTS = 5


class Section(Row):
    """A registered name of one site, once it was planned; or, with no name, the index.

    A split, a merge and a new plan raise ``plan_version``: who located a key in an
    older plan must locate it again.
    """

    site = models.CharField(max_length=64)
    name = models.CharField(max_length=64, blank=True)
    plan_version = models.PositiveBigIntegerField(default=0)
    #: The number of the next new page; of the index, the place of the next in it.
    next_number = models.PositiveIntegerField(default=1)
    #: What the pages were rendered from: declarations, query, languages, origin; and
    #: the type of the keys that the plan is of.
    fingerprint = models.CharField(max_length=64, blank=True)
    #: The newest lastmod that the look-back has met.
    watermark = models.DateTimeField(null=True)
    #: How many rows had one in the window before it.
    window_count = models.PositiveIntegerField(default=0)
    #: Until when `starts` and `ends` were looked at.
    schedule_checked_at = models.DateTimeField(null=True)
    #: The most entries of the last 24 hours, for the shrink guard.
    peak = models.PositiveBigIntegerField(default=0)
    earlier_peak = models.PositiveBigIntegerField(default=0)
    peak_since = models.DateTimeField(null=True)
    #: By how many it may have fewer now; never less than it has.
    lost_entries = models.PositiveBigIntegerField(default=0)
    #: Why nothing more is published, in words; "" for a section that is well.
    hold_reason = models.TextField(blank=True)
    #: Since when its source is no longer registered.
    missing_since = models.DateTimeField(null=True)

    objects = RowQuerySet.as_manager()

    class Meta(Row.Meta):
        constraints = [
            models.UniqueConstraint(
                fields=["site", "name"], name="sitemaps_plus_section_key"
            )
        ]

    def __str__(self) -> str:
        return f"{self.site}: {self.name or 'index'}"


class State(models.TextChoices):
    """Which plan of its section a page belongs to."""

    ACTIVE = "active", "active"  # the one that is served and listed
    NEXT = "next", "next"  # a new one, that replaces it once all is built
    RETIRED = "retired", "retired"  # an old one; served until a crawler forgot it


class Hold(models.TextChoices):
    """What the guard says of a page that would lose most of its entries."""

    NONE = "", "none"  # nothing: it may be built
    HELD = "held", "held"  # it waits for the rest of its section
    RELEASED = "released", "released"  # it may lose them


_SERVED = (
    "SELECT page.id, page.section_id, page.number, page.low, page.high, page.wanted, "
    "page.built, page.object, page.plain_hash, page.gzip_hash, page.plain_size, "
    "page.gzip_size, page.published_at FROM sitemaps_plus_page page "
    "INNER JOIN sitemaps_plus_section section ON section.id = page.section_id "
    "WHERE section.site = %s AND section.name = %s AND page.number = %s "
    "AND page.state <> %s"
)


class PageQuerySet(RowQuerySet["Page"]):
    """Pages by what is to be done with them."""

    def of(self, site: str, section: str) -> PageQuerySet:
        """Return the pages of one section."""
        return self.filter(section__site=site, section__name=section)

    def served(self, site: str, section: str, number: int) -> Page | None:
        """Return a page as far as a view needs it; None where no plan in force has it.

        Every answer begins with this query, and to compile it would take many times as
        long as to run it. So it is written down.
        """
        values = [site, section, number, State.NEXT]
        return next(iter(self.raw(_SERVED, values)), None)

    def with_section(self) -> PageQuerySet:
        """Read the section with each page."""
        return self.select_related("section")

    def planned(self) -> PageQuerySet:
        """Return the pages of plans that are kept up to date."""
        return self.exclude(state=State.RETIRED)

    def listed(self) -> PageQuerySet:
        """Return the pages that an index names: all but those known to be empty."""
        active = self.filter(state=State.ACTIVE)
        return active.filter(Q(entries__gt=0) | Q(built=0))

    def active(self) -> PageQuerySet:
        """Return the pages of the plans that are served.

        In words that leave the choice to the other conditions: before it has looked at
        the values, a database takes the index of the states for the best, which then
        reads all pages of a section.
        """
        return self.exclude(state__in=[State.NEXT, State.RETIRED])

    def dirty(self) -> PageQuerySet:
        """Return the pages whose source has changed since they were rendered."""
        return self.planned().filter(is_dirty=1)

    def claimable(
        self, since: datetime | None = None, lease: timedelta | None = None
    ) -> PageQuerySet:
        """Return the dirty pages that nobody is at work on.

        Args:
            since: when the build began, by the database's clock. Claims from before
                count as given up, and pages that failed after it are left alone.
                Without it both hold for the time of the lease.
            lease: after which a claim counts as given up; LEASE_SECONDS unless told.
        """
        lease = lease or get_settings().lease
        given_up = Q(claimed_at=None) | Q(claimed_at__lt=Now() - lease)
        if since is not None:
            has_failed = Q(token="", claimed_at__gte=since)
            given_up = (given_up | Q(claimed_at__lt=since)) & ~has_failed
        free = self.dirty().filter(given_up, attempts__lt=MAX_ATTEMPTS)
        return free.exclude(hold=Hold.HELD)

    def parked(self) -> PageQuerySet:
        """Return the pages that failed too often to be tried again unasked."""
        return self.dirty().filter(attempts__gte=MAX_ATTEMPTS)


class Page(Row):
    """One sitemap file of a section: its key range and the object it points to."""

    section = models.ForeignKey(Section, models.CASCADE, related_name="pages")
    number = models.PositiveIntegerField()  # 1 and on; the index is page 0 of its own
    #: Place in the order of creation of the site's pages; tells which index lists it.
    index_position = models.PositiveIntegerField(default=0)
    # Bounds as text, since keys have any type; None is infinity, "" may be a key.
    low = models.TextField(null=True)  # noqa: DJ001
    high = models.TextField(null=True)  # noqa: DJ001
    #: The first key of its range, where that is a number that databases can hold.
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
    #: Who is at work on it, and since when by the database's clock.
    token = models.CharField(max_length=32, blank=True)
    claimed_at = models.DateTimeField(null=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    error = models.TextField(blank=True)  # of the last attempt
    hold = models.CharField(max_length=8, blank=True, choices=Hold, default=Hold.NONE)
    held_entries = models.PositiveIntegerField(default=0)  # that it would have
    held_skipped = models.PositiveIntegerField(default=0)
    #: Whether the next change of its bytes is to be told to search engines.
    announce = models.BooleanField(default=True)
    #: When the first change since the last flip was committed, as far as one was told.
    changed_at = models.DateTimeField(null=True)
    checked_at = models.DateTimeField(null=True)  # when it was last compared

    #: Name in storage; "" for a page without entries.
    object = models.CharField(max_length=255, blank=True)
    #: The last one that was replaced after it had stood for longer than the grace.
    previous_object = models.CharField(max_length=255, blank=True)
    entries = models.PositiveIntegerField(default=0)
    skipped = models.PositiveIntegerField(default=0)  # rows that could not be listed
    dropped = models.PositiveIntegerField(default=0)  # values left out of their entry
    plain_size = models.PositiveBigIntegerField(default=0)  # bytes
    gzip_size = models.PositiveBigIntegerField(default=0)  # bytes
    plain_hash = models.CharField(max_length=64, blank=True)  # SHA-256, hexadecimal
    gzip_hash = models.CharField(max_length=64, blank=True)  # the same of the object
    #: What the index says, as W3C text in UTC; "" for nothing. It never falls.
    lastmod = models.CharField(max_length=W3C_LENGTH, blank=True)
    published_at = models.DateTimeField(null=True)  # when the pointer was set

    objects = PageQuerySet.as_manager()

    class Meta(Row.Meta):
        constraints = [
            models.UniqueConstraint(
                fields=["section", "number"], name="sitemaps_plus_page_number"
            )
        ]
        indexes = [
            # What a refresh asks for, most often in vain: no page of many is read.
            models.Index(fields=["section", "is_dirty"], name="sitemaps_plus_dirty"),
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


def own_alias() -> str:
    """Return the alias of the database of our rows; changes may lie elsewhere too."""
    return router.db_for_write(Page)
