"""``sitemap_doctor``: say what fits together, and mend what does not."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.template.defaultfilters import pluralize

from django_sitemaps_plus.diagnostics.doctor import examine
from django_sitemaps_plus.management.base import SiteCommand

_MARKS = {True: "✓", False: "✗", None: "-"}
_PLAIN_MARKS = {True: "ok", False: "NO", None: "- "}


class Command(SiteCommand):
    """Shows a tick or a cross for each thing that sitemaps need."""

    help = "Examine everything that sitemaps need; exit with 1 for a fault."
    requires_system_checks: list[str] = []  # they are part of what it shows

    def add_arguments(self, parser: CommandParser) -> None:
        """Define the options."""
        add = parser.add_argument
        add("--online", action="store_true", help="ask engines and the site's address")
        add("--json", action="store_true", help="print JSON only")

    def handle_site(self, *, online: bool, json: bool, **options: Any) -> None:
        """Show each finding; raise a CommandError if one is a fault."""
        findings = []
        has_ticks = "utf" in (self.stdout.encoding or "utf-8").lower()
        marks = _MARKS if has_ticks else _PLAIN_MARKS
        for finding in examine(is_online=online):
            findings.append(finding)
            if json:
                continue
            mark = marks[finding.ok]
            self.stdout.write(f"{mark} {finding.name}: {finding.text}")
            if finding.remedy:
                self.stdout.write(f"    {finding.remedy}")
        if json:
            self.write_json([asdict(one) for one in findings])
        faults = [finding.name for finding in findings if finding.ok is False]
        if count := len(faults):
            raise CommandError(f"{count} fault{pluralize(count)}: {', '.join(faults)}.")
