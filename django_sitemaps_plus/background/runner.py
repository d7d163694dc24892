"""The runner: one process that builds, notifies, audits and prunes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from threading import Event
from typing import Any, TypeAlias

from django.db import connections, reset_queries
from django.db.models import Count, IntegerField, Max, Value
from django.utils import timezone

from django_sitemaps_plus.building.report import BuildReport
from django_sitemaps_plus.cache import first_to
from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.models import INDEX, Change, Page, own_alias
from django_sitemaps_plus.notifications.submit import DeliveryReport
from django_sitemaps_plus.outages import in_one_line
from django_sitemaps_plus.tracking.databases import attempt, databases

from . import work
from .presence import Presence

#: Seconds after which all sections are looked at: what no row tells is found so.
SWEEP_SECONDS = 60

#: Seconds between two audits, and between two prunes.
AUDIT_SECONDS, PRUNE_SECONDS = 600, 86_400

#: Seconds between two looks, at least.
LEAST_SECONDS = 0.2

#: Seconds between two tries after a failure, at first and at most.
RETRY_SECONDS, MOST_RETRY_SECONDS = 1, 30

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

        The options are attributes of its builds.
        """
        self.ended = Event()
        self._built, self._notified, self._failed = built, notified, failed
        self._options = options
        self._due = dict.fromkeys(("sweep", "notify", "audit"), 0.0)
        self._due["prune"] = time.monotonic() + AUDIT_SECONDS  # after what is urgent
        self._seen: dict[str, _Newest] = {}  # by database
        #: Pages that could not be built, by section; the next sweep tries again.
        self._stuck: dict[str, int] = {}

    def run(self) -> None:
        """Work until it is asked to end; a failure is told, and tried again."""
        presence, pause = Presence("run_sitemaps"), RETRY_SECONDS
        presence.start()
        try:
            while not self.ended.is_set():
                try:
                    self._step()
                    pause = RETRY_SECONDS
                    wait = self._due["notify"] - time.monotonic()
                    wait = min(wait, get_settings().wake_seconds)
                    self.ended.wait(max(wait, LEAST_SECONDS))
                except work.FAILURES as error:
                    self._failed(in_one_line(error))
                    connections.close_all()  # the database may have restarted
                    # What was seen is still to be done.
                    self._due["sweep"] = 0.0
                    self.ended.wait(pause)
                    pause = min(2 * pause, MOST_RETRY_SECONDS)
        finally:
            presence.end()

    def run_once(self) -> None:
        """Do all that there is to do now, as from cron."""
        self._build(())
        self._notify()
        self._audit()
        self._prune()

    def _step(self) -> None:
        """Build what has changed, and notify; else do what can wait."""
        reset_queries()  # which DEBUG keeps
        changed, dirty, self._seen = self._look()
        if self._is_due("sweep", SWEEP_SECONDS):
            self._build((), dirty)
        elif names := changed | {
            it for it in dirty if dirty[it] != self._stuck.get(it)
        }:
            self._build(names, dirty)
        elif self._is_due("audit", AUDIT_SECONDS):
            self._audit()
        if self._is_due("notify", SWEEP_SECONDS):
            self._notify()
        if self._is_due("prune", PRUNE_SECONDS):
            self._prune()

    def _is_due(self, what: str, seconds: float) -> bool:
        """Return whether it is time, and set the next time."""
        now = time.monotonic()
        if now < self._due[what]:
            return False
        self._due[what] = now + seconds
        return True

    def _look(self) -> tuple[set[str], dict[str, int], dict[str, _Newest]]:
        """Return the sections with new changes, pages to build by section, and all.

        By one query of each database that may hold changes.
        """
        changed, dirty, seen = set[str](), dict[str, int](), dict[str, _Newest]()
        for alias in databases():
            rows: Any = Change.objects.using(alias).order_by().values_list("section")
            rows = rows.annotate(last=Max("pk"), count=Count("pk"))
            if alias == own_alias():
                pages: Any = Page.objects.claimable().order_by()
                pages = pages.values_list("section__name")
                none = Value(0, IntegerField())
                rows = rows.union(pages.annotate(last=none, count=Count("pk")))
            counts: Any = attempt(alias, partial(list, rows)) or ()
            found = seen[alias] = {it: (last, n) for it, last, n in counts if last}
            dirty |= {it: n for it, last, n in counts if not last}
            before = self._seen.get(alias, {})
            changed |= {it for it in found if found[it] > before.get(it, (0, 0))}
        return changed, dirty, seen

    def _build(
        self, names: Iterable[str], dirty: Mapping[str, int] = {}, **options: Any
    ) -> None:
        options = {"ends": self.ended.is_set, "audits": False, **options}
        # A dirty index alone is built with any section.
        reports = work.build_sections(set(names) - {INDEX}, **self._options, **options)
        for report in reports:
            self._built(report)
        if any([it.rendered for report in reports for it in report.sections]):
            self._due["notify"] = 0.0
            self._stuck = {}
        else:
            self._stuck = dict(dirty)

    def _notify(self) -> None:
        reports = work.notify()
        for report in reports:
            self._notified(report)
        if due := work.next_due(reports):
            wait = max((due - timezone.now()).total_seconds(), 1)
            self._due["notify"] = time.monotonic() + min(wait, SWEEP_SECONDS)

    def _audit(self) -> None:
        """Compare old pages, until there is a change to build."""

        def ends() -> bool:
            changed, _, _ = self._look()
            return self.ended.is_set() or bool(changed)

        self._build((), notices=False, audits=True, ends=ends)

    def _prune(self) -> None:
        """Prune, unless another process has done so lately."""
        if first_to("pruned", PRUNE_SECONDS):
            work.prune()
