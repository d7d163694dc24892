"""Pruning: what nobody needs any more goes, once nobody can have it in mind."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import islice

from django.db import transaction
from django.db.models import F, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from django_sitemaps_plus.building.unnamed import unnamed_objects
from django_sitemaps_plus.conf import Site, get_settings
from django_sitemaps_plus.exceptions import StoreError
from django_sitemaps_plus.models import (
    INDEX,
    Change,
    Delivery,
    EngineHost,
    Leftover,
    Page,
    Publication,
    Section,
    State,
    has_subscribers,
    own_alias,
)
from django_sitemaps_plus.models.listing import MISSING_GRACE
from django_sitemaps_plus.models.transactions import atomic, lock
from django_sitemaps_plus.publishing.sync import page_name
from django_sitemaps_plus.publishing.tree import public_tree
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.storage import delete_object

from .listing import (
    list_pages,
    remove_empty_directory,
    remove_old_temporaries,
    remove_temporary_files,
)

logger = logging.getLogger(__name__)

#: Objects in a row that a storage may refuse to delete before a section is left: one
#: that is away would be asked for thousands, and each answer takes its time.
MAX_REFUSALS = 10

#: Rows that are written in one statement.
BATCH_ROWS = 500


@dataclass(slots=True)
class PruneReport:
    """What a prune has removed, or, in a dry run, what it would have."""

    claims: int = 0  # of builders that are not heard of any more
    pages: int = 0  # merged, replaced by a new plan, or of sections that are gone
    changes: int = 0  # of sections that are gone
    sections: list[str] = field(default_factory=list)  # that are gone with this prune
    objects: int = 0  # files that no row names
    waiting: int = 0  # such files that are not old enough yet
    deliveries: int = 0  # URLs that engines were told, and may be told again
    temporary: int = 0  # files that a killed builder has left unfinished


def prune(site: Site, *, is_dry_run: bool = False) -> PruneReport:
    """Remove what no row has named for PRUNE_SECONDS seconds, and rows that are past.

    It is safe beside running builders: what a page that somebody is at work on may be
    pointed to is left alone, and whose lease has ended loses its claim first, so it
    can no longer point to anything.

    Args:
        site: the site.
        is_dry_run: count only.

    Raises:
        StoreError: the storage failed, or cannot list what it has. All else has gone,
            and what it refused is tried again by the next prune.
    """
    work = _Prune(site, is_dry_run)
    work.void_claims()
    work.remove_pages()
    work.remove_sections()
    work.remove_changes()
    work.remove_deliveries()
    for section in Section.objects.filter(site=site.name):
        with work.going_on():
            work.remove_leftovers(section)
    logger.info("Pruned: %s", work.report, extra={"action": "pruned"})
    work.raise_failures()
    return work.report


@dataclass(slots=True)
class _Prune:
    site: Site
    is_dry_run: bool
    report: PruneReport = field(default_factory=PruneReport)
    failures: list[StoreError] = field(default_factory=list)

    @property
    def grace(self) -> timedelta:
        """How long something must have been unused."""
        configured = get_settings()
        seconds = max(configured.prune_seconds, 2 * configured.lease_seconds)
        return timedelta(seconds=seconds)

    def void_claims(self) -> None:
        expired = Page.objects.filter(
            claimed_at__lt=Now() - get_settings().lease
        ).exclude(token="")
        self.report.claims = self._change(expired, token="", claimed_at=None)

    def remove_pages(self) -> None:
        """Remove pages that were merged or replaced, and served for long enough."""
        pages = Page.objects.filter(section__site=self.site.name, state=State.RETIRED)
        self._remove(pages.filter(retired_at__lt=timezone.now() - self.grace))

    def remove_sections(self) -> None:
        """Remove the pages of sections that are gone.

        Their rows stay: whoever asks for a page hears that it is gone, and if the
        section comes back, its pages get new numbers.
        """
        for section in self._gone_sections().filter(pages__isnull=False).distinct():
            with atomic():
                # Somebody who knows it may have built it a moment ago.
                lock([section.pk])
                if not self._gone_sections().filter(pk=section.pk).exists():
                    continue
                self._remove(section.pages.all())
                if not self.is_dry_run:
                    _forget_past(section)
            self.report.sections.append(section.name)

    def _remove(self, pages: QuerySet[Page]) -> None:
        found = list(pages.values_list("pk", "section__name", "number"))
        self.report.pages += len(found)
        if self.is_dry_run or not found:
            return
        remaining = iter([pk for pk, _, _ in found])
        while batch := list(islice(remaining, BATCH_ROWS)):
            Page.objects.filter(pk__in=batch).delete()
        Page.objects.of(self.site.name, INDEX).update(wanted=F("wanted") + 1)
        transaction.on_commit(lambda: self._hide(found), using=own_alias())

    def _hide(self, pages: list[tuple[int, str, int]]) -> None:
        tree = public_tree()
        if tree is None:
            return
        for _, section, number in pages:
            with self.going_on():
                tree.hide(page_name(section, number))

    def remove_changes(self) -> None:
        """Forget changes that nobody will read; a deploy may be under way."""
        old = Change.objects.filter(at__lt=Now() - max(self.grace, MISSING_GRACE))
        unread = old.exclude(section__in=list(registry))
        self.report.changes = unread.count()
        if not self.is_dry_run:
            unread.delete()
        if not self.is_dry_run and not has_subscribers():
            # As engines were switched off, nobody will ever ask for these.
            Publication.objects.filter(at__lt=Now() - self.grace).delete()

    def remove_deliveries(self) -> None:
        """Forget what was told, and engines that the settings name no longer."""
        before = timezone.now() - self.grace
        names = list(get_settings().engines)
        rows = Delivery.objects.filter(site=self.site.name)
        gone = rows.exclude(engine__in=names).filter(changed_at__lt=before)
        told = rows.filter(engine__in=names, state=Delivery.State.TOLD, is_feed=False)
        # Apart, since no index is of use for one or the other.
        for past in (gone, told.filter(not_before__lt=before)):
            self.report.deliveries += past.count()
            if not self.is_dry_run:
                _delete_along(past)
        if self.is_dry_run:
            return
        recipients = EngineHost.objects.filter(site=self.site.name)
        recipients.exclude(engine__in=names).filter(not_before__lt=before).delete()

    @contextmanager
    def going_on(self) -> Iterator[None]:
        """Keep what the storage refuses until all else is done.

        One object under a legal hold would else keep all others for ever.
        """
        try:
            yield
        except StoreError as error:
            self.failures.append(error)

    def raise_failures(self) -> None:
        """Raise what was kept, by its first and its number."""
        if not self.failures:
            return
        first, *others = self.failures
        if not others:
            raise first
        raise StoreError(f"{first} (and {len(others)} more failures)") from first

    def remove_leftovers(self, section: Section) -> None:
        """Note the objects of a section that no row names, and remove the old ones."""
        found = unnamed_objects(section.name)
        rows = Leftover.objects.filter(section=section)
        known = set(rows.values_list("object", flat=True))
        # By the clock that has noted them.
        past = rows.filter(noticed_at__lt=Now() - self.grace)
        old = found.intersection(past.values_list("object", flat=True))
        gone = old if self.is_dry_run else self._delete(old)
        self.report.objects += len(gone)
        self.report.waiting += len(found) - len(old)
        if self.is_dry_run:
            return
        _forget(rows, known - (found - gone))
        Leftover.objects.bulk_create(
            [Leftover(object=name, section=section) for name in found - known],
            batch_size=BATCH_ROWS,
            ignore_conflicts=True,  # another prune notices the same
        )
        self._tidy(section)

    def _delete(self, names: Iterable[str]) -> set[str]:
        """Delete objects; return those that are gone."""
        gone, refusals = set(), 0
        for name in names:
            refusals += 1
            with self.going_on():
                delete_object(name)
                gone.add(name)
                refusals = 0
            if refusals == MAX_REFUSALS:
                break
        return gone

    def _gone_sections(self) -> QuerySet[Section]:
        since = timezone.now() - max(self.grace, MISSING_GRACE)
        gone = Section.objects.filter(site=self.site.name, missing_since__lt=since)
        return gone.exclude(name=INDEX).exclude(name__in=list(registry))

    def _tidy(self, section: Section) -> None:
        before = timezone.now() - self.grace
        numbers = list_pages(section.name)
        # Rows after directories: a page has the one before the other.
        known = set(section.pages.values_list("number", flat=True))
        for number in numbers:
            with self.going_on():
                self.report.temporary += remove_temporary_files(
                    section.name, number, before
                )
            if number not in known:
                remove_empty_directory(section.name, number)
        tree = public_tree()
        if section.name == INDEX and tree is not None:
            self.report.temporary += remove_old_temporaries(tree.root, before)

    def _change(self, rows: QuerySet[Page], **fields: object) -> int:
        return rows.count() if self.is_dry_run else rows.update(**fields)


def _forget_past(section: Section) -> None:
    """Let a section that may come back begin anew, but for the numbers of its pages."""
    Section.objects.filter(pk=section.pk).update(
        fingerprint="",
        watermark=None,
        window_count=0,
        schedule_checked_at=None,
        peak=0,
        earlier_peak=0,
        peak_since=None,
        hold_reason="",
    )


def _delete_along(rows: QuerySet[Delivery]) -> None:
    """Delete rows in the order of their keys, so that none is passed over twice."""
    last = 0
    ordered = rows.order_by("pk").values_list("pk", flat=True)
    while batch := list(ordered.filter(pk__gt=last)[:BATCH_ROWS]):
        last = batch[-1]
        # One statement, which leaves alone what has changed meanwhile.
        some = rows.filter(pk__in=batch)
        some._raw_delete(some.db)


def _forget(rows: QuerySet[Leftover], names: set[str]) -> None:
    remaining = iter(names)
    while batch := list(islice(remaining, BATCH_ROWS)):
        rows.filter(object__in=batch).delete()
