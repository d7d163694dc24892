"""Plants known mistakes one by one; a test must catch each.

``make mutants`` tries all of them, ``--sample 10`` ten that the day chooses. It ends
with a table, and fails where a mutant survives.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from .planting import BROKEN, MUTANTS, VARIABLE, Mutant

TOP = Path(__file__).parents[3]

#: Of which that many are tried at a time.
AT_ONCE = os.cpu_count() or 1

#: What pytest exits with where tests ran and some failed.
FAILED = 1

#: Seconds after which a test that hangs is ended, and after which all of it is.
TEST_HANG, HANG = 60, 240


def run(test: str, database: str, **variables: str) -> int:
    """Run a test; return what pytest exits with."""
    environment = {**os.environ, "TEST_DB": database, **variables}
    environment.setdefault("TEST_HANG_SECONDS", str(TEST_HANG))
    environment.pop("DJANGO_SETTINGS_MODULE", None)
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
    program = subprocess.Popen(
        [*command, test],
        cwd=TOP,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        return program.wait(HANG)
    except subprocess.TimeoutExpired:
        return FAILED
    finally:
        with suppress(ProcessLookupError):
            os.killpg(program.pid, signal.SIGKILL)  # and all that the test has started
        program.wait()


def verdict(mutant: Mutant) -> str:
    """Plant one mutant and run its test; return a word for what came of it."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="sitemaps-plus-mutant-") as scratch:
        broken = Path(scratch) / "broken"
        planted = {
            VARIABLE: mutant.name,
            BROKEN: str(broken),
            "PYTHONPATH": str(Path(__file__).parent / "site"),
            # Examples that fail here say nothing of the code as it is.
            "HYPOTHESIS_STORAGE_DIRECTORY": scratch,
        }
        code = run(mutant.test, mutant.database, **planted)
        words = broken.read_text() if broken.exists() else ""
    print(f"{time.monotonic() - began:5.0f} s  {mutant.name}", flush=True)
    if words:
        return f"BROKEN: {words}"
    if code == FAILED:
        return "caught"
    return "SURVIVED" if code == 0 else f"NOT RUN: pytest exits with {code}"


def broken_tests(mutants: Sequence[Mutant], pool: Executor) -> Iterator[str]:
    """Yield the tests that fail without any mutant, and so prove nothing."""
    tests = sorted({(m.test, m.database) for m in mutants})
    codes = pool.map(lambda test: run(*test), tests)
    for (test, database), code in zip(tests, codes, strict=True):
        if code:
            yield f"{test} on {database}: pytest exits with {code}"


def chosen(words: Sequence[str], sample: int | None) -> list[Mutant]:
    """Return the mutants whose names contain one of the words; all without any."""
    names = [name for name in MUTANTS if not words or any(w in name for w in words)]
    mutants = [MUTANTS[name] for name in names]
    if sample is None:
        return mutants
    fast = [m for m in mutants if not m.is_slow and m.database == "sqlite"]
    day = f"{datetime.now(UTC):%Y-%m-%d}"
    return random.Random(day).sample(fast, min(sample, len(fast)))


def main() -> int:
    """Try mutants."""
    parser = argparse.ArgumentParser(prog="mutants", description=__doc__)
    parser.add_argument("words", nargs="*", help="parts of names; all by default")
    parser.add_argument(
        "--sample", type=int, help="try so many, chosen by the day; presume sound tests"
    )
    options = parser.parse_args()
    mutants = chosen(options.words, options.sample)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        if options.sample is None and (broken := list(broken_tests(mutants, pool))):
            print("Without any mutant these tests fail:", *broken, sep="\n  ")
            return len(broken)
        results = list(pool.map(verdict, mutants))
    print()
    for result, mutant in zip(results, mutants, strict=True):
        print(f"{result:10} {mutant.name}: {mutant.sentence} ({mutant.test})")
    n_caught = results.count("caught")
    print(f"\n{n_caught} of {len(results)} mutants are caught")
    return len(results) - n_caught


if __name__ == "__main__":
    sys.exit(min(main(), 1))
