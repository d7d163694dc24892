"""``prune_sitemaps``: remove files and rows that are no longer needed."""

from __future__ import annotations

import json as json_module
from dataclasses import asdict
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import Error

from django_sitemaps_plus.conf import get_site
from django_sitemaps_plus.exceptions import SitemapsPlusError
from django_sitemaps_plus.maintenance.prune import prune
from django_sitemaps_plus.management.tables import table


class Command(BaseCommand):
    """Prunes, and shows what was removed."""

    help = "Remove files and rows that were replaced more than PRUNE_SECONDS ago."

    def add_arguments(self, parser: CommandParser) -> None:
        """Define the options."""
        parser.add_argument(
            "--dry-run", action="store_true", help="count without removing"
        )
        parser.add_argument("--json", action="store_true", help="print JSON")

    def handle(
        self, *, dry_run: bool, json: bool, verbosity: int, **options: Any
    ) -> None:
        """Prune the site; raise a CommandError if storage or database fail."""
        try:
            report = prune(get_site(), is_dry_run=dry_run)
        except (SitemapsPlusError, ImproperlyConfigured, Error) as error:
            raise CommandError(f"Not everything was removed: {error}") from error
        if json:
            self.stdout.write(json_module.dumps(asdict(report)))
        elif verbosity:
            counted = {**asdict(report), "sections": len(report.sections)}
            self.stdout.write(table(["removed", "number"], list(counted.items())))
            if dry_run:
                self.stdout.write("Nothing was removed (--dry-run).")
