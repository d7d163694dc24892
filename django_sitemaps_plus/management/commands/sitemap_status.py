"""``sitemap_status``: show the state of sections and engines."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.core.serializers.json import DjangoJSONEncoder
from django.utils import timezone

from django_sitemaps_plus.building.report import index_problems
from django_sitemaps_plus.conf import get_site
from django_sitemaps_plus.maintenance.status import (
    EngineStatus,
    SectionStatus,
    engine_status,
    section_status,
)
from django_sitemaps_plus.management.tables import table
from django_sitemaps_plus.models import INDEX, Page


class Command(BaseCommand):
    """Shows a line for each section and engine, and fails where one needs a person."""

    help = "Show how sections and engines are; exit with 1 if one needs attention."

    def add_arguments(self, parser: CommandParser) -> None:
        """Define the options."""
        parser.add_argument(
            "--json", action="store_true", help="print the sections as JSON"
        )

    def handle(self, *, json: bool, **options: Any) -> None:
        """Show how all are; raise a CommandError if one of them needs a person."""
        site = get_site()
        sections, engines = section_status(site), engine_status(site)
        self.stdout.write(_as_json(sections) if json else _as_text(sections, engines))
        problems = [problem for section in sections for problem in section.problems]
        problems += index_problems(Page.objects.of(site.name, INDEX))
        problems += [problem for engine in engines for problem in engine.problems]
        if problems:
            raise CommandError("\n".join(problems))


def _as_json(sections: list[SectionStatus]) -> str:
    return json.dumps([asdict(section) for section in sections], cls=DjangoJSONEncoder)


def _as_text(sections: list[SectionStatus], engines: list[EngineStatus]) -> str:
    found = [table(_HEAD, [_row(section) for section in sections])]
    if engines:
        found.append(table(_ENGINE_HEAD, [_engine_row(engine) for engine in engines]))
    for engine in engines:
        for feed, feedback in engine.feedback.items():
            words = json.dumps(feedback, ensure_ascii=False)
            found.append(f"{engine.engine} says of {feed}: {words}")
    return "\n".join(found)


_HEAD = (
    *("section", "pages", "entries", "dirty", "held", "parked", "skipped"),
    *("changes", "age"),
)


def _row(section: SectionStatus) -> list[str | int]:
    return [
        section.section,
        section.pages,
        section.entries,
        section.dirty,
        section.held_pages,
        section.parked,
        section.skipped,
        section.changes,
        _age(section.published_at, "never"),
    ]


_ENGINE_HEAD = ("engine", "waiting", "rejected", "parked", "failing", "oldest")


def _engine_row(engine: EngineStatus) -> list[str | int]:
    return [
        engine.engine,
        engine.waiting,
        engine.dead,
        len(engine.parked),
        len(engine.failing),
        _age(engine.oldest, "-"),
    ]


def _age(moment: datetime | None, otherwise: str) -> str:
    if moment is None:
        return otherwise
    return f"{(timezone.now() - moment).total_seconds():,.0f} s"
