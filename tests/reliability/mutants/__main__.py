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
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path

from .delivery_mistakes import DELIVERY_MUTANTS
from .file_mistakes import FILE_MUTANTS
from .http_mistakes import EGRESS_MUTANTS, SECRET_MUTANTS
from .mistakes import MUTANTS, TESTS, Mutant

TOP = Path(__file__).parents[3]
PACKAGE = "django_sitemaps_plus"

#: All mistakes there are.
EVERY = (
    *(*MUTANTS, *FILE_MUTANTS),
    *(*DELIVERY_MUTANTS, *EGRESS_MUTANTS, *SECRET_MUTANTS),
)

#: Of which that many are tried at a time.
AT_ONCE = os.cpu_count() or 1

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
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="sitemaps-plus-mutant-") as name:
        copy_project(Path(name))
        try:
            plant(mutant, Path(name))
        except LookupError as error:
            return f"NOT PLANTED: {error}"
        code = run(Path(name), mutant.test, mutant.database)
    print(f"{time.monotonic() - began:5.0f} s  {mutant.name}", flush=True)
    if code == FAILED:
        return "caught"
    return "SURVIVED" if code == 0 else f"NOT RUN: pytest exits with {code}"


def broken_tests(mutants: Sequence[Mutant], pool: Executor) -> Iterator[str]:
    """Yield the tests that fail without any mutant, and so prove nothing."""
    with tempfile.TemporaryDirectory(prefix="sitemaps-plus-mutant-") as name:
        copy_project(Path(name))
        tests = sorted({(m.test, m.database) for m in mutants})
        codes = pool.map(lambda test: run(Path(name), *test), tests)
        for (test, database), code in zip(tests, codes, strict=True):
            if code:
                yield f"{test} on {database}: pytest exits with {code}"


def main(words: Sequence[str]) -> int:
    """Try the mutants whose names contain one of the words; all without any.

    Returns:
        How many were not caught.
    """
    mutants = [m for m in EVERY if not words or any(word in m.name for word in words)]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        if broken := list(broken_tests(mutants, pool)):
            print("Without any mutant these tests fail:", *broken, sep="\n  ")
            return len(broken)
        results = list(pool.map(verdict, mutants))
    print()
    for result, mutant in zip(results, mutants, strict=True):
        print(f"{result:10} {mutant.name} ({mutant.test.removeprefix(TESTS + '/')})")
    n_caught = results.count("caught")
    print(f"\n{n_caught} of {len(results)} mutants are caught")
    return len(results) - n_caught


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1:]), 1))
