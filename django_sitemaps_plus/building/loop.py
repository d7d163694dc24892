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

from django.db import Error

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.core.limits import LimitExceededError
from django_sitemaps_plus.exceptions import SourceError, StalePlanError
from django_sitemaps_plus.models import INDEX, Page
from django_sitemaps_plus.signals import page_built
from django_sitemaps_plus.sources import rendering
from django_sitemaps_plus.sources.route import compile_route
from django_sitemaps_plus.storage import deferred_flush

from .claims import claim, is_anybody_busy, release, renew
from .index import build_index_page
from .page import BuiltPage, build_page
from .publisher import Result, flip
from .reshape import split

logger = logging.getLogger(__name__)


#: Between two looks at pages that somebody else is at work on.
POLL_SECONDS = 0.05

#: After which a builder that is still at work on a batch says so.
RENEW_SECONDS = 10.0


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
    shrank: bool = False  # whether a page got small enough to be merged, perhaps


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
        sections: primary keys of the sections to work for.
        since: claims made before this time are taken over.
        told: called after each page with the name of its section.
    """

    site: Site
    sections: Collection[int]
    since: datetime | None = None
    told: Callable[[str], None] | None = field(default=None, repr=False)
    counts: dict[str, Counts] = field(default_factory=dict)
    failed: set[int] = field(default_factory=set)

    def run(self) -> dict[str, Counts]:
        """Build until no page is left to do, by this process or another.

        Returns:
            What was done, by section.

        Raises:
            StoreError: the storage failed; claims are given up without blame.
            DatabaseError: the database failed.
        """
        while True:
            pages = claim(self.sections, since=self.since, without=self.failed)
            if not pages and not is_anybody_busy(self.sections, self.failed):
                return self.counts
            if not pages:
                time.sleep(POLL_SECONDS)  # for who is at the last pages, or its lease
                continue
            try:
                self._build(pages)
            except BaseException:
                with suppress(Error):  # the lease gives them up then
                    release(pages, counts=False)
                raise

    def _build(self, pages: list[Page]) -> None:
        results: list[Result] = []
        renewed = time.monotonic()
        with deferred_flush():
            for page in pages:
                began = time.monotonic()
                if began - renewed > RENEW_SECONDS:
                    renew(pages)
                    renewed = began
                built = self._try(page)
                self._of(page).seconds += time.monotonic() - began
                if built is not None:
                    results.append((page, built))
        flipped = flip(results)
        for page, built in flipped:
            self._count(page, built)
        # Somebody else was faster with these; they may be dirty still.
        lost = [page for page, built in results if (page, built) not in flipped]
        release(lost, counts=False)

    def _try(self, page: Page) -> BuiltPage | None:
        """Build one page; None where that has been dealt with otherwise."""
        try:
            if page.section.name == INDEX:
                return build_index_page(page, self.site)
            return build_page(page, self.site)
        except LimitExceededError:
            self._split(page)
        except StalePlanError:
            self.failed.add(page.pk)
            self._of(page).stale = True
            release([page], counts=False)
        except SourceError as error:
            self._fail(page, error)
        return None

    def _split(self, page: Page) -> None:
        try:
            for piece, built in split(page, self.site):
                self._count(piece, built)
        except SourceError as error:
            self._fail(page, error)

    def _fail(self, page: Page, error: SourceError) -> None:
        if isinstance(error.__cause__, Error):
            raise error
        self.failed.add(page.pk)
        self._of(page).errors.append(f"page {page.number}: {error}")
        logger.error("Page %s is not built: %s", page.number, error)
        release([page], str(error))

    def _count(self, page: Page, built: BuiltPage) -> None:
        counts = self._of(page)
        counts.rendered += 1
        counts.stored += built.is_stored
        counts.skipped += built.skipped
        counts.dropped += built.dropped
        counts.problems += built.problems
        counts.shrank |= built.entries < page.entries
        if self.told is not None:
            self.told(page.section.name)
        if built.is_new:
            _send(page, built, self.site)

    def _of(self, page: Page) -> Counts:
        return self.counts.setdefault(page.section.name, Counts())


def _send(page: Page, built: BuiltPage, site: Site) -> None:
    if page.section.name == INDEX or not page_built.has_listeners():
        return
    with rendering(site):
        url = compile_route("sitemaps_plus:page", ("section", "number"))
        path = url((page.section.name, page.number))
    page_built.send_robust(
        sender=Page,
        section=page.section.name,
        number=page.number,
        entries=built.entries,
        url=site.origin + path,
    )
