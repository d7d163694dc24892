"""``run_sitemaps``: build, notify, audit and prune in one process that stays."""

from __future__ import annotations

import signal
import time
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.template.defaultfilters import pluralize
from django.utils import timezone

from django_sitemaps_plus.background.runner import Runner
from django_sitemaps_plus.background.work import FAILURES
from django_sitemaps_plus.building.report import BuildReport
from django_sitemaps_plus.management import output
from django_sitemaps_plus.notifications.submit import DeliveryReport
from django_sitemaps_plus.outages import in_one_line

#: Seconds between two lines about a build that takes long.
PROGRESS_SECONDS = 10


class Command(BaseCommand):
    """Runs until it gets SIGTERM or Ctrl+C; then it ends with the page at hand."""

    help = (
        "Keep sitemaps up to date: build what changes, submit it to search engines, "
        "compare and prune. Needs no broker; several may run."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Define the option."""
        words = "do what there is to do now, then end; as from cron"
        parser.add_argument("--once", action="store_true", help=words)

    def handle(self, *, once: bool, verbosity: int, **options: Any) -> None:
        """Run; a line for each build with something to say, and for each failure."""
        self.verbosity, self.shown_at = verbosity, time.monotonic()
        self.problems = set[str]()
        show = self.show_build, self.show_delivery, self.show_failure
        runner = Runner(*show, progress=self.show_progress)

        def end(*args: object) -> None:
            runner.ended.set()

        signal.signal(signal.SIGTERM, end)
        signal.signal(signal.SIGINT, end)
        if once:
            try:
                runner.run_once()
            except FAILURES as error:
                raise CommandError(in_one_line(error)) from error
            return
        self.say("Sitemaps are kept up to date. Ctrl+C ends it.")
        runner.run()
        self.say("Ended.")

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
        problems = set(output.one_a_kind(report.problems))
        for words in problems - self.problems:  # each once, as long as it lasts
            self.show_failure(words)
        self.problems = problems

    def show_delivery(self, report: DeliveryReport) -> None:
        """Write what engines took."""
        if report.sent:
            self.say(f"{report.sent:,} URLs submitted")
        for words in report.failures:
            self.show_failure(words)

    def show_failure(self, words: str) -> None:
        """Write why something was not done."""
        self.stderr.write(f"{timezone.localtime():%H:%M:%S} {words}")
