"""``run_sitemaps``: build, notify, audit and prune in one process that stays."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.template.defaultfilters import pluralize
from django.utils import timezone

from django_sitemaps_plus.background.runner import Runner
from django_sitemaps_plus.building.report import BuildReport
from django_sitemaps_plus.management import output
from django_sitemaps_plus.management.base import PrintableCommand
from django_sitemaps_plus.notifications.submit import DeliveryReport
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.sites import get_site

#: Seconds between two lines about a build that takes long.
PROGRESS_SECONDS = 10

#: Failures that are kept, for the end of `--once`.
MAX_FAILURES = 20


class Command(PrintableCommand):
    """Runs until it gets SIGTERM or Ctrl+C; then it ends with the page at hand."""

    help = (
        "Keep sitemaps up to date: build what changes, submit it to search engines, "
        "compare and prune. Needs no broker; several may run."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        words = "do what there is to do now, then end; as from cron"
        parser.add_argument("--once", action="store_true", help=words)

    def run(
        self, *, once: bool, verbosity: int, traceback: bool, **options: Any
    ) -> None:
        """Run; a line for each build with something to say, and for each failure."""
        self.verbosity, self.shown_at = verbosity, time.monotonic()
        self.problems: dict[str, set[str]] = {}  # by site, as long as they last
        self.failures: list[str] = []
        show = self.show_build, self.show_delivery, self.show_failure
        runner = Runner(*show, progress=self.show_progress)
        is_reported = verbosity > 0 and not traceback
        with ending(runner), output.shown_once(is_reported=is_reported):
            if not once:
                self.say("Sitemaps are kept up to date. Ctrl+C ends it.")
                runner.run()
                self.say("Ended.")
                return
            runner.run_once()
        if runner.is_ended:
            self.failures.append("It was asked to end: run it again for the rest.")
        if self.failures:
            raise CommandError("\n".join(self.failures))

    def say(self, words: str) -> None:
        """Write a line with the time, unless it is to be quiet."""
        if self.verbosity:
            self.stdout.write(f"{timezone.localtime():%H:%M:%S} {words}")
            self.stdout.flush()

    def show_progress(self, section: str, done: int, total: int) -> None:
        """Write how far a build is that takes long."""
        now = time.monotonic()
        if done > 1 and now - self.shown_at > PROGRESS_SECONDS:
            self.say(f"{section}: {done:,} of {total:,} pages rendered")
            self.shown_at = now
        elif done == 1:
            self.shown_at = now

    def show_build(self, report: BuildReport) -> None:
        """Write what was built, and what keeps the rest."""
        for section in report.sections:
            if section.rendered:
                self.say(
                    f"{section.section}: {section.rendered:,} "
                    f"page{pluralize(section.rendered)} rendered, "
                    f"{section.stored:,} changed, {section.seconds:.2f} s"
                )
                if words := output.left_out(section):
                    self.say(f"{section.section}: {words}")
        known = self.problems.setdefault(get_site().name, set())
        problems = output.one_a_kind(report.problems)
        for words in problems:
            if words not in known:
                self.show_failure(words)
        # A partial build knows no others.
        if len(report.sections) + len(report.live) == len(registry):
            known.clear()
        known.update(problems)

    def show_delivery(self, report: DeliveryReport) -> None:
        """Write how much engines took, and why they did not take the rest."""
        if report.sent:
            self.say(f"{report.sent:,} URLs submitted")
        for words in report.failures:
            self.show_failure(words)

    def show_failure(self, words: str) -> None:
        """Write why something was not done."""
        self.failures.append(words)
        del self.failures[:-MAX_FAILURES]
        self.stderr.write(f"{timezone.localtime():%H:%M:%S} {words}")


@contextmanager
def ending(runner: Runner) -> Iterator[None]:
    """Let SIGTERM and Ctrl+C end a runner, a second time as they did before."""
    before: dict[int, Any] = {}

    def end(number: int, frame: object) -> None:
        signal.signal(number, before[number])
        runner.end()

    if threading.current_thread() is threading.main_thread():  # else none may be set
        before |= {it: signal.signal(it, end) for it in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
