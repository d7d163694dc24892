"""The runner: one process that builds, notifies, audits and prunes."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from functools import partial
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, TypeAlias, TypeVar

from django.db import connections, reset_queries
from django.db.models import Count, IntegerField, Max, Value
from django.utils import timezone

from django_sitemaps_plus.building.report import BuildReport
from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.models import INDEX, Change, Page, Section, own_alias
from django_sitemaps_plus.models.claims import LEASES_TOLD, keep
from django_sitemaps_plus.notifications.submit import DeliveryReport
from django_sitemaps_plus.outages import in_one_line
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.tracking.databases import attempt, databases

from . import work
from .presence import Presence

#: Seconds after which all sections are looked at: what no row tells is found so.
SWEEP_SECONDS = 60

#: Seconds between two audits, and between two looks whether to prune.
AUDIT_SECONDS, PRUNE_SECONDS = 600, 3_600

#: Seconds between two looks whether somebody asked for an audit of what is listed.
ASKED_SECONDS = 10

#: How old the last prune of a site is before it is pruned again.
PRUNE_AGE = timedelta(days=1)

#: Seconds for which engines may keep builds waiting.
NOTIFY_SECONDS = 5

#: Seconds between two looks, at least.
LEAST_SECONDS = 0.2

#: Seconds between two tries after a failure, at first and at most.
RETRY_SECONDS, MOST_RETRY_SECONDS = 1, 30

T = TypeVar("T")

# The newest change and the number of changes, by section.
_Newest: TypeAlias = dict[str, tuple[int, int]]


class Runner:
    """Does the work of workers, one thing after another, until it is asked to end."""

    def __init__(
        self,
        built: Callable[[BuildReport], object],
        notified: Callable[[DeliveryReport], object],
        failed: Callable[[str], object],
        **options: Any,
    ) -> None:
        """Take what tells people of builds, of submissions and of failures.

        The first two are called with the site in force. The options are attributes of
        its builds.
        """
        self.is_ended = False
        self._ends: SimpleQueue[None] = SimpleQueue()  # a signal may fill it any time
        self._built, self._notified, self._failed = built, notified, failed
        self._options = options
        self._due = dict.fromkeys(("sweep", "notify", "audit", "listed"), 0.0)
        self._due["prune"] = time.monotonic() + SWEEP_SECONDS  # after what is urgent
        self._pause = RETRY_SECONDS
        self._faults: dict[str, str] = {}  # by job, as long as they last
        self._seen: dict[str, _Newest] = {}  # by database
        self._sections: tuple[int, ...] = ()
        #: Pages that could not be built, by section; the next sweep tries again.
        self._stuck: dict[str, int] = {}
        self._moved_at = math.inf  # by the monotonic clock, while it is at work
        self._pruning = Thread()

    def end(self) -> None:
        """Ask it to end with the page at hand; a handler of signals may do so."""
        self.is_ended = True
        self._ends.put(None)

    def run(self) -> None:
        """Work until it is asked to end; a failure is told, and tried again."""
        presence = Presence("run_sitemaps", self._moves)
        presence.start()
        while not self.is_ended:
            self._move()
            with keep(self._move):
                self._step()
            self._moved_at = math.inf
            wait = min(
                self._due["notify"] - time.monotonic(), get_settings().wake_seconds
            )
            wait = self._pause if "look" in self._faults else wait
            try:
                self._ends.get(timeout=max(wait, LEAST_SECONDS))
            except Empty:
                continue
        presence.end()  # not after a crash, which others are to notice

    def run_once(self) -> None:
        """Do all that there is to do now, as from cron."""
        if (looked := self._try("look", self._look)) is None:
            return
        self._seen = looked[2]
        self._try("build", self._build, ())
        self._try("notify", self._notify, get_settings().task_seconds)
        self._due["notify"] = math.inf  # the audit need not wait for more
        self._try("audit", self._audit)
        for site in self._try("listed", work.asked_audits) or ():
            self._try("listed", work.audit_listed, site)
        self._try("prune", work.prune_sites, PRUNE_AGE)
        work.note_worker("run_sitemaps --once", has_ended=True)

    def _move(self) -> None:
        self._moved_at = time.monotonic()

    def _moves(self) -> bool:
        """Return whether it waits for work, or had a heartbeat lately."""
        longest = LEASES_TOLD * get_settings().lease_seconds
        return time.monotonic() - self._moved_at < longest

    def _step(self) -> None:
        """Build what has changed, notify, and do what can wait for a change."""
        reset_queries()  # which DEBUG keeps
        for connection in connections.all(initialized_only=True):
            if connection.errors_occurred:  # its server may have restarted
                connection.close_if_unusable_or_obsolete()
        looked = self._try("look", self._look)
        if looked is None:
            self._due["sweep"] = 0.0  # once the database is back
            return
        changed, dirty, self._seen = looked
        names = changed | {it for it in dirty if dirty[it] != self._stuck.get(it)}
        if self._is_due("sweep", SWEEP_SECONDS):
            self._sections = tuple(Section.objects.values_list("pk", flat=True))
            self._try("build", self._build, (), dirty)
        elif names:
            # A dirty index alone is built with any section.
            named = names - {INDEX} or set(list(registry)[:1])
            self._try("build", self._build, named, dirty)
        if self._is_due("notify", SWEEP_SECONDS):
            self._try("notify", self._notify, NOTIFY_SECONDS)
        if self._is_due("audit", AUDIT_SECONDS):
            self._try("audit", self._audit)
        self._begin_others()

    def _is_due(self, what: str, seconds: float) -> bool:
        """Return whether it is time, and set the next time."""
        now = time.monotonic()
        if now < self._due[what]:
            return False
        self._due[what] = now + seconds
        return True

    def _try(self, job: str, do: Callable[..., Any], *arguments: Any) -> Any:
        """Do a job, unless it is asked to end; tell a failure once, and try it soon."""
        if self.is_ended:
            return None
        try:
            done = do(*arguments)
        except work.FAILURES as error:
            words = in_one_line(error)
            if self._faults.get(job) != words:
                self._faults[job] = words
                self._failed(words)
            # A sweep finds what was seen, and is still to be done.
            soon = time.monotonic() + self._pause
            self._due["sweep"] = min(self._due["sweep"], soon)
            self._pause = min(2 * self._pause, MOST_RETRY_SECONDS)
            return None
        self._faults.pop(job, None)
        if not self._faults:
            self._pause = RETRY_SECONDS
        return done

    def _look(self) -> tuple[set[str], dict[str, int], dict[str, _Newest]]:
        """Return the sections with new changes, pages to build by section, and all.

        By one query of each database that may hold changes.
        """
        changed, dirty, seen = set[str](), dict[str, int](), dict[str, _Newest]()
        for alias in databases():
            rows: Any = Change.objects.using(alias).order_by().values_list("section")
            rows = rows.annotate(last=Max("pk"), count=Count("pk"))
            if alias == own_alias():
                # By section, or no index would find them.
                pages: Any = Page.objects.claimable().filter(section__in=self._sections)
                pages = pages.order_by().values_list("section__name")
                none = Value(0, IntegerField())
                rows = rows.union(pages.annotate(last=none, count=Count("pk")))
            counts: Any = attempt(alias, partial(list, rows)) or ()
            found = seen[alias] = {it: (last, n) for it, last, n in counts if last}
            dirty |= {it: n for it, last, n in counts if not last}
            before = self._seen.get(alias, {})
            # Another number: a change may commit after one with a higher key.
            changed |= {it for it in found if found[it] != before.get(it)}
        return changed, dirty, seen

    def _build(
        self, names: Iterable[str], dirty: Mapping[str, int] = {}, **options: Any
    ) -> None:
        options = {"ends": lambda: self.is_ended, "audits": False, **options}
        rendered = 0

        def built(report: BuildReport) -> None:
            nonlocal rendered
            rendered += sum([it.rendered for it in report.sections])
            self._built(report)

        try:
            work.build_sections(names, built=built, **self._options, **options)
        finally:
            self._stuck = {} if rendered else dict(dirty)
            if rendered:
                self._due["notify"] = 0.0

    def _notify(self, seconds: float) -> None:
        def notified(report: DeliveryReport) -> None:
            note(report)
            self._notified(report)

        with work.noting_due(self._note_due) as note:
            work.notify(notified, seconds)

    def _note_due(self, moment: datetime) -> None:
        wait = (moment - timezone.now()).total_seconds()
        self._due["notify"] = time.monotonic() + min(wait, SWEEP_SECONDS)

    def _begin_others(self) -> None:
        """Begin jobs that may take long, and for which no edit waits."""
        if self._is_due("listed", ASKED_SECONDS):
            for site in self._try("listed", work.asked_audits) or ():
                self._try("listed", self._begin, work.audit_listed, site)
        if self._is_due("prune", PRUNE_SECONDS) and not self._pruning.is_alive():
            begun = self._try("prune", self._begin, work.prune_sites, PRUNE_AGE)
            self._pruning = begun or self._pruning

    def _begin(self, do: Callable[[T], object], argument: T) -> Thread:
        """Do a job in a thread of its own."""

        def job() -> None:
            try:
                do(argument)
            except work.FAILURES as error:
                self._failed(in_one_line(error))
            finally:
                connections.close_all()

        thread = Thread(target=job, daemon=True)
        thread.start()
        return thread

    def _audit(self) -> None:
        """Compare old pages until there is something better to do; then go on later."""
        is_left = False

        def ends() -> bool:
            nonlocal is_left
            if not is_left:
                is_late = time.monotonic() >= self._due["notify"]
                is_left = self.is_ended or is_late or bool(self._look()[0])
            return is_left

        self._build((), notices=False, audits=True, ends=ends)
        if is_left:
            self._due["audit"] = 0.0
