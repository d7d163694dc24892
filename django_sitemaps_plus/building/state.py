"""The state of one build: what is asked for, and what was done."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime

from django.db import Error

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.exceptions import BuildError
from django_sitemaps_plus.models import Section
from django_sitemaps_plus.models.sections import is_well
from django_sitemaps_plus.section import OpenSection, open_section
from django_sitemaps_plus.tracking import deploys

from .pool import Helpers
from .report import SectionReport

logger = logging.getLogger(__name__)

#: Called after each page: its section, pages done and pages to do.
Progress = Callable[[str, int, int], None]


@dataclass(slots=True, kw_only=True)
class Build:
    """A build of some sections of a site: what is asked for, and what was done."""

    names: list[str]  # in the end without those of `live`
    site: Site
    full: bool = False  # render every page, and store those whose bytes differ
    replan: bool = False  # make new plans first
    allow_shrink: bool = False  # let the guard pass everything
    move_origin: bool = False  # take over what was built for another origin
    #: Where to store all objects anew, apart from those of the database that this was
    #: copied from; "" for where they are.
    new_namespace: str = ""
    helpers: Helpers | None = None  # other processes that build, if there is enough
    progress: Progress | None = None
    #: Look for changes first, rather than build only what is known.
    notices: bool = True
    #: Compare the pages longest unchecked too, for a bounded time.
    audits: bool = True
    #: Return when all is published, by whichever process, and take over claims made
    #: before; else leave to others what they are at.
    waits: bool = True
    seconds: float | None = None  # after which no more pages are begun
    #: Asked before pages are begun, whether there is something better to do.
    ends: Callable[[], bool] | None = None
    #: Called with the sections and the number of pages to build, if they are many.
    call_help: Callable[[list[str], int], None] | None = None

    since: datetime | None = None  # claims made before this time are taken over
    reports: dict[str, SectionReport] = field(default_factory=dict)  # by section
    stale: set[str] = field(default_factory=set)  # whose plan fits the source no more
    small: set[int] = field(default_factory=set)  # pages that may merge
    #: Hashes of the sources of this process, by the key of their section.
    fingerprints: dict[int, str] = field(default_factory=dict)
    opened: dict[int, OpenSection] = field(default_factory=dict)  # by key, never sent
    live: list[str] = field(default_factory=list)  # sections whose source is live
    faulty: set[str] = field(default_factory=set)  # sections that failed
    #: When it was last noted that sections are built, by the monotonic clock.
    noted_at: dict[int, float] = field(default_factory=dict)
    #: Whether public names may have been wrong before the first page was built; None
    #: until then.
    was_behind: bool | None = None
    #: Whether the last pass of this process left nothing to build in any section.
    is_through: bool = False
    began: float = field(default_factory=time.monotonic)
    expected: dict[str, int] = field(default_factory=dict)  # pages to build

    def open(self, row: Section) -> OpenSection:
        """Return the section of a row, which is opened once a build."""
        if row.pk not in self.opened:
            self.opened[row.pk] = open_section(row)
        return self.opened[row.pk]

    def report(self, name: str) -> SectionReport:
        """Return the report of a section, to add to it."""
        return self.reports.setdefault(name, SectionReport(section=name))

    @contextmanager
    def attempt(self, section: OpenSection) -> Iterator[None]:
        """Do something for a section; one whose source fails keeps back no other."""
        try:
            with section.reading():
                yield
        except BuildError as error:
            extra = {"action": "section_failed"}
            logger.exception("Section %s cannot be built", section.name, extra=extra)
            self.report(section.name).errors.append(str(error))
            self.faulty.add(section.name)
            try:
                Section.objects.note_fault(section.name, str(error))
            except Error:
                if not is_well():
                    raise
                logger.exception("It is not noted that %s failed", section.name)

    @property
    def is_out_of_time(self) -> bool:
        """Whether no more pages are to be begun."""
        passed = time.monotonic() - self.began
        if self.seconds is not None and passed >= self.seconds:
            return True
        return self.ends is not None and self.ends()

    @property
    def waits_for_others(self) -> bool:
        """Whether to wait for pages that others are at work on; not for the dead."""
        return self.waits and not (self.helpers and self.helpers.have_died)

    def leave(self, name: str) -> None:
        """Leave a section to builders of another version of the project."""
        logger.warning("Section %s is left to builders with other code", name)
        self.report(name).is_left = True

    def is_of_others(self, row: Section) -> bool:
        """Return whether pages of a section are marked for builders with other code."""
        return deploys.is_of_other_code(row, self.fingerprints, self.open)

    def is_left(self, section: OpenSection) -> bool:
        """Return whether a section is left to builders of other code."""
        return section.name in self.reports and self.reports[section.name].is_left

    def note_at_work(self, section: int) -> None:
        """Note now and then, while a build takes long, that this version builds."""
        now, interval = time.monotonic(), deploys.note_interval().total_seconds()
        if now > self.noted_at.get(section, self.began) + interval:
            self.noted_at[section] = now
            deploys.note_build(section, self.fingerprints.get(section, ""))
