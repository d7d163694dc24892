"""``build_sitemaps``: bring the pages of sections up to date."""

from __future__ import annotations

import time
from dataclasses import asdict
from functools import partial
from shlex import quote
from typing import Any

from django.core.management.base import CommandError, CommandParser

from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.building.build import dry_run as render_only
from django_sitemaps_plus.building.plan.replan import serve_live
from django_sitemaps_plus.building.pool import Helpers
from django_sitemaps_plus.building.report import BuildReport
from django_sitemaps_plus.diagnostics.site_problems import left_out_of
from django_sitemaps_plus.management import output
from django_sitemaps_plus.management.base import SiteCommand, number
from django_sitemaps_plus.models.sections import namespace_of_copy
from django_sitemaps_plus.notifications.url_changes import relay
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.sites import get_site

_FLAGS = {
    "--full": "render every page, not only those known to have changed",
    "--replan": "cut the sections into pages anew, as a changed limit asks for",
    "--allow-shrink": "publish even if most entries of a section have gone",
    "--strict": "exit with 1 if a page of the sections has left out rows or values",
    "--live": "remove the pages of the named sections, which are then served live",
    "--move-origin": "take over sitemaps of another origin: the site has moved",
    "--new-namespace": "store all anew: this database is a copy that shares a storage",
    "--dry-run": "render and count, store nothing",
    "--json": "print the report as JSON, nothing else",
}

#: Options of the command that are options of the build, too.
_OPTIONS = ("full", "replan", "allow_shrink", "move_origin", "new_namespace", "helpers")

#: The columns of the table, and what a report has in them.
_COLUMNS = {
    "section": "section",
    "pages": "pages",
    "entries": "entries",
    "bytes": "plain_size",
    "gzipped": "gzip_size",
    "rendered": "rendered",
    "changed": "stored",
    "seconds": "seconds",
}

#: The fate of a section without a source.
_MISSING = (
    "{0}: no longer registered. Its pages leave the index after 24 hours, and are "
    "served until prune_sitemaps removes them. Register it again if it is to stay. If "
    "you renamed or removed it, run prune_sitemaps --section {1} --now"
)

#: Why a section was not built.
_LEFT = (
    "{0}: left to processes with another version of the project, which built it "
    "recently. This one takes it over once they have not built it for DEPLOY_SECONDS; "
    "or now, by build_sitemaps {1} --full"
)


#: Why a section has nothing to be built.
_LIVE = "{}: rendered on request and not built, since its source has live = True"


