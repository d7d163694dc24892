"""``sitemap_status``: how the sections are, for people, and for monitoring by exit."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.core.serializers.json import DjangoJSONEncoder

from django_sitemaps_plus.conf import get_site
from django_sitemaps_plus.maintenance.status import (
    SectionStatus,
    index_problems,
    status,
)
from django_sitemaps_plus.management.tables import table
from django_sitemaps_plus.models import INDEX, Page
from django_sitemaps_plus.notifications import status as engine_status
from django_sitemaps_plus.notifications.status import EngineStatus


class Command(BaseCommand):
    """Shows a line a section, and fails where one needs a person."""

    help = "Show how the sections are; exit with 1 where one needs attention."

    def add_arguments(self, parser: CommandParser) -> None:
        """Define the options."""
        parser.add_argument(
            "--json", action="store_true", help="print JSON, nothing else"
        )

    def handle(self, *, json: bool, **options: Any) -> None:
        """Show how the sections are.

        Raises:
            CommandError: a section is held, has parked pages or is not registered, or
                the index or an engine needs a person.
        """
        site = get_site()
        found, engines = status(site), engine_status.status(site)
        if json:
            self.stdout.write(_as_json(found))
        else:
            self.stdout.write(table(_HEAD, [_row(section) for section in found]))
            if engines:
                rows = [_engine_row(engine) for engine in engines]
                self.stdout.write(table(_ENGINE_HEAD, rows))
            for engine in engines:
                self._show_feedback(engine)
        problems = [problem for section in found for problem in section.problems]
        problems += index_problems(Page.objects.of(site.name, INDEX))
        problems += [problem for engine in engines for problem in engine.problems]
        if problems:
            raise CommandError("\n".join(problems))

    def _show_feedback(self, engine: EngineStatus) -> None:
        for feed, said in engine.feedback.items():
            words = json.dumps(said, ensure_ascii=False)
            self.stdout.write(f"{engine.engine} says of {feed}: {words}")


_HEAD = (
    "section",
    "pages",
    "entries",
    "dirty",
    "held",
    "parked",
    "skipped",
    "changes",
    "age",
)


def _row(section: SectionStatus) -> tuple[str, ...]:
    numbers = (
        section.pages,
        section.entries,
        section.dirty,
        section.held_pages,
        section.parked,
        section.skipped,
        section.changes,
    )
    age = section.age()
    words = "never" if age is None else f"{age:,.0f} s"
    return (section.section, *[f"{number:,}" for number in numbers], words)


_ENGINE_HEAD = ("engine", "waiting", "rejected", "parked", "failing", "oldest")


def _engine_row(engine: EngineStatus) -> tuple[str, ...]:
    age = engine.age()
    return (
        engine.engine,
        f"{engine.waiting:,}",
        f"{engine.dead:,}",
        f"{len(engine.parked):,}",
        f"{len(engine.failing):,}",
        "-" if age is None else f"{age:,.0f} s",
    )


def _as_json(found: list[SectionStatus]) -> str:
    return json.dumps([asdict(section) for section in found], cls=DjangoJSONEncoder)
