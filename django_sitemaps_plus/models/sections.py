"""Sections: the registered names of a site, and what is known of each."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from django.db import Error, connections, models, transaction
from django.db.models import Count, Exists, F, FilteredRelation, OuterRef, Q, Sum
from django.db.models.functions import Coalesce
from django.template.defaultfilters import floatformat
from django.utils.translation import gettext

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.sites import get_site, origin_setting, own_sites
from django_sitemaps_plus.storage.objects import COPY

from .base import Row, RowQuerySet, contained, retried
from .claims import Hold, State
from .clock import Now
from .deliveries import forget_hosts
from .prepared import Rows, Update, prepared

#: The name under which a site's index is kept: no section of a user can have it.
INDEX = ""

#: The numbers of a section that flips keep: see `Section`.
SUMS = ("entries", "skipped", "dropped", "plain_size", "gzip_size")
TOTALS = ("planned", "listed_pages", *SUMS)

#: How long the pages of a section that is no longer registered stay listed: while a
#: deploy is rolled out, some processes do not know a section that others do.
MISSING_GRACE = timedelta(hours=24)


class SectionQuerySet(RowQuerySet["Section"]):
    """Sections by what is known of them."""

    def planned(self) -> SectionQuerySet:
        """Return the sections that have pages, or had them before they were removed."""
        return self.filter(next_number__gt=1)  # to look for pages may read all of them

    def forget(self, **others: Any) -> None:
        """Let sections begin anew, but for the numbers of their pages."""
        self.update(
            fingerprint="",
            replaced=[],
            built_at=None,
            query_values="",
            new_since=None,
            watermark=None,
            window_count=0,
            schedule_checked_at=None,
            peak=0,
            earlier_peak=0,
            peak_since=None,
            hold_reason="",
            hold_numbers=[],
            may_shrink=False,
            fault="",
            fault_since=None,
            published_at=None,
            moments={},
            **dict.fromkeys(TOTALS, 0),
            **others,
        )

    def recount(self, section: int) -> None:
        """Set the totals of a section, which the caller has locked, by its pages."""
        [totals] = self.counted(section=section) or [[0] * len(TOTALS)]
        numbers = [total or 0 for total in totals]
        self.filter(pk=section).update(**dict(zip(TOTALS, numbers, strict=True)))

    def note_of_index(self, site: str, *which: Q, **values: Any) -> int:
        """Keep what was found out about a site, with its index; return how many are."""
        # The row gets no origin: the next build says which one this database has.
        given = {"defaults": {"next_number": 0}}
        row, _ = self.get_or_create(site=site, name=INDEX, **given)
        return self.filter(*which, pk=row.pk).update(**values)

    @retried
    def note_fault(self, name: str, error: str) -> None:
        """Keep why a section of the site cannot be built, and since when."""
        # Without an origin, since nothing is stored by it.
        row, _ = self.get_or_create(site=get_site().name, name=name)
        if row.name == name:  # a database may take one name for another
            since = Coalesce("fault_since", Now())
            self.filter(pk=row.pk).update(fault=error[:2_000], fault_since=since)

    def lock(self, sections: Iterable[int]) -> None:
        """Lock sections, in the order of their keys, until the transaction ends.

        Code that changes several pages at once does so first, so that no two processes
        wait for each other's pages.
        """
        keys, connection = sorted(set(sections)), connections[self.db]
        if not connection.in_atomic_block:
            raise transaction.TransactionManagementError("a lock needs a transaction")
        if connection.features.has_select_for_update:
            self.locked(sections=keys)
        else:
            # SQLite lets a transaction wait that begins with a write. Another that has
            # read first fails at once where a writer is at work.
            self.touched(sections=keys)

    @prepared
    def listable(self, site: str, registered: tuple[str, ...]) -> Rows:
        """Return key, name and next number of sections that an index may list."""
        recent = Q(missing_since__gt=Now() - MISSING_GRACE) | Q(missing_since=None)
        known = self.filter(Q(name__in=registered) | recent, site=site)
        return known.exclude(name=INDEX).values_list("pk", "name", "next_number")

    @prepared
    def unregistered(self, site: str, registered: tuple[str, ...]) -> Rows:
        """Return the names of sections that are unregistered by now, and have pages."""
        rows = self.filter(site=site).exclude(name__in=[INDEX, *registered])
        # A section that was pruned has no pages, and is past.
        return rows.filter(_has_pages(OuterRef("pk"))).values_list("name")

    @prepared
    def with_plan(self, *, site: Any, name: Any) -> Rows:
        """Return a section with the database's time, and whether it has a next plan."""
        has_next = _has_pages(OuterRef("pk"), state=State.NEXT)
        found = {"now": Now(), "has_next": has_next}
        return self.filter(site=site, name=name).annotate(**found)

    @prepared
    def unsettled(self, *, section: Any) -> Rows:
        """Return a section if it, its next plan or pages wait to be judged."""
        # An Exists for each, so that an index finds it.
        has_next = _has_pages(section, state=State.NEXT)
        has_held = _has_pages(section, state=State.ACTIVE, hold=Hold.HELD)
        waits = ~Q(hold_reason="") | has_next | has_held
        return self.filter(waits, pk=section).values_list("pk")

    @prepared
    def plan_versions(self, *, section: Any) -> Rows:
        """Return the version of the plan of a section."""
        return self.filter(pk=section).values_list("plan_version")

    @prepared
    def locked_version(self, *, section: Any, version: Any) -> Update:
        """Lock a section if its plan has a version; return the number of rows."""
        same = self.filter(pk=section, plan_version=version)
        return same, {"plan_version": version}

    @prepared
    def locked(self, *, sections: Any) -> Rows:
        """Lock sections in the order of their keys; return the keys."""
        rows = self.filter(pk__in=sections).order_by("pk")
        return rows.select_for_update().values_list("pk")

    @prepared
    def touched(self, *, sections: Any) -> Update:
        """Lock sections by a write that changes nothing; return the number of rows."""
        return self.filter(pk__in=sections), {"plan_version": F("plan_version")}

    @prepared
    def origins(self, *, site: Any) -> Rows:
        """Return each origin that sections of a site were built for; "" for none."""
        return self.filter(site=site).values_list("origin").distinct()

    @prepared
    def peaks(self, *, section: Any) -> Rows:
        """Return what the guard knows of a section: its peaks, and what it has lost."""
        peaks = ("peak", "earlier_peak", "lost_entries")
        return self.filter(pk=section).values_list(*peaks)

    @prepared
    def note_lost(self, *, section: Any, total: Any) -> Update:
        """Note how many entries a section has lost."""
        return self.filter(pk=section), {"lost_entries": total}

    def with_work(self) -> SectionQuerySet:
        """Join the pages that are to be built as `work`; there may be none."""
        # An index finds them by these two columns; states are left to the caller.
        dirty = FilteredRelation("pages", condition=Q(pages__is_dirty=1))
        return self.annotate(work=dirty)

    @prepared
    def counted(self, *, section: Any) -> Rows:
        """Return the totals of a section by its pages; none where it has no pages."""
        active = Q(state=State.ACTIVE)
        listed = Count("pk", filter=active & Q(entries__gt=0))
        columns: dict[str, Any] = {"planned_": Count("pk"), "listed_pages_": listed}
        columns |= {f"{name}_": Sum(name, filter=active) for name in SUMS}
        rows = _pages().filter(section=section).exclude(state=State.RETIRED)
        found: Rows = rows.order_by().values("section").annotate(**columns)
        return found.values_list(*columns)

    @prepared
    def totals(self, *, section: Any) -> Rows:
        """Return the totals of a section, and how many pages are to be built.

        These are pages that are served, and new pages of a next plan.
        """
        dirty = Count("work", filter=Q(work__state=State.ACTIVE))
        unbuilt = Count("work", filter=Q(work__state=State.NEXT, work__built=0))
        found = self.with_work().filter(pk=section).values(*TOTALS)
        columns = {"dirty_": dirty, "unbuilt_": unbuilt}
        rows: Rows = found.annotate(**columns).values_list(*TOTALS, *columns)
        return rows

    @prepared
    def add(self, is_published: bool, /, *, section: Any, **added: Any) -> Update:
        """Add to the totals of a section; note the time if other bytes are served."""
        fields: dict[str, Any] = {name: F(name) + it for name, it in added.items()}
        if is_published:
            fields["published_at"] = Now()
        return self.filter(pk=section), fields


