"""Everything measured on one database, in a process of its own; prints a pickle."""

from __future__ import annotations

import argparse
import os
import pickle
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import django


def main() -> None:
    """Load the rows, measure the subjects, and print what was found."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, required=True)
    parser.add_argument("--rounds", type=int)
    parser.add_argument("subjects", nargs="*", help="default: all")
    given = parser.parse_args()
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.benchmarks.settings"
    django.setup()
    from .subjects import SETTINGS

    if unknown := set(given.subjects) - set(SETTINGS):
        parser.error(f"no subject {min(unknown)!r}: there are {', '.join(SETTINGS)}")
    with own_database():
        found = _measure(given.subjects, given.rows, given.rounds)
    pickle.dump(found, sys.stdout.buffer)


@contextmanager
def own_database() -> Iterator[None]:
    """Have an empty database for the time of a ``with`` block."""
    from django.db import connection

    old_name = connection.settings_dict["NAME"]
    connection.creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)
    try:
        yield
    finally:
        connection.creation.destroy_test_db(old_name, verbosity=0)


def _measure(names: list[str], rows: int, rounds: int | None) -> object:
    from .harness import run
    from .machine import describe_database, describe_machine
    from .report import Run
    from .rows import add_products
    from .subjects import SETTINGS
    from .verdicts import in_short

    chosen = {name: SETTINGS[name] for name in names or SETTINGS}
    machine = describe_machine()
    say(f"{describe_database()}: adding {rows:,} rows")
    add_products(rows)
    results = []
    for setting in chosen.values():
        for subject in setting(rows):
            say(subject.title)
            result = run(subject, rounds)
            for line in in_short(result):
                say(f"  {line}")
            results.append(result)
    return Run(database=describe_database(), machine=machine, results=results)


def say(text: str) -> None:
    """Print a line for a person who waits."""
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
