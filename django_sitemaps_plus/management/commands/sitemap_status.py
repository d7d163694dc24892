"""``sitemap_status``: show the state of sections and engines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandError, CommandParser

from django_sitemaps_plus.maintenance.dashboard import read_dashboard
from django_sitemaps_plus.maintenance.status import overdue
from django_sitemaps_plus.management.base import SiteCommand
from django_sitemaps_plus.management.output import table
from django_sitemaps_plus.models.sections import owning_site

# The columns of each table, and what they show.
_COLUMNS = {
    "section": "section",
    "pages": "pages",
    "entries": "entries",
    "dirty": "dirty",
    "held": "held_pages",
    "parked": "parked",
    "skipped": "skipped",
    "changes": "changes",
    "oldest": "oldest",
    "built": "last_build_at",
    "published": "published_at",
}
# What it shows of a section that is not built.
_LIVE = {**dict.fromkeys(list(_COLUMNS.values())[1:]), "pages": "live"}
_ENGINE_COLUMNS = {
    "engine": "engine",
    "waiting": "waiting",
    "rejected": "dead",
    "parked": "parked",
    "failing": "failing",
    "oldest": "oldest",
}
_MEANINGS = (
    "Columns: pages, with entries, or live if none are built; dirty: pages to be built;"
    " held: pages that the guard holds; parked: pages that failed too often, or hosts "
    "of an engine that wait for you; skipped: rows that cannot be listed; changes: "
    "saves whose pages are not known yet; oldest: age of the oldest change that waits; "
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
        """Define the options."""
        parser.epilog = _MEANINGS
        parser.add_argument("--json", action="store_true", help="print JSON only")
        parser.add_argument(
            "--max-age",
            type=int,
            metavar="SECONDS",
            help="exit with 1 if a change waits, or no build was made, for so long",
        )

    def handle_site(self, *, json: bool, max_age: int | None, **options: Any) -> None:
        """Show how all are; raise a CommandError if one of them needs a person."""
        [status] = read_dashboard([owning_site()])
        sections, engines = status.sections, status.engines
        found = {"sections": [asdict(section) for section in sections]}
        found["engines"] = [asdict(engine) for engine in engines]
        if json:
            self.write_json(found)
        else:
            self.stdout.write("\n".join(_tables(**found)))
        problems = list(status.problems)
        if max_age is not None:
            problems += overdue(sections, engines, max_age)
        if problems:
            raise CommandError("\n".join(problems))


def _tables(
    sections: list[dict[str, Any]], engines: list[dict[str, Any]]
) -> Iterator[str]:
    yield table(_COLUMNS, [row | _LIVE if row["live"] else row for row in sections])
    if engines:
        yield table(_ENGINE_COLUMNS, engines)
    for engine in engines:
        for feed, feedback in engine["feedback"].items():
            words = json.dumps(feedback, ensure_ascii=False)
            yield f"{engine['engine']} says of {feed}: {words}"