def _pages() -> Any:
    """Return the rows of pages, whose model refers to this one."""
    model: Any = Section._meta.get_field("pages").related_model
    return model._default_manager


def _has_pages(section: Any, **which: str) -> Exists:
    return Exists(_pages().filter(section=section, **which))


class Section(Row):
    """A registered name of one site, once it is planned; without a name, the index."""

    site = models.CharField(max_length=64)
    name = models.CharField(max_length=64, blank=True)
    #: The origin of the process which builds it; "" before its first build.
    origin = models.CharField(max_length=300, blank=True)
    #: The directory of its objects: a random name that the database was given by its
    #: first build, since databases may share a storage; "" before that.
    namespace = models.CharField(max_length=32, blank=True)
    #: Raised by a split, a merge and a new plan: keys must then be located again.
    plan_version = models.PositiveBigIntegerField(default=0)
    #: The number of the next new page; of the index, the place of the next in it.
    next_number = models.PositiveIntegerField(default=1)
    #: When its first plan was made, its source changed, it came back, or what it lists
    #: became known; None once it has been compared after DEPLOY_SECONDS.
    new_since = models.DateTimeField(null=True)
    #: Hash of the source of the pages: declarations, query, languages, origin; and
    #: the type of the keys that the plan is of.
    fingerprint = models.CharField(max_length=64, blank=True)
    #: The fingerprints before it, the latest last: those of other versions.
    replaced = models.JSONField(default=list)
    #: When a process with this fingerprint last built.
    built_at = models.DateTimeField(null=True)
    #: The values in the queries of the source, which may come from rows.
    query_values = models.CharField(max_length=64, blank=True)
    #: Labels of the models that a contrib class lists, separated by commas; None until
    #: it says so.
    listed_models = models.TextField(null=True)  # noqa: DJ001
    #: The newest lastmod that the look-back has met.
    watermark = models.DateTimeField(null=True)
    #: How many rows had one in the window before it.
    window_count = models.PositiveIntegerField(default=0)
    #: When a build last looked for changes, within a minute; until then `starts` and
    #: `ends` were looked at.
    schedule_checked_at = models.DateTimeField(null=True)
    #: The time in seconds at which its query was asked what dates and times are
    #: compared with, and texts of these values, by a hash of each comparison.
    moments = models.JSONField(default=dict)
    #: The most entries of the last 24 hours, for the shrink guard.
    peak = models.PositiveBigIntegerField(default=0)
    earlier_peak = models.PositiveBigIntegerField(default=0)
    peak_since = models.DateTimeField(null=True)
    #: Entries by which it may have fewer now; never less than it has.
    lost_entries = models.PositiveBigIntegerField(default=0)
    #: Why nothing more is published, as :func:`hold_words` says it; "" for a section
    #: that is well.
    hold_reason = models.TextField(blank=True)
    hold_numbers = models.JSONField(default=list)
    #: Whether a person has let the guard pass what it holds.
    may_shrink = models.BooleanField(default=False)
    #: Why the last build of it failed, and since when builds fail.
    fault = models.TextField(blank=True)
    fault_since = models.DateTimeField(null=True)
    #: Since when its source is no longer registered.
    missing_since = models.DateTimeField(null=True)
    #: Totals that flips keep, so that nobody has to read all pages. Signed, since what
    #: somebody has damaged must not fail a flip; they are counted anew once a day.
    planned = models.IntegerField(default=0)  # pages, also of a next plan
    listed_pages = models.IntegerField(default=0)  # served pages with entries
    # Sums over the pages that are served.
    entries = models.BigIntegerField(default=0)
    skipped = models.BigIntegerField(default=0)
    dropped = models.BigIntegerField(default=0)
    plain_size = models.BigIntegerField(default=0)
    gzip_size = models.BigIntegerField(default=0)
    #: When a flip last changed what it serves.
    published_at = models.DateTimeField(null=True)
    #: Findings of the last audit of the site's own pages, and when; on the index alone.
    findings = models.JSONField(null=True)
    #: When somebody asked for an audit that no worker has begun; likewise.
    audit_asked_at = models.DateTimeField(null=True)
    #: The last answer of Django for the index of the site, and when; likewise.
    answer = models.JSONField(null=True)
    #: When a build or a monitor last had Django asked; likewise.
    asked_at = models.DateTimeField(null=True)
    #: When the site was last pruned, with no failure; likewise.
    pruned_at = models.DateTimeField(null=True)

    #: Set by `with_plan`: the database's time, and if there is a next plan.
    now: datetime
    has_next: bool

    objects = SectionQuerySet.as_manager()

    class Meta(Row.Meta):
        constraints = [
            models.UniqueConstraint(
                fields=["site", "name"], name="sitemaps_plus_section_key"
            )
        ]

    def __str__(self) -> str:
        return f"{self.site}: {self.name or 'index'}"


