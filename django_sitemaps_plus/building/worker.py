"""The loop: claim dirty pages, build them, flip them, until nothing is left to do.

It is the same in a command, in local processes and in workers of a queue.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any

from django.db import Error, OperationalError
from django.db.models import QuerySet

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.core.key_ranges import may_merge
from django_sitemaps_plus.core.limits import LimitExceededError
from django_sitemaps_plus.exceptions import (
    SitemapsPlusError,
    SourceError,
    StalePlanError,
)
from django_sitemaps_plus.models import INDEX, Page, State
from django_sitemaps_plus.models.lease import heartbeat
from django_sitemaps_plus.models.prepared import fetch
from django_sitemaps_plus.models.transactions import has_lost
from django_sitemaps_plus.publishing.sync import is_behind
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.rendering import reading
from django_sitemaps_plus.storage import deferred_flush
from django_sitemaps_plus.tracking.deploys import is_of_other_code

from .claims import claim, is_anybody_busy, keep_claims, release
from .flip import Result, flip, send_page_built
from .index import build_index_page
from .late import take_late_changes
from .plan.split import split
from .store import BuiltPage, build_page

logger = logging.getLogger(__name__)


#: Between two looks at pages that somebody else is at work on.
POLL_SECONDS = 0.05


@dataclass(slots=True)
class Counts:
    """What a loop did for one section."""

    rendered: int = 0  # pages
    stored: int = 0  # new objects
    skipped: int = 0  # rows of the pages rendered that could not be listed
    dropped: int = 0  # values of them left out
    problems: list[str] = field(default_factory=list)  # the first of each page
    errors: list[str] = field(default_factory=list)  # of pages that were not built
    seconds: float = 0.0  # of all loops together
    stale: bool = False  # whether the plan does not fit the source any more
    small: list[int] = field(default_factory=list)  # pages that may be merged, perhaps
    grew: bool = False  # whether the section may have more entries than ever


def merge_counts(total: dict[str, Counts], part: dict[str, Counts]) -> None:
    """Add what one loop did to what others did."""
    for name, counts in part.items():
        known = total.setdefault(name, Counts())
        for item in fields(Counts):
            value = getattr(known, item.name) + getattr(counts, item.name)
            setattr(known, item.name, value)


@dataclass(slots=True)
class Work:
    """One run of the loop.

    Attributes:
        site: the site.
        sections: primary keys of the sections to work for; one that is marked for
            other code is left out from then on.
        since: claims made before this time are taken over.
        told: called after each page with the name of its section.
        waits: whether it ends only when others have built their pages too.
        until: by the monotonic clock, when no more pages are begun.
        is_dirty: whether pages are known to be dirty at the beginning, so that nobody
            need ask.
        was_behind: whether public names may have been wrong before the first page was
            built; None until then.
        fingerprints: of the sources of this process, by the key of their section; those
            that are missing are found when they are asked for.
    """

    site: Site
    sections: Collection[int]
    since: datetime | None = None
    told: Callable[[str], None] | None = field(default=None, repr=False)
    waits: bool = True
    until: float | None = None
    is_dirty: bool = False
    was_behind: bool | None = None
    fingerprints: dict[int, str] = field(default_factory=dict, repr=False)
    counts: dict[str, Counts] = field(default_factory=dict)

    def run(self) -> dict[str, Counts]:
        """Build until no page is left to do, by this process or, if it waits, another.

        Returns:
            What was done, by section.

        Raises:
            StoreError: the storage failed; claims are given up without blame.
            DatabaseError: the database failed.
        """
        is_dirty = self.is_dirty or self._has_dirty()
        while is_dirty and not self._is_late():
            pages = claim(self.sections, since=self.since)
            if pages:
                if self.was_behind is None:
                    self.was_behind = is_behind(self.site)
                self._build_or_release(pages)
            elif self.waits and is_anybody_busy(self.sections):
                time.sleep(POLL_SECONDS)
            else:
                break
            is_dirty = self._has_dirty()
        return self.counts

    def _has_dirty(self) -> bool:
        # Cheap, and most refreshes find nothing to do. Whoever is busy is so with pages
        # that are dirty.
        return bool(fetch(_dirty, tuple(self.sections)))

    def _is_late(self) -> bool:
        return self.until is not None and time.monotonic() >= self.until

    def _build_or_release(self, pages: list[Page]) -> None:
        try:
            self._build(pages)
        except BaseException as error:
            with suppress(Error):  # the lease gives them up then
                release(pages, _words(error))
            raise

    def _build(self, pages: list[Page]) -> None:
        pages = self._leave_to_others(pages)
        results: list[Result] = []
        with keep_claims(pages), deferred_flush():
            for page in pages:
                began = time.monotonic()
                heartbeat()
                built = self._try(page)
                self._of(page).seconds += time.monotonic() - began
                if built is not None:
                    results.append((page, built))
        flipped = self._flip(results)
        for page, built in flipped:
            self._count(page, built)
        # Somebody else was faster with these; they may be dirty still.
        lost = [page for page, built in results if (page, built) not in flipped]
        release(lost)

    def _leave_to_others(self, pages: list[Page]) -> list[Page]:
        """Give up pages, and their sections, that are marked for other code.

        Built by this process they would be clean, and nobody would build them anew.

        Returns:
            The other pages.
        """
        left = [
            page
            for page in pages
            if is_of_other_code(page.section, self.site, self.fingerprints)
        ]
        if not left:
            return pages
        release(left)
        for name in sorted({page.section.name for page in left}):
            logger.warning("Section %s is left to builders with other code", name)
        gone = {page.section_id for page in left}
        self.sections = [pk for pk in self.sections if pk not in gone]
        return [page for page in pages if page.section_id not in gone]

    def _flip(self, results: list[Result]) -> list[Result]:
        try:
            return flip(results)
        except OperationalError as error:
            if not has_lost(error):
                raise
            logger.warning("Pages are built again, since others were there: %s", error)
        # The attempt counts, or this might never end.
        release([page for page, _ in results], is_to_blame=True)
        return []

    def _try(self, page: Page) -> BuiltPage | None:
        """Build one page; None where that has been dealt with otherwise."""
        try:
            if page.section.name == INDEX:
                return build_index_page(page, self.site)
            built = build_page(page, self.site)
            take_late_changes(page, self.site)
            return built
        except LimitExceededError:
            self._split(page)
        except StalePlanError as error:
            self._of(page).stale = True
            release([page], str(error))
        except SourceError as error:
            self._fail(page, error)
        return None

    def _split(self, page: Page) -> None:
        try:
            with reading(page.section.name, self.site):
                pieces = split(page, self.site)
        except SourceError as error:
            self._fail(page, error)
            return
        for piece, built in pieces:
            self._count(piece, built)
        if not pieces:
            # It was read before another split it, and claimed after that.
            release([page])

    def _fail(self, page: Page, error: SourceError) -> None:
        """Leave a page whose source failed."""
        self._of(page).errors.append(f"page {page.number}: {error}")
        logger.error("Page %s is not built: %s", page.number, error)
        release([page], str(error), is_to_blame=not error.is_outage)

    def _count(self, page: Page, built: BuiltPage) -> None:
        counts = self._of(page)
        counts.rendered += 1
        counts.stored += built.is_stored
        counts.skipped += built.skipped
        counts.dropped += built.dropped
        counts.problems += built.problems
        if _is_small(page, built):
            counts.small.append(page.pk)
        counts.grew |= built.entries > page.entries
        if self.told is not None:
            self.told(page.section.name)
        if built.is_new and page.state != State.NEXT:
            send_page_built(page, built.entries, self.site)

    def _of(self, page: Page) -> Counts:
        return self.counts.setdefault(page.section.name, Counts())


def _words(error: BaseException) -> str:
    """Return what failed; nothing where a process was only asked to end."""
    is_failure = isinstance(error, SitemapsPlusError | Error)
    return (str(error) or type(error).__name__) if is_failure else ""


def _is_small(page: Page, built: BuiltPage) -> bool:
    """Return whether it is worth to look for a neighbour to merge with.

    A page may have shrunk, and it may be small only since the limit was raised.
    """
    if not page.built or page.section.name == INDEX:
        return False
    if page.high is None and built.entries >= page.entries:
        return False  # new keys fill it
    limit = registry.get(page.section.name).limit
    return may_merge(built.entries, built.plain_size, limit)


def _dirty(sections: tuple[int, ...]) -> QuerySet[Page, Any]:
    """Return one dirty page of the sections, or none."""
    # By a range, and in the order of the index that has it, or PostgreSQL reads all
    # pages where it takes many of them for dirty, as after a first build.
    found = Page.objects.planned().filter(section__in=sections, is_dirty__gt=0)
    return found.order_by("section_id", "is_dirty").values_list("pk")[:1]
