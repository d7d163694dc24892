"""``check_sitemaps``: check sitemap files, and the sources they are made from."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandError, CommandParser, no_translations
from django.db import Error
from django.template.defaultfilters import pluralize

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.core.validation import WORDS, Problem
from django_sitemaps_plus.diagnostics.advice import advise
from django_sitemaps_plus.diagnostics.audit import (
    MAX_KEPT,
    MAX_SHOWN,
    Audit,
    Inspection,
    keep_findings,
)
from django_sitemaps_plus.management.base import SiteCommand
from django_sitemaps_plus.outages import in_one_line
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.sites import get_site


class Command(SiteCommand):
    """Checks files and entries, or measures sources; fails where it finds a problem."""

    help = "Check sitemap files by the rules of search engines, or measure sources."

    def add_arguments(self, parser: CommandParser) -> None:
        add = parser.add_argument
        words = "check this file, directory or URL, and what its indexes list"
        add("targets", nargs="*", metavar="TARGET", help=words)
        words = "check this project's sitemaps and pages"
        add("--audit", action="store_true", help=words)
        words = "ask for N entries of each file, 0 for all (default: 10)"
        add("--sample", type=int, default=10, metavar="N", help=words)
        words = "begin no other file after N seconds (default: no limit)"
        add("--seconds", type=float, default=math.inf, metavar="N", help=words)
        add("--sources", action="store_true", help="measure sources on real rows")
        words = "look at this section only (default: all)"
        add("--section", action="append", default=[], help=words)
        add("--verify", action="store_true", help="compare suggestions on all rows")
        add("--json", action="store_true", help="print JSON only")

    def by_site(
        self, sites: list[Site], options: dict[str, Any]
    ) -> dict[Site, dict[str, Any]]:
        """Return one site for files, which need none."""
        is_asked = options["audit"] or options["sources"]
        return super().by_site(sites if is_asked else sites[:1], options)

    def handle_site(
        self, *, targets: list[str], audit: bool, sources: bool, **options: Any
    ) -> None:
        """Check what was asked for; raise a CommandError if there is a problem."""
        if sources == (audit or bool(targets)):
            words = "Name files, directories or URLs, or add --audit or --sources."
            raise CommandError(words)
        for name in options["section"]:
            registry.get(name)
        if sources:
            self._advise(**options)
        else:
            self._inspect(targets, audit=audit, **options)

    def _inspect(
        self,
        targets: list[str],
        *,
        audit: bool,
        section: list[str],
        sample: int,
        seconds: float,
        json: bool,
        **options: Any,
    ) -> None:
        """Show what is wrong in files and pages; fail where there is an error."""
        problems: list[Problem] = []

        def show(problem: Problem) -> None:
            if json or len(problems) < MAX_KEPT:
                problems.append(problem)
            if not json:
                self.stdout.write(str(problem))

        inspection = Inspection(show)
        for target in targets:
            inspection.check(target)
        inspection.finish()
        if audit:
            Audit(inspection, get_site(), section, sample).run(seconds)
            inspection.finish()
        report = _report(inspection, problems)
        if json:
            self.write_json(report)
        else:
            self.stdout.write(_as_text(inspection))
        if audit and not section and not targets:
            try:
                keep_findings(get_site(), report)  # for the dashboard
            except Error as error:
                words = f"The findings are not kept: {in_one_line(error)}."
                self.stderr.write(words)
        if count := inspection.errors:
            raise CommandError(f"{count:,} error{pluralize(count)} found.")

    @no_translations
    def _advise(
        self, *, section: list[str], verify: bool, json: bool, **options: Any
    ) -> None:
        """Show the advice on each section; fail where a section has a problem."""
        advices = []
        site = get_site()
        for name in section or list(registry):
            advice = advise(name, site, verify=verify)
            advices.append(advice)
            speed, better = advice.entries_per_second, advice.suggestion
            if json or (advice.problem and not speed):
                continue
            words = "no entries" if speed is None else f"{speed:,} entries/s"
            if better is not None:
                words += f". {better.line} gives the same URLs at "
                words += f"{better.entries_per_second:,}/s"
            self.stdout.write(f"{name}: {words}")
            if advice.form:
                self.stdout.write(f"  {advice.form}")
            if better is not None:
                self.stdout.write(f"  {better.factor:g} times as fast")
            if advice.verified_rows is not None:
                self.stdout.write(f"{name}: the same on {advice.verified_rows:,} rows")
        if json:
            self.write_json([asdict(one) for one in advices])
        problems = [f"{one.section}: {one.problem}" for one in advices if one.problem]
        if problems:
            raise CommandError("\n".join(problems))


def _as_text(inspection: Inspection) -> str:
    lines = [
        f"{source}: {count - MAX_SHOWN:,} more of {rule}"
        for (source, rule), count in inspection.counts.items()
        if count > MAX_SHOWN
    ]
    words = (
        f"{inspection.files:,} file{pluralize(inspection.files)}, "
        f"{inspection.entries:,} entr{pluralize(inspection.entries, 'y,ies')}: "
        f"{inspection.errors:,} error{pluralize(inspection.errors)}, "
        f"{inspection.warnings:,} warning{pluralize(inspection.warnings)}"
    )
    if inspection.is_cut:
        words += ". There was no time for the other files"
    return "\n".join([*lines, words])


def _report(inspection: Inspection, problems: list[Problem]) -> dict[str, Any]:
    counts = Counter[str]()
    for (_, rule), count in inspection.counts.items():
        counts[rule] += count
    shown = [
        {**asdict(one), "words": WORDS[one.rule], "is_warning": one.is_warning}
        for one in problems
    ]
    names = ("files", "entries", "errors", "warnings", "is_cut")
    report = {name: getattr(inspection, name) for name in names}
    return {**report, "counts": counts, "problems": shown}
