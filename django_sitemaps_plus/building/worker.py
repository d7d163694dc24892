"""The loop of all builds: claim, build and flip dirty pages, until none is left."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import replace

from django.db import Error, OperationalError

from django_sitemaps_plus.conf import get_settings, in_force
from django_sitemaps_plus.core.key_ranges import may_merge
from django_sitemaps_plus.core.limits import LimitExceededError
from django_sitemaps_plus.exceptions import (
    SitemapsPlusError,
    SourceError,
    StalePlanError,
)
from django_sitemaps_plus.models import INDEX, Page, State
from django_sitemaps_plus.models.claims import heartbeat
from django_sitemaps_plus.outages import has_lost
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.storage import deferred_flush

from .flip import flip, send_page_built, take_changes_meanwhile
from .index import build_index_page
from .plan.split import split
from .state import Build
from .store import BuiltPage, Result, build_page

logger = logging.getLogger(__name__)

#: Seconds between two looks at pages that another process is at work on.
POLL_SECONDS = 0.05


def build_dirty_pages(build: Build, sections: Collection[int]) -> Build:
    """Build pages until none is left to do, here or, if the build waits, elsewhere.

    The work done is added to the build, which another process may have sent here. A
    section marked for other code is left out.
    """
    total, build.is_through = len(sections), False
    with in_force(build.site):  # this may be another process
        # Cheap, and most builds find nothing to do. Pages being built are dirty.
        while Page.objects.first_dirty(tuple(sections)):
            if build.is_out_of_time:
                return build
            if pages := Page.objects.claim(sections, since=build.since):
                if build.was_behind is None:
                    # Each flip makes the index dirty, and the index is built after the
                    # names have changed. So a dirty one means that a builder was
                    # killed, failed or is at work, and names may be behind.
                    build.was_behind = bool(Page.objects.dirty_index(build.site.name))
                of_others = _build_claimed(build, pages)
                sections = [pk for pk in sections if pk not in of_others]
            elif build.waits_for_others and Page.objects.is_being_built(sections):
                time.sleep(POLL_SECONDS)
            else:
                return build
        build.is_through = len(sections) == total and not build.is_out_of_time
    return build


def help_with(sections: Mapping[int, str], build: Build) -> Build:
    """Build pages of sections, by key and name, as far as this process has them."""
    with in_force(build.site):
        for name in sections.values():
            if name not in registry:
                logger.warning("Section %s is built by one process alone", name)
        known = [key for key, name in sections.items() if name in registry]
    return replace(build_dirty_pages(build, known), opened={})


def _build_claimed(build: Build, pages: list[Page]) -> set[int]:
    """Build claimed pages and flip them; return the sections left to other code."""
    results: list[Result] = []
    try:
        # Pages for builders of other code stay dirty: no other would build them anew.
        others = [page for page in pages if build.is_of_others(page.section)]
        of_others = {page.section_id: page.section.name for page in others}
        Page.objects.release(others)
        for name in sorted(of_others.values()):
            build.leave(name)
        own = [page for page in pages if page.section_id not in of_others]
        for section in {page.section_id for page in own}:
            build.note_at_work(section)
        with Page.objects.keep_claims(own), deferred_flush():
            for page in own:
                began = time.monotonic()
                heartbeat()
                if (new := _build_one(build, page)) is not None:
                    results.append(Result(page, new))
                build.report(page.section.name).seconds += time.monotonic() - began
        try:
            flipped = flip(results)
        except OperationalError as error:
            if not has_lost(error):
                raise
            logger.warning("Pages are built again, since others were there: %s", error)
            # The attempt counts, or this might never end.
            Page.objects.release([it.page for it in results], is_to_blame=True)
            flipped = []

        for result in flipped:
            _count(build, *result)
        # Another process was faster, or the guard holds them and has freed them.
        kept = [result for result in results if result not in flipped]
        for page, new in kept:
            build.report(page.section.name).problems += map(str, new.problems)
        Page.objects.release([it.page for it in kept])
        return set(of_others)
    except BaseException as error:
        # Store no error for a process that was only asked to end.
        is_failure = isinstance(error, SitemapsPlusError | Error)
        said = (str(error) or type(error).__name__) if is_failure else ""
        with suppress(Error):  # the lease gives them up then
            Page.objects.release(pages, said, is_free=True)
        raise


def _build_one(build: Build, page: Page) -> BuiltPage | None:
    """Build one page; None where that has been dealt with otherwise."""
    if build.is_out_of_time:
        Page.objects.release([page])
        return None
    try:
        if page.section.name == INDEX:
            return build_index_page(page)
        section = build.open(page.section)
        try:
            new = build_page(page, section)
        except LimitExceededError:
            pieces = split(page, section)
            for piece in pieces:
                _count(build, *piece)
            if not pieces:
                # A page that another built or split between our reading and claiming it
                # is freed; one that is held, or claimed by another, stays as it is.
                Page.objects.release([page])
            return None
        take_changes_meanwhile(page, section)
        return new
    except StalePlanError as error:
        build.stale.add(page.section.name)
        Page.objects.release([page], str(error))
    except SourceError as error:
        build.report(page.section.name).errors.append(f"page {page.number}: {error}")
        extra = {"action": "page_failed"}
        logger.error("Page %s is not built: %s", page.number, error, extra=extra)
        Page.objects.release([page], str(error), is_to_blame=not error.is_outage)
    return None


def _count(build: Build, page: Page, new: BuiltPage) -> None:
    """Count what was published; the page is as it was before."""
    name = page.section.name
    report = build.report(name)
    report.rendered += 1
    report.stored += new.is_stored
    report.problems += map(str, new.problems)
    if new.is_changed and page.state != State.NEXT:
        send_page_built(page, new.entries)
    if name == INDEX:
        return
    # A page that has shrunk, or is small since the limit was raised, may merge with a
    # neighbour: merge_small() looks at both. The last page is still filling.
    is_filling = page.high is None and new.entries >= page.entries
    if page.built and not is_filling:
        limit = build.open(page.section).source.limit
        if may_merge(new.entries, new.plain_size, limit, get_settings().max_bytes):
            build.small.add(page.pk)
    if build.progress is not None:
        total = max(report.rendered, build.expected.get(name, 0))
        build.progress(name, report.rendered, total)
