"""``preview_sitemap``: show the first entries of a section, without a build."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from django_sitemaps_plus.diagnostics.section_pages import preview
from django_sitemaps_plus.management.base import SiteCommand, number
from django_sitemaps_plus.management.output import left_out, shown_once
from django_sitemaps_plus.site_urls import page_url
from django_sitemaps_plus.sites import get_site


class Command(SiteCommand):
    """Shows what a page would have, and what it leaves out."""

    help = (
        "Show the first entries of a section as they would be written now, and what is "
        "left out of them. Nothing is built or stored."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        add, positive = parser.add_argument, number("a number from 1 on")
        add("section", nargs=1, metavar="SECTION", help="its name")
        words = "entries to show (default: %(default)s)"
        add("--limit", type=positive, default=5, metavar="N", help=words)
        words = "the page to show them of (default: %(default)s)"
        add("--page", type=positive, default=1, metavar="N", help=words)

    def handle_site(
        self, *, section: list[str], limit: int, page: int, **options: Any
    ) -> None:
        """Show the entries, or raise a CommandError."""
        [name], site = section, get_site()
        with shown_once(is_reported=True):
            entries, tally = preview(name, page, limit, site)
        lines = [f"{name}, page {page}: {page_url(name, page, site)}"]
        lines += entries or ["It has no entries."]
        lines += filter(None, [left_out(tally)])
        lines += [f"  {it}" for it in tally.problems[:limit]]
        more = tally.skipped + tally.dropped - len(tally.problems[:limit])
        if more > 0:
            lines.append(f"  and {more:,} more")
        self.stdout.write("\n".join(lines))