class Command(SiteCommand):
    """Builds, shows how far it is, and ends with a table."""

    help = "Bring the pages of the sections up to date and publish what has changed."
    failure = "Nothing more was published: {}. What was published before stays."

    def add_arguments(self, parser: CommandParser) -> None:
        words = "default: all that exist"
        parser.add_argument("section", nargs="*", metavar="SECTION", help=words)
        either = parser.add_mutually_exclusive_group()
        for name, words in _FLAGS.items():
            group = either if name in ("--live", "--dry-run") else parser
            group.add_argument(name, action="store_true", help=words)
        words = "processes that render (default: %(default)s)"
        count = number("a number from 1 to 64", 64)
        parser.add_argument("--workers", type=count, default=1, help=words)

    def run(self, **options: Any) -> None:
        """Run for each site, with the same processes to help."""
        if options["new_namespace"]:  # sites of one database share it
            options["new_namespace"] = namespace_of_copy()
        workers = options.pop("workers")
        surroundings = partial(output.shown_once, is_reported=_is_reported(**options))
        with Helpers(workers - 1, surroundings) as helpers:
            super().run(helpers=helpers if workers > 1 else None, **options)

    def handle_site(
        self,
        *,
        section: list[str],
        live: bool,
        strict: bool,
        json: bool,
        verbosity: int,
        **options: Any,
    ) -> None:
        """Build what was asked for, or raise a CommandError."""
        quiet = json or verbosity == 0
        if live:
            self._serve_live(section, quiet=quiet)
            return
        is_reported = _is_reported(json=json, verbosity=verbosity, **options)
        with output.shown_once(is_reported=is_reported):
            report, relay_errors = self._build(
                section, strict=strict, quiet=quiet, **options
            )
        if json:
            self.write_json({**asdict(report), "relay_errors": relay_errors})
        elif not quiet:
            self._show(report, verbosity)
        problems = [*report.problems, *relay_errors]
        problems += map(_LIVE.format, report.live if section else ())
        if verbosity < 2:
            problems = output.one_a_kind(problems)
        if strict:
            counted = [(it.section, output.left_out(it)) for it in report.sections]
            problems += [f"{name}: {words}" for name, words in counted if words]
        if is_reported and any([it.errors for it in report.sections]):
            problems.append("To see where, run it again with --traceback.")
        if not len(registry):
            problems.append("No section is registered: see sitemaps_plus.W025.")
        if problems:
            raise CommandError("\n".join(problems))

    def _build(
        self,
        sections: list[str],
        *,
        dry_run: bool,
        strict: bool,
        quiet: bool,
        **options: Any,
    ) -> tuple[BuildReport, list[str]]:
        """Return the report, and what kept publications from engines."""
        if sections and options["new_namespace"]:
            raise CommandError("Give --new-namespace without sections: it is for all.")
        with output.show_progress(self.stdout, quiet=quiet) as shown:
            if dry_run:
                return render_only(sections), []
            given = {name: options[name] for name in _OPTIONS}
            report = build(sections, progress=shown, **given)
        began = time.monotonic()
        relay_errors = relay()
        report.seconds += time.monotonic() - began
        for section in report.sections if strict else ():
            # Pages that were not rendered have stored what they leave out.
            pages = left_out_of(section.section, get_site())
            stored = [str(problem) for *_, problems in pages for problem in problems]
            section.problems = [*dict.fromkeys([*section.problems, *stored])]
        return report, relay_errors

    def _serve_live(self, sections: list[str], *, quiet: bool) -> None:
        if not sections:
            known = ", ".join(registry)
            raise CommandError(f"Name the sections to serve live: {known}.")
        serve_live(sections)
        if not quiet:
            for name in sections:
                until = "" if name in registry.live() else ", until it is built again"
                self.stdout.write(f"{name} is served live{until}.")
        if problems := relay():
            raise CommandError("\n".join(problems))

    def _show(self, report: BuildReport, verbosity: int) -> None:
        self.stdout.write(output.table(_COLUMNS, asdict(report)["sections"]))
        notes = [_MISSING.format(it, quote(it)) for it in report.missing]
        left = [it.section for it in report.sections if it.is_left]
        notes += [_LEFT.format(it, quote(it)) for it in left]
        for words in notes if verbosity > 1 else output.one_a_kind(notes):
            self.stderr.write(words, self.style.WARNING)
        for section in report.sections:
            if words := output.left_out(section):
                words = f"{section.section}: {words}"
                self.stderr.write(words, self.style.WARNING)
            problems = section.problems
            if verbosity < 2:
                problems = output.one_a_kind(problems, by_subject=True)[:10]
            for problem in problems:
                self.stderr.write(f"  {problem}")
        outcome = f"Index of {report.index_pages or 0:,} pages published"
        if report.is_dry_run:
            outcome = "Nothing was stored (--dry-run)"
        elif report.index_errors:
            outcome = "The index was left as it was"
        elif report.index_pages is None:
            outcome = "The index was left as it is, since some section has never been "
            live = ", ".join(registry.live())
            alike = f"The index is rendered on request, as are: {live}"
            outcome = alike if live else f"{outcome}built"
        self.stdout.write(f"{outcome}. {report.seconds:.2f} s.")


def _is_reported(*, json: bool, verbosity: int, traceback: bool, **_: Any) -> bool:
    """Return whether consoles need not show what the report repeats."""
    return not json and verbosity > 0 and not traceback
