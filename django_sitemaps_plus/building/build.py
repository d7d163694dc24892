"""A refresh: what has changed is noticed, built and published; the rest stays."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

from django.db import Error
from django.db.models import F

from django_sitemaps_plus.conf import Site, get_settings, get_site
from django_sitemaps_plus.exceptions import BuildError, StoreError
from django_sitemaps_plus.models import INDEX, Page, Section
from django_sitemaps_plus.models.prepared import Rows, fetch
from django_sitemaps_plus.models.transactions import (
    as_django_errors,
    update_pages,
)
from django_sitemaps_plus.publishing import sync
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.rendering import reading
from django_sitemaps_plus.signals import build_finished
from django_sitemaps_plus.storage import get_storage
from django_sitemaps_plus.tracking.deploys import is_of_other_code
from django_sitemaps_plus.tracking.detect import notice

from .audit import mark_old, mark_unchecked
from .claims import BATCH_PAGES, is_anybody_busy
from .guard import has_held_pages, judge, look_again
from .index import forget_missing, may_publish_index, note_missing
from .lost import mark_lost
from .options import Options, Told
from .plan.merge import merge_small
from .plan.replan import (
    begin_replan,
    has_next_plan,
    is_unsettled,
    plan_section,
    renew_plan,
    settle_plan,
)
from .pool import share
from .report import BuildReport, SectionReport, index_problems, section_report
from .worker import Counts, Work, merge_counts

logger = logging.getLogger(__name__)

T = TypeVar("T")

#: How often one refresh builds what its own decisions (the guard's, merges) made dirty.
MAX_ROUNDS = 5


def refresh(names: Iterable[str] = (), options: Options | None = None) -> BuildReport:
    """Bring the pages of sections up to date.

    Args:
        names: sections; none for all of the registry.
        options: how.

    Raises:
        NotRegistered: a section that does not exist.
        ConfigurationError: no origin, or no storage.
        BuildError: a source, the storage or the database failed. What was published
            before stays.
    """
    names = list(names) or list(registry)
    for name in names:
        registry.get(name)
    get_storage()
    site = get_site()
    try:
        with as_django_errors():
            report = _Refresh(site, names, options or Options()).run()
    except StoreError as error:
        _note_failure(site, error)
        raise
    except Error as error:  # InterfaceError is no DatabaseError
        raise BuildError(
            f"the database failed: {type(error).__name__}: {error}"
        ) from error
    build_finished.send_robust(sender=BuildReport, report=report)
    logger.info(
        "Refreshed %s section(s) in %.1f s",
        len(report.sections),
        report.seconds,
        extra={"action": "build_finished"},
    )
    return report


@dataclass(slots=True)
class _Refresh:
    """One refresh of some sections of a site."""

    site: Site
    names: list[str]
    options: Options
    since: datetime | None = None
    counts: dict[str, Counts] = field(default_factory=dict)
    replanned: set[int] = field(default_factory=set)  # by a build before this one
    was_behind: bool | None = None  # as in Work
    fingerprints: dict[int, str] = field(default_factory=dict)  # the same
    began: float = field(default_factory=time.monotonic)

    @property
    def until(self) -> float | None:
        """By the monotonic clock, when no more pages are begun."""
        seconds = self.options.seconds
        return None if seconds is None else self.began + seconds

    def run(self) -> BuildReport:
        planned = [found for name in self.names if (found := self._plan(name))]
        sections = [section for section, _, _ in planned]
        if self.options.waits:
            self.since = min([now for _, now, _ in planned], default=None)
        self.replanned = {section.pk for section, _, is_so in planned if is_so}
        if self.options.notices:
            self._notice(sections)
        if self.options.call_help is not None:
            self._call_help(sections)
        self._build(sections)
        if self.options.audits:
            self._audit(sections)
        missing = note_missing(self.site)
        indexes = self._index(missing)
        if indexes is not None and self._look_after_names(indexes):
            self._build(sections)
            indexes = self._index(missing)
            sync.repair(self.site)  # an index that was hidden has its name again
        return BuildReport(
            sections=self._reports(sections),
            index_pages=None if indexes is None else sum([i.entries for i in indexes]),
            index_errors=index_problems(indexes or ()),
            missing=missing,
            unfinished=self._unfinished(sections),
            seconds=time.monotonic() - self.began,
        )

    def _look_after_names(self, indexes: list[Page]) -> bool:
        was_behind = bool(self.was_behind)
        return sync.look_after(self.site, indexes, was_behind=was_behind)

    def _notice(self, sections: list[Section]) -> None:
        for section in sections:
            self._guarded(section.name, partial(self._prepare, section))
        mark_lost()
        if self.options.full:
            index_pages = Page.objects.of(self.site.name, INDEX)
            index_pages.update(wanted=F("wanted") + 1, attempts=0)

    def _call_help(self, sections: list[Section]) -> None:
        ids = [section.pk for section in sections]
        pages = Page.objects.claimable().filter(section__in=ids).count()
        if self.options.call_help is not None and pages > BATCH_PAGES:
            self.options.call_help([section.name for section in sections], pages)

    def _unfinished(self, sections: list[Section]) -> list[str]:
        """Return the sections with pages for which no time was left."""
        if self.until is None or time.monotonic() < self.until:
            return []
        return [s.name for s in sections if s.pages.claimable().exists()]

    def _plan(self, name: str) -> tuple[Section, datetime, bool] | None:
        return self._guarded(name, lambda: plan_section(name, self.site))

    def _guarded(self, name: str, step: Callable[[], T]) -> T | None:
        """Do something for a section; one whose source fails keeps back no other."""
        try:
            with reading(name, self.site):
                return step()
        except BuildError as error:
            logger.exception("Section %s cannot be built", name)
            counts = self.counts.setdefault(name, Counts())
            counts.errors.append(str(error))
            return None

    def _prepare(self, section: Section) -> None:
        """Mark what has changed, and have a held section looked at anew."""
        is_renewed = renew_plan(section, self.site)
        self.fingerprints[section.pk] = section.fingerprint
        if is_renewed:
            return
        notice(section, registry.get(section.name), self.site)
        if self.options.replan:
            begin_replan(section, self.site)
        if section.hold_reason:
            look_again(section, at_once=self.options.waits)
        if self.options.full:
            pages = section.pages.planned()
            update_pages(pages, [section.pk], wanted=F("wanted") + 1, attempts=0)

    def _build(self, sections: list[Section]) -> None:
        for _ in range(MAX_ROUNDS):
            touched = self._work(sections)
            again = [
                self._guarded(s.name, partial(self._settle, s))
                for s in sections
                if s.name in touched or s.hold_reason or s.pk in self.replanned
            ]
            if not any(again):
                return
        self._work(sections)  # what merges of the last round have left dirty

    def _work(self, sections: list[Section]) -> set[str]:
        """Run the loop; return the sections that it has built pages of."""
        told = Told(self.options.progress)
        told.expect(sections)
        ids = [section.pk for section in sections]
        here = Work(
            self.site,
            ids,
            self.since,
            told,
            waits=self.options.waits,
            until=self.until,
            was_behind=self.was_behind,
            fingerprints=self.fingerprints,
        )
        elsewhere = Work(self.site, ids, self.since, fingerprints=self.fingerprints)
        workers = self.options.workers
        stop_waiting = partial(setattr, here, "waits", False)
        results = share(Work.run, here, elsewhere, workers, on_death=stop_waiting)
        self.was_behind = here.was_behind
        for counts in results:
            merge_counts(self.counts, counts)
        return {name for counts in results for name in counts}

    def _settle(self, section: Section) -> bool:
        """Decide what waits for all pages; return whether some are dirty again."""
        counts = self.counts.get(section.name, Counts())
        must_decide = counts.small or counts.stale or section.hold_reason
        if not must_decide and not is_unsettled(section):
            return False
        section.refresh_from_db()
        if is_of_other_code(section, self.site, self.fingerprints):
            return False  # whoever builds its last page decides
        again = False
        if counts.small and not has_next_plan(section):
            again = merge_small(section, self.site, counts.small)
        if self._is_left_to_others(section):
            return again
        return self._decide(section, counts) or again

    def _is_left_to_others(self, section: Section) -> bool:
        """Return whether somebody else will build the last page of a section."""
        if self.options.waits:
            return False
        return is_anybody_busy([section.pk]) or section.pages.claimable().exists()

    def _decide(self, section: Section, counts: Counts) -> bool:
        allows = self.options.allow_shrink
        again, reason = settle_plan(
            section, self.site, is_stale=counts.stale, allow_shrink=allows
        )
        counts.stale = False
        if section.hold_reason or reason or has_held_pages(section):
            section.hold_reason = judge(section, allow_shrink=allows, of_plan=reason)
            again |= not section.hold_reason
        return again

    def _audit(self, sections: list[Section]) -> None:
        """Compare the pages longest unchecked, for a bounded time."""
        end = time.monotonic() + get_settings().audit_budget_seconds
        if self.until is not None:  # later nothing that is marked would be built
            end = min(end, self.until)
        ids = [section.pk for section in sections]
        while time.monotonic() < end and mark_unchecked(ids):
            self._build(sections)

    def _index(self, missing: list[str]) -> list[Page] | None:
        """Publish the indexes; return their rows, None where it is too early."""
        if missing:
            forget_missing(self.site)
        pages: list[Page] = fetch(_indexes, site=self.site.name)
        if self.options.audits and mark_old(pages):
            pages = fetch(_indexes, site=self.site.name)
        if any([page.wanted > page.built for page in pages]):
            if self.was_behind is None:  # somebody else has built pages
                self.was_behind = True
            is_published = any([page.built for page in pages])
            if not is_published and not may_publish_index(self.site):
                return None
            waits = self.options.waits
            Work(
                self.site,
                [pages[0].section_id],
                self.since,
                waits=waits,
                is_dirty=True,
                was_behind=self.was_behind,
            ).run()
            pages = fetch(_indexes, site=self.site.name)
        return pages

    def _reports(self, sections: list[Section]) -> list[SectionReport]:
        sums = self.options.sums or build_finished.has_listeners()
        planned = {
            section.name: section_report(
                section, self.counts.get(section.name, Counts()), sums=sums
            )
            for section in sections
        }
        unplanned = [
            SectionReport(section=name, errors=self.counts[name].errors)
            for name in self.names
            if name not in planned
        ]
        return [*planned.values(), *unplanned]


def _indexes(site: Any) -> Rows:
    return Page.objects.of(site, INDEX)


def _note_failure(site: Site, error: Exception) -> None:
    """Let the status say why a build has failed, until the indexes are built again.

    Pages whose public names could not be changed are flipped and clean, so they do not
    say it.
    """
    with suppress(Error):
        indexes = Page.objects.of(site.name, INDEX)
        indexes.update(error=str(error)[:2_000], wanted=F("wanted") + 1)
