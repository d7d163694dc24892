"""Pruning: delete old objects and rows after their grace period."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import PurePosixPath
from typing import Any

from django.db.models import F, Q, QuerySet
from django.utils import timezone

from django_sitemaps_plus.conf import Site, get_settings, in_force
from django_sitemaps_plus.exceptions import NotRegistered, StoreError
from django_sitemaps_plus.models import (
    INDEX,
    Change,
    Delivery,
    EngineHost,
    Figure,
    Page,
    Publication,
    RowQuerySet,
    Section,
    State,
    has_subscribers,
)
from django_sitemaps_plus.models.base import atomic, retried
from django_sitemaps_plus.models.clock import Now
from django_sitemaps_plus.models.figures import KEPT
from django_sitemaps_plus.models.sections import MISSING_GRACE
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.storage import delete_object, objects
from django_sitemaps_plus.storage.filesystem import remove_unfinished

from .sync import hide_unknown
from .tree import public_tree

logger = logging.getLogger(__name__)

#: How long an object may wait for its flip, and how far clocks may differ.
MARGIN = timedelta(hours=1)

#: Failures in a row after which the objects of a section are left to the next prune.
MAX_FAILURES = 10


@dataclass(slots=True)
class PruneReport:
    """Counts of what a prune has removed, or would remove if it were no dry run."""

    pages: int = 0  # merged, replaced by a new plan, or of removed sections
    sections: list[str] = field(default_factory=list)  # that this prune has removed
    objects: int = 0  # files that no row names
    waiting: int = 0  # such files that are not old enough yet
    deliveries: int = 0  # URLs that were submitted, or whose engine was removed
    figures: int = 0  # numbers of hours that no trend shows any more


def prune(
    site: Site, *, is_dry_run: bool = False, removed: Collection[str] = ()
) -> PruneReport:
    """Remove objects and rows that nothing has needed for the grace; or count them.

    Safe beside running builders: expired claims are voided first, so their builders
    can no longer publish, and the objects of a claimed page stay. An object whose row
    goes now stays until the next prune, since a reader may be about to open it. The
    pages of ``removed`` sections go at once, though they were registered lately.

    Raises:
        NotRegistered: one of them is registered, or has no pages.
        StoreError: the storage failed, or cannot list. All else has been removed; run
            it again for the rest.
    """
    registry.must_be_whole()
    known = removed_sections(site) if removed else []
    for name in set(removed).difference(known):
        raise NotRegistered(
            f"Section {name!r} is registered, or has no pages. No longer registered "
            f"are: {', '.join(map(repr, known)) or 'none'}."
        )
    work = _Prune(site, is_dry_run, removed)
    work.void_claims()
    for section in Section.objects.filter(site=site.name):
        with work.going_on():
            work.remove_objects(section)
    work.remove_pages()
    work.remove_changes()
    work.remove_deliveries()
    work.remove_figures()
    if not is_dry_run:
        logger.info("Pruned: %s", work.report, extra={"action": "pruned"})
        if not work.failures:
            index = Section.objects.filter(site=site.name, name=INDEX)
            index.update(pruned_at=Now())
    if work.failures:
        first, *others = work.failures
        more = f" (and {len(others)} more failures)" if others else ""
        raise StoreError(f"{first}{more}") from first
    return work.report


def is_pruned(site: Site, age: timedelta) -> bool:
    """Return whether the last prune of a site, which left nothing, is younger."""
    index = Section.objects.filter(site=site.name, name=INDEX)
    return index.filter(pruned_at__gt=Now() - age).exists()


def removed_sections(site: Site) -> list[str]:
    """Return the names that are no longer registered, and have pages."""
    rows = Section.objects.unregistered(site.name, tuple(registry))
    return [name for (name,) in rows]


class _Prune:
    def __init__(self, site: Site, is_dry_run: bool, removed: Collection[str]) -> None:
        self.site = site
        self.is_dry_run = is_dry_run
        self.removed = removed
        self.report = PruneReport()
        self.failures: list[StoreError] = []
        self.grace = get_settings().grace
        self.before = timezone.now() - self.grace

    @contextmanager
    def going_on(self) -> Iterator[None]:
        """Keep a failure of the storage until all else is done."""
        try:
            yield
        except StoreError as error:
            self.failures.append(error)

    def void_claims(self) -> None:
        """End the claims of builders that died."""
        expired = Page.objects.filter(claimed_at__lt=Now() - get_settings().lease)
        expired = expired.exclude(token="")
        pages = dict(expired.values_list("pk", "section_id"))
        if pages and not self.is_dry_run:
            rows = expired.filter(pk__in=pages)
            rows.update_locked(pages.values(), token="", claimed_at=None)

    def remove_objects(self, section: Section) -> None:
        """Remove the objects of a section that no row names, once they are old.

        Until the first build gives the database a namespace, it has none.
        """
        if not section.namespace:
            return
        stored = objects.list_objects(section.name, section.namespace)
        unreferenced, replaced = _unreferenced(section.name, stored, self.before)
        self.report.waiting += len(replaced)
        failures = 0
        for name in unreferenced - replaced:
            # An object that was replaced at a younger age than the grace was stored
            # at most that much earlier. An older one is its page's previous object.
            failures += 1
            with self.going_on():
                if objects.is_stored_before(name, self.before - self.grace - MARGIN):
                    if not self.is_dry_run:
                        delete_object(name)
                    self.report.objects += 1
                else:
                    self.report.waiting += 1
                failures = 0
            if failures == MAX_FAILURES:
                break
        if self.is_dry_run:
            return

        # Rows are read after directories, since a page has its row first, and for
        # all sites, since they share the directories.
        rows = Page.objects.filter(section__name=section.name)
        known = set(rows.values_list("number", flat=True))
        for number in stored:
            with self.going_on():
                directory = (section.name, number, section.namespace)
                objects.tidy_page(*directory, self.before, is_known=number in known)
        tree = public_tree()
        if section.name == INDEX and tree is not None:
            remove_unfinished(tree.root, self.before)

    def remove_pages(self) -> None:
        """Remove pages that were merged or replaced, and served for long enough."""
        sections = list(Section.objects.filter(site=self.site.name))  # not joined
        retired = Page.objects.filter(section__in=sections, state=State.RETIRED)
        self.report.pages += self._delete(retired.filter(retired_at__lt=self.before))
        for section in self._gone_sections().filter(pages__isnull=False).distinct():
            self._remove_section(section)
        if self.report.pages and not self.is_dry_run:
            with self.going_on():
                hide_unknown()

    @retried
    def _remove_section(self, section: Section) -> None:
        """Remove the pages of a section that is no longer registered.

        Its row stays: its pages answer 410, and if it comes back they get new numbers.
        """
        with atomic():
            # A process that still knows it may just have built it.
            Section.objects.lock([section.pk])
            if not self._gone_sections().filter(pk=section.pk).exists():
                return
            pages = self._delete(section.pages.all())
            if not self.is_dry_run:
                Page.objects.of(self.site.name, INDEX).update(wanted=F("wanted") + 1)
                Section.objects.filter(pk=section.pk).forget()
        self.report.pages += pages
        self.report.sections.append(section.name)

    def _gone_sections(self) -> QuerySet[Section]:
        since = timezone.now() - max(self.grace, MISSING_GRACE)
        is_gone = Q(missing_since__lt=since) | Q(name__in=self.removed)
        gone = Section.objects.filter(is_gone, site=self.site.name)
        return gone.exclude(name=INDEX).exclude(name__in=list(registry))

    def remove_changes(self) -> None:
        """Remove changes that nothing will read; a deploy may be under way."""
        old = Change.objects.filter(at__lt=Now() - max(self.grace, MISSING_GRACE))
        with in_force(None):  # any site may read them
            read = set(registry)
            if not has_subscribers():
                read &= set(Section.objects.planned().values_list("name", flat=True))
        self._delete(old.exclude(section__in=read))
        if not has_subscribers():  # any more, since engines were switched off
            rows = Publication.objects.filter(section__site=self.site.name)
            self._delete(rows.filter(at__lt=Now() - self.grace))

    def remove_deliveries(self) -> None:
        """Remove what was submitted, and engines that the settings no longer name."""
        configured = get_settings()
        if "engines" in configured.wrong:
            return  # no name is known, so each engine would count as removed
        names = list(configured.engines)
        rows = Delivery.objects.filter(site=self.site.name)
        gone = rows.exclude(engine__in=names).filter(changed_at__lt=self.before)
        sent = rows.filter(engine__in=names, state=Delivery.State.SENT, is_feed=False)
        # Two queries, since no index serves one for both.
        for past in (gone, sent.filter(not_before__lt=self.before)):
            self.report.deliveries += self._delete(past)
        hosts = EngineHost.objects.filter(
            site=self.site.name, not_before__lt=self.before
        )
        self._delete(hosts.exclude(engine__in=names))

    def remove_figures(self) -> None:
        """Remove figures that are too old for the trends, also of removed sites."""
        old = Figure.objects.filter(hour__lt=timezone.now() - KEPT)
        self.report.figures += self._delete(old)

    def _delete(self, rows: RowQuerySet[Any]) -> int:
        return rows.count() if self.is_dry_run else rows.remove_all()


def _unreferenced(
    section: str, stored: dict[int, list[str]], since: datetime
) -> tuple[set[str], set[str]]:
    """Return the objects that no row needs, and those of them replaced since a moment.

    Only the builder that holds the claim of a page may publish what it stored for the
    page, so the objects of claimed pages are left out. The others were listed before
    the rows are read: their builders have published them, or have lost the claim.
    """
    named, replaced, claimed = set(), set(), set()
    # All sites share the directories.
    pages = Page.objects.filter(section__name=section)
    for number, token, current, previous, published_at in pages.values_list(
        "number", "token", "object", "previous_object", "published_at"
    ):
        named.add(_last_part(current))
        if published_at is not None and published_at > since:
            replaced.add(_last_part(previous))
        if token:
            claimed.add(number)
    # After the pages: a publication names what one of them has replaced meanwhile.
    rows = Publication.objects.filter(section__name=section)
    for old, new in rows.values_list("old", "new"):
        named.update(map(_last_part, [*old, *new]))
    unreferenced = {
        name
        for number, names in stored.items()
        for name in names
        if number not in claimed and _last_part(name) not in named
    }
    return unreferenced, {name for name in unreferenced if _last_part(name) in replaced}


def _last_part(name: str) -> str:
    # The last part is unique; a storage may put a directory of its own before it.
    return PurePosixPath(name).name
