"""The command line: measure very many rows, pages and builders on each database.

``python -m tests.benchmarks.scale`` takes half an hour, and 10 GB of disk; smaller
numbers show in minutes what it does.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

import django
from django.db import connection

from tests.benchmarks.harness import Result, Subject, run
from tests.benchmarks.machine import describe_database, describe_machine
from tests.benchmarks.one_database import own_database, say
from tests.benchmarks.report import Run, as_markdown
from tests.benchmarks.verdicts import in_short


def main() -> None:
    """Measure on the database that TEST_DB names, or else on two, in processes."""
    given = _arguments()
    if given.part:
        title = f"How far it goes: {given.part}"
        print(as_markdown([_measured(given)], title, datetime.now(UTC)))
        return
    known = os.environ.get("TEST_DB")
    for database in [known] if known else ["postgresql", "sqlite"]:
        for part in given.parts:
            if part != "builders" or database == "postgresql":
                words = [sys.executable, "-m", __package__, *sys.argv[1:]]
                environment = {**os.environ, "TEST_DB": database}
                subprocess.run([*words, "--part", part], env=environment, check=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(f"python -m {__package__}", description=__doc__)
    add = parser.add_argument
    names = ["rows", "pages", "builders"]
    add("--parts", nargs="+", choices=names, default=names, help="default: all")
    add("--part", choices=names, help=argparse.SUPPRESS)  # of this process
    add("--rows", type=int, default=10_000_000, help="%(default)s")
    numbers = [1_000, 10_000, 100_000]
    add("--pages", type=int, nargs="+", default=numbers, help="%(default)s")
    numbers = [1, 2, 4, 8, 16]
    add("--builders", type=int, nargs="+", default=numbers, help="%(default)s")
    add("--seconds", type=float, default=20, help="of each number of builders")
    return parser.parse_args()


def _measured(given: argparse.Namespace) -> Run:
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.benchmarks.settings"
    is_given = "TEST_POSTGRES_URL" in os.environ
    django.setup()
    machine, results = describe_machine(), dict[str, Result]()
    with own_database():
        if connection.vendor == "postgresql" and not is_given:
            with connection.cursor() as cursor:
                for name in ("fsync", "full_page_writes"):  # which tests do without
                    cursor.execute(f"ALTER SYSTEM RESET {name}")
                cursor.execute("SELECT pg_reload_conf()")
        for subject in _subjects(given):
            say(subject.title)
            result = run(subject)
            for line in in_short(result):
                say(f"  {line}")
            # The same of another number of pages is a line of the same table.
            first = results.setdefault(result.title, result)
            if first is not result:
                for figure in result.figures:
                    ratio = first.figures[0].median / figure.median
                    first.figures.append(replace(figure, ratio=ratio))
        database = describe_database()
    return Run(database=database, machine=machine, results=[*results.values()])


def _subjects(given: argparse.Namespace) -> Iterator[Subject]:
    from . import builders, pages, rows

    if given.part == "rows":
        return rows.setting(given.rows)
    if given.part == "pages":
        return pages.setting(given.pages)
    return builders.setting(max(given.pages), given.builders, given.seconds)


if __name__ == "__main__":
    main()
