"""Plants known mistakes in a copy of the package; a test must catch each.

Run it with ``make mutants``. It ends with a table, and fails where a mutant survives.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from .delivery_mistakes import DELIVERY_MUTANTS
from .file_mistakes import FILE_MUTANTS
from .http_mistakes import EGRESS_MUTANTS, SECRET_MUTANTS
from .mistakes import MUTANTS, TESTS, Mutant

TOP = Path(__file__).parents[2]
PACKAGE = "django_sitemaps_plus"

#: What pytest exits with where tests ran and some failed.
FAILED = 1

#: Seconds after which a test that hangs counts as failed.
HANG = 900


def copy_project(directory: Path) -> None:
    """Copy what the tests need."""
    skip = shutil.ignore_patterns("__pycache__", "*.pyc")
    for name in (PACKAGE, "tests"):
        shutil.copytree(TOP / name, directory / name, ignore=skip)
    shutil.copy(TOP / "pyproject.toml", directory)


def plant(mutant: Mutant, directory: Path) -> None:
    """Make the mistake.

    Raises:
        LookupError: the module has no such text, or more than one.
    """
    path = directory / PACKAGE / mutant.module
    text = path.read_text()
    if text.count(mutant.old) != 1:
        found = text.count(mutant.old)
        raise LookupError(f"{mutant.module} has {found} times {mutant.old!r}")
    path.write_text(text.replace(mutant.old, mutant.new))


def run(directory: Path, test: str, database: str) -> int:
    """Run a test in a copy; return what pytest exits with."""
    environment = {**os.environ, "TEST_DB": database, "PYTHONPATH": str(directory)}
    environment.pop("DJANGO_SETTINGS_MODULE", None)
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
    try:
        return subprocess.run(
            [*command, test],
            cwd=directory,
            env=environment,
            capture_output=True,
            timeout=HANG,
        ).returncode
    except subprocess.TimeoutExpired:
        return FAILED


def verdict(mutant: Mutant) -> str:
    """Plant one mutant and run its test; return a word for what came of it."""
    with tempfile.TemporaryDirectory(prefix="sitemaps-plus-mutant-") as name:
        copy_project(Path(name))
        try:
            plant(mutant, Path(name))
        except LookupError as error:
            return f"NOT PLANTED: {error}"
        code = run(Path(name), mutant.test, mutant.database)
    if code == FAILED:
        return "caught"
    return "SURVIVED" if code == 0 else f"NOT RUN: pytest exits with {code}"


def broken_tests(mutants: list[Mutant]) -> Iterator[str]:
    """Yield the tests that fail without any mutant, and so prove nothing."""
    with tempfile.TemporaryDirectory(prefix="sitemaps-plus-mutant-") as name:
        copy_project(Path(name))
        for test, database in sorted({(m.test, m.database) for m in mutants}):
            if code := run(Path(name), test, database):
                yield f"{test} on {database}: pytest exits with {code}"


def main(words: list[str]) -> int:
    """Try the mutants whose names contain one of the words; all without any.

    Returns:
        How many were not caught.
    """
    delivering = (*DELIVERY_MUTANTS, *EGRESS_MUTANTS, *SECRET_MUTANTS)
    every = (*MUTANTS, *FILE_MUTANTS, *delivering)
    mutants = [m for m in every if not words or any(word in m.name for word in words)]
    if broken := list(broken_tests(mutants)):
        print("Without any mutant these tests fail:", *broken, sep="\n  ")
        return len(broken)
    results = []
    for mutant in mutants:
        began = time.monotonic()
        results.append((verdict(mutant), mutant))
        print(f"{time.monotonic() - began:5.0f} s  {mutant.name}", flush=True)
    print()
    for result, mutant in results:
        print(f"{result:10} {mutant.name} ({mutant.test.removeprefix(TESTS + '/')})")
    survivors = [mutant for result, mutant in results if result != "caught"]
    print(f"\n{len(results) - len(survivors)} of {len(results)} mutants are caught")
    return len(survivors)


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1:]), 1))
