"""The command line of the benchmark."""

from __future__ import annotations

import argparse
import os
import pickle
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

from .report import Run, as_markdown

_DATABASES = ("sqlite", "postgresql")
_FEWEST_ROWS = 50_000  # a full page


def main() -> None:
    """Measure on each database in turn, and print and write the tables."""
    given = _arguments()
    rows = 100_000 if given.quick else given.rows
    databases = _DATABASES if given.database == "all" else (given.database,)
    runs = [_run(database, rows, given) for database in databases]
    title = f"{rows:,} rows beside django.contrib.sitemaps and django-icv-sitemaps"
    text = as_markdown(runs, title, datetime.now(UTC))
    print(text)
    if given.output:
        given.output.write_text(text, encoding="utf-8")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        "python -m tests.benchmarks",
        description="Measure this app beside others of its kind on the same rows.",
    )
    parser.add_argument("--rows", type=int, default=1_000_000, help="%(default)s")
    parser.add_argument("--quick", action="store_true", help="100,000 rows")
    databases = [*_DATABASES, "mysql", "all"]
    which = "mysql, which is not among all, is for the subject save"
    parser.add_argument("--database", choices=databases, default="all", help=which)
    parser.add_argument("--subjects", nargs="+", default=[], help="default: all")
    parser.add_argument("--rounds", type=int, help="instead of each subject's own")
    parser.add_argument("--output", type=Path, help="file for the tables, as Markdown")
    given = parser.parse_args()
    if given.rows < _FEWEST_ROWS:
        parser.error(f"--rows must be at least {_FEWEST_ROWS:,}")
    return given


def _run(database: str, rows: int, given: argparse.Namespace) -> Run:
    command = [sys.executable, "-m", f"{__package__}.one_database", "--rows", str(rows)]
    command += given.subjects
    if given.rounds:
        command += ["--rounds", str(given.rounds)]
    # A process each: settings are read once, and memory starts fresh.
    done = subprocess.run(
        command,
        env={**os.environ, "TEST_DB": database},
        stdout=subprocess.PIPE,
        check=False,
    )
    if done.returncode:
        sys.exit(f"Measuring on {database} failed; see above.")
    found: Run = pickle.loads(done.stdout)  # noqa: S301 - by ourselves
    return found


if __name__ == "__main__":
    main()
