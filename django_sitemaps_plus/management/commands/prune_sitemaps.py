"""``prune_sitemaps``: remove files and rows that are no longer needed."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandError, CommandParser

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.management.base import SiteCommand
from django_sitemaps_plus.management.output import table
from django_sitemaps_plus.models.sections import owning_site
from django_sitemaps_plus.publishing.prune import prune, removed_sections


class Command(SiteCommand):
    """Prunes, and shows what was removed."""

    help = "Remove files and rows that were replaced more than PRUNE_SECONDS ago."
    failure = "Not everything was removed: {}."

    def add_arguments(self, parser: CommandParser) -> None:
        add = parser.add_argument
        add("--dry-run", action="store_true", help="count without removing")
        add("--json", action="store_true", help="print JSON")
        words = "with --now, a section that you renamed or removed"
        add("--section", action="append", default=[], help=words)
        words = "remove the pages of this section without a wait of 24 hours"
        add("--now", action="store_true", help=words)

    def sections_of(self, site: Site) -> list[str]:
        """Return those that a site no longer has, but their pages."""
        return removed_sections(site)

    def handle_site(
        self,
        *,
        dry_run: bool,
        json: bool,
        section: list[str],
        now: bool,
        verbosity: int,
        **options: Any,
    ) -> None:
        """Prune the site; raise a CommandError if storage or database fail."""
        if now != bool(section):
            raise CommandError("Give --section and --now together, or neither of them.")
        report = prune(owning_site(), is_dry_run=dry_run, removed=section)
        if json:
            self.write_json(asdict(report))
        elif verbosity:
            rows = [{"what": it, "number": n} for it, n in asdict(report).items()]
            self.stdout.write(table({"removed": "what", "number": "number"}, rows))
            if dry_run:
                self.stdout.write("Nothing was removed (--dry-run).")
