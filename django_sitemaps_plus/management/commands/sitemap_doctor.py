"""``sitemap_doctor``: say what fits together, and mend what does not."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser, no_translations
from django.template.defaultfilters import pluralize

from django_sitemaps_plus.diagnostics.doctor import examine
from django_sitemaps_plus.management import output
from django_sitemaps_plus.management.base import SiteCommand

#: The reference of the checks: below the package in a wheel, beside it in a checkout.
PAGE = "docs/reference/checks.md"

_MARKS = {True: "✓", False: "✗", None: "-"}
_PLAIN_MARKS = {True: "ok", False: "NO", None: "- "}


class Command(SiteCommand):
    """Shows a tick or a cross for each thing that sitemaps need."""

    help = "Examine everything that sitemaps need; exit with 1 for a fault."
    requires_system_checks: list[str] = []  # they are part of what it shows

    def add_arguments(self, parser: CommandParser) -> None:
        add = parser.add_argument
        add("--online", action="store_true", help="ask engines and the site's address")
        add("--json", action="store_true", help="print JSON only")
        words = "only print what the reference says of a check, such as W013"
        add("--explain", metavar="ID", help=words)

    def run(self, *, explain: str | None = None, **options: Any) -> None:
        """Print the entry of a check, whatever the settings are; or examine sites."""
        if explain is None:
            super().run(**options)
            return
        package, top = Path(__file__).parents[2:4]
        page = package / PAGE if (package / PAGE).is_file() else top / PAGE
        text = page.read_text("utf-8")
        _, *parts = re.split(r"^## (\w+)\n", text, flags=re.MULTILINE)
        entries = dict(zip(parts[::2], parts[1::2], strict=True))

        code = explain.strip().upper().removeprefix("SITEMAPS_PLUS.")
        if code not in entries:
            number = int(re.sub(r"\D", "", code) or 0)
            near = sorted(
                entries,
                key=lambda it: (abs(int(it[1:]) - number), it[0] != code[:1]),
            )
            words = f"There is no check {explain!r}; the nearest ids are"
            raise CommandError(f"{words} {', '.join(near[:3])}.")

        # A terminal follows no link, and a wheel has no other page.
        entry = re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", entries[code])
        self.stdout.write(f"sitemaps_plus.{code}\n\n{entry.strip()}")

    @output.shown_once(is_reported=True)
    @no_translations
    def handle_site(
        self, *, online: bool, json: bool, verbosity: int, **options: Any
    ) -> None:
        """Show each finding; raise a CommandError if one is a fault."""
        findings = []
        has_ticks = "utf" in (self.stdout.encoding or "utf-8").lower()
        marks = _MARKS if has_ticks else _PLAIN_MARKS
        by_probe = groupby(examine(is_online=online), lambda it: it.name.split()[0])
        for _, found in by_probe:
            lines = defaultdict[bool | None, list[str]](list)
            for finding in found:
                findings.append(finding)
                words = f"{finding.name}: {finding.text}"
                words += f"\n    {finding.remedy}" if finding.remedy else ""
                lines[finding.ok].append(words)
            for ok, some in lines.items() if not json else ():
                if ok is not True and verbosity < 2:
                    some = output.one_a_kind(some)
                for words in some:
                    self.stdout.write(f"{marks[ok]} {words}")
        if json:
            self.write_json([asdict(one) for one in findings])
        faults = [finding.name for finding in findings if finding.ok is False]
        if count := len(faults):
            names = output.first_of(list(dict.fromkeys(faults)))
            raise CommandError(f"{count} fault{pluralize(count)}: {names}.")
