"""``sitemap_status``: show the state of sections and engines."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict
from json import dumps
from time import sleep
from typing import Any

from django.core.management.base import CommandError, CommandParser, no_translations
from django.db import close_old_connections

from django_sitemaps_plus.diagnostics.problems import problems_of
from django_sitemaps_plus.diagnostics.status import LATE, read_dashboard
from django_sitemaps_plus.diagnostics.words import age_of, span
from django_sitemaps_plus.management.base import SiteCommand, number
from django_sitemaps_plus.management.output import one_a_kind, table
from django_sitemaps_plus.models.sections import SUMS, hold_words, owning_site
from django_sitemaps_plus.notifications.dispatch import KEPT

# The columns of each table, and what they show.
_COLUMNS = {
    "section": "section",
    "pages": "pages",
    "entries": "entries",
    "to build": "dirty",
    "to approve": "held_pages",
    "given up": "parked",
    "left out": "skipped",
    "changes": "changes",
    "oldest": "oldest",
    "built": "last_build_at",
    "published": "published_at",
}
# The columns of a section that is not built.
_LIVE = {**dict.fromkeys(list(_COLUMNS.values())[1:]), "pages": "live"}
_ENGINE_COLUMNS = {
    "engine": "engine",
    "waiting": "waiting",
    "rejected": "dead",
    "stopped": "parked",
    "failing": "failing",
    "oldest": "oldest",
}
# The codes that clear a terminal and go to its first line.
_CLEAR = "\x1b[2J\x1b[H"
_MEANINGS = (
    "Columns: pages, with entries, or live if none are built; to build: pages that "
    "wait for a build; to approve: pages that wait for your approval; given up: pages "
    "that failed often, which are tried again at most hourly; stopped: hosts of an "
    "engine that wait for you; left out: rows that cannot be listed; changes: saves "
    "whose pages are not known yet; oldest: age of the oldest change that waits; "
    "built: time since a build last looked for changes; published: time since a page "
    "last changed; waiting, rejected: URLs and feeds of an engine; failing: hosts "
    "whose last request failed, which are tried again."
)


class Command(SiteCommand):
    """Shows a line for each section and engine, and fails where one needs a person."""

    help = (
        "Show how sections and engines are; exit with 1 if one needs attention, with 2 "
        "if the database cannot say."
    )
    failure, outage_status = "The state is unknown: {}.", 2

    def add_arguments(self, parser: CommandParser) -> None:
        parser.epilog = _MEANINGS
        add, pause = parser.add_argument, number("a whole number, 1 or more")
        add("--json", action="store_true", help="print JSON only")
        words = (
            "exit with 1 if a change waits, or no build was made, for so long; 25 hours"
        )
        add("--max-age", type=int, default=LATE, metavar="SECONDS", help=words)
        words = "print again and again, every 2 or SECONDS seconds, until Ctrl-C"
        add("--watch", type=pause, nargs="?", const=2, metavar="SECONDS", help=words)

    def run(self, **options: Any) -> None:
        """Show how all are, once or until Ctrl-C."""
        if options["watch"] is None:
            super().run(**options)
            return
        if options["json"]:
            raise CommandError("--watch prints tables. Leave out --json.")
        with suppress(KeyboardInterrupt):
            while True:
                if self.stdout.isatty():
                    self.stdout.write("", lambda _: _CLEAR, ending="")
                try:
                    super().run(**options)
                except CommandError as error:
                    self.stdout.write(str(error))
                self.stdout.flush()
                close_old_connections()
                sleep(options["watch"])

    @no_translations
    def handle_site(
        self, *, json: bool, max_age: int, verbosity: int, **options: Any
    ) -> None:
        """Show how all are; raise a CommandError if one of them needs a person."""
        [status] = read_dashboard([owning_site()])
        problems = problems_of(status, max_age=max_age)
        answer = status.answer
        if json:
            report = {
                "answer": answer and asdict(answer) | {"is_known": answer.is_known},
                "sections": [
                    asdict(it)
                    | {"hold_reason": hold_words(it.hold_reason, it.hold_numbers)}
                    | (dict.fromkeys(SUMS) if it.live else {})
                    for it in status.sections
                ],
                "engines": list(map(asdict, status.engines)),
                "problems": list(map(asdict, problems)),
            }
            self.write_json(report)
        else:
            words = "not known"
            if answer and answer.is_known:
                size = f"{answer.size:,} bytes in {answer.seconds:.2f} s"
                words = f"{answer.status}, {size}" if answer.status else "nothing"
            ago = f"{span(age_of(answer.looked_at))} ago" if answer else "never"
            self.stdout.write(f"Django answers: {words}; last asked: {ago}")
            rows = [asdict(it) | (_LIVE if it.live else {}) for it in status.sections]
            self.stdout.write(table(_COLUMNS, rows))
            if status.engines:
                self.stdout.write(table(_ENGINE_COLUMNS, map(asdict, status.engines)))
            for engine in status.engines:
                for feed, feedback in engine.feedback.items():
                    if isinstance(feedback, dict):
                        said = feedback.items()
                        feedback = {name: it for name, it in said if name not in KEPT}
                    words = dumps(feedback, ensure_ascii=False)
                    self.stdout.write(f"{engine.engine} says of {feed}: {words}")
        lines = list(map(str, problems))
        if verbosity < 2:
            lines = one_a_kind(lines)
        if any(problem.level == "error" for problem in problems):
            raise CommandError("\n".join(lines))
        for line in () if json else lines:
            self.stdout.write(line)
