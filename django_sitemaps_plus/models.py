"""The rows that say what is published, what has changed, and what is to be done."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

#: The name under which a site's index is kept: no section of a user can have it.
INDEX = ""

#: How long a builder that says nothing keeps its pages.
LEASE = timedelta(seconds=60)

#: Claims without a result after which a page is parked until somebody looks.
MAX_ATTEMPTS = 5


class Section(models.Model):
    """A registered name of one site, once it was planned; or, with no name, the index.

    A split, a merge and a new plan raise ``plan_version``: who located a key in an
    older plan must locate it again.
    """

    site = models.CharField(max_length=64)
    name = models.CharField(max_length=64, blank=True)
    plan_version = models.PositiveBigIntegerField(default=0)
    #: The number of the next new page; of the index, the place of the next in it.
    next_number = models.PositiveIntegerField(default=1)
    #: What the pages were rendered from: declarations, query, languages, origin.
    fingerprint = models.CharField(max_length=64, blank=True)
    #: The newest lastmod that the look-back has seen, and the rows around it.
    watermark = models.DateTimeField(null=True)
    seen = models.TextField(blank=True)
    #: Until when `starts` and `ends` were looked at.
    looked_at = models.DateTimeField(null=True)
    #: The most entries of the last 24 hours, for the shrink guard.
    peak = models.PositiveBigIntegerField(default=0)
    earlier_peak = models.PositiveBigIntegerField(default=0)
    peak_since = models.DateTimeField(null=True)
    #: Why nothing more is published, in words; "" for a section that is well.
    held = models.TextField(blank=True)
    #: Since when its source is no longer registered.
    missing_since = models.DateTimeField(null=True)

    class Meta:
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
    COMING = "coming", "coming"  # a new one, that replaces it once all is built
    RETIRED = "retired", "retired"  # an old one; served until a crawler forgot it


class Hold(models.TextChoices):
    """What the guard says of a page that would lose most of its entries."""

    NONE = "", "none"  # nothing: it may be built
    HELD = "held", "held"  # it waits for the rest of its section
    RELEASED = "released", "released"  # it may lose them


class PageQuerySet(models.QuerySet["Page"]):
    """Pages by what is to be done with them."""

    def of(self, site: str, section: str) -> PageQuerySet:
        """Return the pages of one section."""
        return self.filter(section__site=site, section__name=section)

    def planned(self) -> PageQuerySet:
        """Return the pages of plans that are kept up to date."""
        return self.exclude(state=State.RETIRED)

    def listed(self) -> PageQuerySet:
        """Return the pages that an index names: all but those known to be empty."""
        active = self.filter(state=State.ACTIVE)
        return active.filter(Q(entries__gt=0) | Q(built=0))

    def dirty(self) -> PageQuerySet:
        """Return the pages whose source has changed since they were rendered."""
        return self.planned().filter(wanted__gt=F("built"))

    def claimable(self, since: datetime | None = None) -> PageQuerySet:
        """Return the dirty pages that nobody is at work on.

        Args:
            since: a claim made before this time of the database's clock counts as
                given up; without it, one older than the lease.
        """
        given_up = Q(claimed_at=None) | Q(claimed_at__lt=Now() - LEASE)
        if since is not None:
            given_up |= Q(claimed_at__lt=since)
        free = self.dirty().filter(given_up, attempts__lt=MAX_ATTEMPTS)
        return free.exclude(hold=Hold.HELD)

    def parked(self) -> PageQuerySet:
        """Return the pages that failed too often to be tried again unasked."""
        return self.dirty().filter(attempts__gte=MAX_ATTEMPTS)


class Page(models.Model):
    """One sitemap file of a section: its key range and the object it points to."""

    section = models.ForeignKey(Section, models.CASCADE, related_name="pages")
    number = models.PositiveIntegerField()  # 1 and on; the index is page 0 of its own
    #: Place in the order of creation of the site's pages; tells which index lists it.
    place = models.PositiveIntegerField(default=0)
    # Bounds as text, since keys have any type; None is infinity, "" may be a key.
    low = models.TextField(null=True)  # noqa: DJ001
    high = models.TextField(null=True)  # noqa: DJ001

    state = models.CharField(max_length=8, choices=State, default=State.ACTIVE)
    retired_at = models.DateTimeField(null=True)

    #: Raised by each change; the page is dirty while it is above `built`.
    wanted = models.PositiveBigIntegerField(default=1)
    built = models.PositiveBigIntegerField(default=0)
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
    checked_at = models.DateTimeField(null=True)  # when it was last compared

    #: Name in storage; "" for a page without entries.
    object = models.CharField(max_length=255, blank=True)
    entries = models.PositiveIntegerField(default=0)
    skipped = models.PositiveIntegerField(default=0)  # rows that could not be listed
    dropped = models.PositiveIntegerField(default=0)  # values left out of their entry
    plain_size = models.PositiveBigIntegerField(default=0)  # bytes
    gzip_size = models.PositiveBigIntegerField(default=0)  # bytes
    plain_hash = models.CharField(max_length=64, blank=True)  # SHA-256, hexadecimal
    gzip_hash = models.CharField(max_length=64, blank=True)  # the same of the object
    lastmod = models.DateTimeField(null=True)  # what the index says; it never falls
    published_at = models.DateTimeField(null=True)  # when the pointer was set

    objects = PageQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["section", "number"], name="sitemaps_plus_page_number"
            )
        ]
        indexes = [
            # Dirty pages are found in the index alone. (A partial index would be
            # smaller, but MySQL has none.)
            models.Index(
                fields=["section", "wanted", "built"], name="sitemaps_plus_dirty"
            )
        ]

    def __str__(self) -> str:
        return f"page {self.number} of section {self.section_id}"


class Change(models.Model):
    """Something of a section was saved or deleted; kept on the object's database."""

    class Kind(models.TextChoices):
        """What `low` and `high` are."""

        KEY = "key", "key"  # low is the key of a row
        RANGE = "range", "range"  # the keys from low to high, both included
        RELATED = "related", "related"  # high is a path to a row, low is its pk
        AUDIT = "audit", "audit"  # nobody knows which rows: look at all pages

    section = models.CharField(max_length=64)
    kind = models.CharField(max_length=8, choices=Kind)
    low = models.TextField(blank=True)
    high = models.TextField(blank=True)
    at = models.DateTimeField(db_default=Now())

    class Meta:
        indexes = [
            models.Index(fields=["section", "id"], name="sitemaps_plus_change_order")
        ]

    def __str__(self) -> str:
        return f"{self.section}: {self.kind} {self.low}"


class Publication(models.Model):
    """A flip whose changes of URLs are still to be worked out and told."""

    section = models.ForeignKey(Section, models.CASCADE)
    old = models.JSONField(default=list)  # names of the objects before
    new = models.JSONField(default=list)  # names of the objects that replaced them
    announce = models.BooleanField(default=True)
    at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return f"publication {self.pk} of section {self.section_id}"