def hold_words(reason: str, numbers: Iterable[int]) -> str:
    """Return a reason of the guard with its numbers, in the language in force."""
    words = gettext(reason) if reason else ""
    for number in numbers:
        words = words.replace("{}", floatformat(number, "g"), 1)
    return words


def check_origin(recorded: str, site: Site) -> None:
    """Raise a ConfigurationError if what is stored was built for another origin."""
    if recorded not in ("", site.origin):
        is_one = "SITES" not in (setting := origin_setting(site))
        raise ConfigurationError(
            f"Sitemaps in this database belong to {recorded}; this process has "
            f"{site.origin}. Correct {setting}{' or SITE_ID' * is_one}, or give it a "
            f"database of its own. {'If they are two sites, set SITES. ' * is_one}If "
            "the site has moved, run: manage.py build_sitemaps --move-origin"
            f"{'' if is_one else f' --site {site.name}'}"
        )


def owning_site() -> Site:
    """Return the site, or raise a ConfigurationError as :func:`check_origin` does."""
    site = get_site()
    for (recorded,) in Section.objects.origins(site=site.name):
        check_origin(recorded, site)
    return site


def take_origin(*, has_moved: bool) -> None:
    """Record the origin of a build; refuse one that what is stored does not have."""
    site = get_site()
    origins = {recorded for (recorded,) in Section.objects.origins(site=site.name)}
    for recorded in () if has_moved else origins:
        check_origin(recorded, site)
    if origins - {site.origin}:
        # First, since they are not known any more once the origin is recorded.
        left = {urlsplit(it).netloc for it in origins - {""}}
        left -= {urlsplit(it.origin).netloc for it in own_sites(site)}
        if left:
            forget_hosts(site.name, left)
        # Fingerprints, which contain the origin, mark what sections list.
        rows = Section.objects.filter(site=site.name)
        rows.update(origin=site.origin, asked_at=None)  # no answer is of this one
        _pages().mark_indexes(site=site.name)


def take_namespace(new: str = "") -> None:
    """Give sections that have no namespace that of the database, or a first one.

    A new one is for the site of a copied database, which shares the storage of its
    original: what that has stored is not touched.
    """
    rows = Section.objects.all()
    if new:
        rows.filter(site=get_site().name).update(namespace=new)
        return
    known = rows.exclude(namespace="").order_by("pk")
    first = known.values_list("namespace", flat=True).first()
    rows.filter(namespace="").update(namespace=first or secrets.token_hex(8))


def namespace_of_copy() -> str:
    """Return a new namespace for all sites of a database that was copied."""
    return f"{COPY}{secrets.token_hex(8)}"


def is_well() -> bool:
    """Return whether our rows can be read; close connections that broke."""
    for connection in connections.all(initialized_only=True):
        if not connection.in_atomic_block:
            connection.close_if_unusable_or_obsolete()
    try:
        with contained():
            Section.objects.exists()
    except Error:
        return False
    return True
