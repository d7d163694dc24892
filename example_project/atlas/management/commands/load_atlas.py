"""The command that fills the atlas."""

from __future__ import annotations

from time import perf_counter
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from example_project.atlas.loading import (
    ALL_MIN_POPULATION,
    DEFAULT_MIN_POPULATION,
    Record,
    load_cities,
    load_countries,
    read_cities,
)
from example_project.atlas.progress import show_progress


class Command(BaseCommand):
    """Loads countries and cities; what is loaded already stays as it is."""

    help = "Loads all countries and the 34,006 main cities."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add `--all`."""
        parser.add_argument(
            "--all",
            action="store_true",
            help="load all 234,908 cities, towns and villages",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Load, and say what was new."""
        start = perf_counter()
        verbose = options["verbosity"] > 0
        if verbose:
            self.stdout.write("Reading the data")
        records = read_cities(
            ALL_MIN_POPULATION if options["all"] else DEFAULT_MIN_POPULATION
        )
        countries = load_countries()
        cities = self._load(records) if verbose else load_cities(records)
        if verbose:
            seconds = perf_counter() - start
            self.stdout.write(
                f"{countries:,} countries and {cities:,} cities added; "
                f"{len(records) - cities:,} cities were there ({seconds:.1f} s)"
            )

    def _load(self, records: list[Record]) -> int:
        with show_progress("Loading cities", len(records), self.stdout) as advance:
            return load_cities(records, advance)
