"""``build_sitemaps``: bring the pages of sections up to date."""

from __future__ import annotations

import argparse
import json as json_module
import time
from dataclasses import asdict
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError, CommandParser

from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.building.report import BuildReport, SectionReport
from django_sitemaps_plus.building.report import dry_run as render_only
from django_sitemaps_plus.exceptions import SitemapsPlusError
from django_sitemaps_plus.management.progress import show_progress
from django_sitemaps_plus.management.tables import table
from django_sitemaps_plus.notifications.url_changes import relay


def workers(text: str) -> int:
    """Return a number of processes, 1 to 64."""
    if not text.isdecimal() or not 1 <= int(text) <= 64:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 to 64")
    return int(text)


_FLAGS = {
    "--full": "render every page, not only those known to have changed",
    "--replan": "cut the sections into pages anew, as a changed limit asks for",
    "--allow-shrink": "publish even if most entries of a section have gone",
    "--dry-run": "render and count, store nothing",
    "--json": "print the report as JSON, nothing else",
}


class Command(BaseCommand):
    """Builds, shows how far it is, and ends with a table."""

    help = "Bring the pages of the sections up to date and publish what has changed."

    def add_arguments(self, parser: CommandParser) -> None:
        """Define the options."""
        parser.add_argument(
            "sections", nargs="*", metavar="SECTION", help="default: all that exist"
        )
        for name, words in _FLAGS.items():
            parser.add_argument(name, action="store_true", help=words)
        words = "processes that render (default: %(default)s)"
        parser.add_argument("--workers", type=workers, default=1, help=words)

    def handle(
        self,
        *,
        sections: list[str],
        dry_run: bool,
        json: bool,
        verbosity: int,
        **others: Any,
    ) -> None:
        """Build what was asked for, or raise a CommandError."""
        options = {n: others[n] for n in ("full", "replan", "allow_shrink", "workers")}
        quiet = json or verbosity == 0
        try:
            with show_progress(self.stdout, quiet=quiet) as progress:
                report = (
                    render_only(sections)
                    if dry_run
                    else build(sections, progress=progress, **options)
                )
        except (SitemapsPlusError, ImproperlyConfigured) as error:
            why = f"{error}".rstrip(".")
            raise CommandError(
                f"Nothing more was published: {why}. What was published before stays."
            ) from error
        began = time.monotonic()
        relay_errors = [] if dry_run else relay()
        report.seconds += time.monotonic() - began
        if json:
            found = {**asdict(report), "relay_errors": relay_errors}
            self.stdout.write(json_module.dumps(found, indent=2))
        elif not quiet:
            self.stdout.write(table(_HEAD, [_row(s) for s in report.sections]))
            self._warn(report, verbosity)
            self.stdout.write(f"{_outcome(report)}. {report.seconds:.2f} s.")
        if problems := report.problems + relay_errors:
            raise CommandError("\n".join(problems))

    def _warn(self, report: BuildReport, verbosity: int) -> None:
        for name in report.missing:
            self.stderr.write(self.style.WARNING(f"{name} {_MISSING}"))
        for section in report.sections:
            if not section.skipped and not section.dropped:
                continue
            words = (
                f"{section.section}: {section.entries:,} of "
                f"{section.skipped + section.entries:,} entries listed, "
                f"{section.dropped:,} of their values left out"
            )
            self.stderr.write(self.style.WARNING(words))
            for problem in section.problems[: 10 if verbosity < 2 else None]:
                self.stderr.write(f"  {problem}")


_HEAD = (
    *("section", "pages", "entries", "bytes", "gzipped"),
    *("rendered", "stored", "seconds"),
)

#: What becomes of a section without a source.
_MISSING = (
    "is no longer registered: its pages leave the index after 24 hours, and are served "
    "until prune_sitemaps removes them. Register it again if it is to stay"
)


def _row(section: SectionReport) -> list[str | int]:
    return [
        section.section,
        section.pages,
        section.entries,
        section.plain_size,
        section.gzip_size,
        section.rendered,
        section.stored,
        f"{section.seconds:.2f}",
    ]


def _outcome(report: BuildReport) -> str:
    if report.is_dry_run:
        return "Nothing was stored (--dry-run)"
    if report.index_errors:
        return "The index was left as it was"
    if report.index_pages is None:
        return "The index was left as it is, since some section has never been built"
    return f"Index of {report.index_pages:,} pages published"
