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
from dataclasses import dataclass
from pathlib import Path

TOP = Path(__file__).parents[2]
PACKAGE = "django_sitemaps_plus"
TESTS = "tests/reliability"

#: What pytest exits with where tests ran and some failed.
FAILED = 1

#: Seconds after which a test that hangs counts as failed.
HANG = 900


@dataclass(frozen=True)
class Mutant:
    """A mistake: in a module the one text is replaced by the other."""

    name: str
    module: str
    old: str
    new: str
    test: str
    database: str = "sqlite"


_LOST = f"{TESTS}/test_lost_updates.py"
_DURING = f"{_LOST}::test_changes_during_a_build_are_published"
_FENCING = f"{TESTS}/test_fencing.py"
_SWEEP = f"{TESTS}/test_kill_sweep.py::test_killed_at_any_step"
_GUARD = f"{TESTS}/test_guard.py"

MUTANTS = (
    Mutant(
        "boolean dirty flag: a flip clears every change",
        "building/publisher.py",
        "            built=page.wanted,\n",
        '            built=F("wanted"),\n',
        f"{_DURING}[stored]",
    ),
    Mutant(
        "boolean dirty flag: a dirty page is not marked again",
        "tracking/marking.py",
        "        pages = Page.objects.filter(pk__in=located.pages)\n",
        "        pages = Page.objects.filter(pk__in=located.pages, wanted=F('built')"
        ")\n",
        f"{_DURING}[stored]",
    ),
    Mutant(
        "wanted is read after the build",
        "building/loop.py",
        "        for page, built in flip(results):\n",
        "        for page, _ in results:\n"
        "            page.refresh_from_db(fields=['wanted'])\n"
        "        for page, built in flip(results):\n",
        f"{_DURING}[rows read]",
    ),
    Mutant(
        "lock without fence: a flip asks for no token",
        "building/publisher.py",
        "    mine = Page.objects.filter(pk=page.pk, token=page.token, "
        "built__lt=page.wanted)\n",
        "    mine = Page.objects.filter(pk=page.pk, built__lt=page.wanted)\n",
        f"{_FENCING}::test_a_stopped_builder_publishes_nothing[stored]",
    ),
    Mutant(
        "release without token",
        "building/claims.py",
        "        mine = Page.objects.filter(pk=page.pk, token=page.token)\n"
        "        if counts:\n",
        "        mine = Page.objects.filter(pk=page.pk)\n        if counts:\n",
        f"{_FENCING}::test_giving_up_leaves_the_claim_of_another",
    ),
    Mutant(
        "a flip does not compare versions",
        "building/publisher.py",
        "token=page.token, built__lt=page.wanted)\n",
        "token=page.token)\n",
        f"{_FENCING}::test_a_version_that_is_built_is_not_built_over",
    ),
    Mutant(
        "a page is claimed though another has it",
        "building/claims.py",
        "        taken = free.filter(",
        "        taken = Page.objects.filter(",
        f"{_FENCING}::test_two_builders_never_take_the_same_page",
    ),
    Mutant(
        "no savepoint while a change is recorded",
        "tracking/recording.py",
        "        with transaction.atomic(using=using):\n"
        "            _execute(connection, rows)\n",
        "        _execute(connection, rows)\n",
        f"{TESTS}/test_recording.py",
        database="postgresql",
    ),
    Mutant(
        "index before pages: a dirty index is served",
        "views.py",
        "    is_current = row is not None and row.built == row.wanted\n",
        "    is_current = row is not None and row.built > 0\n",
        f"{_SWEEP}[edits_and_a_split-options1]",
    ),
    Mutant(
        "the old object is deleted before the new one is saved",
        "building/page.py",
        "        name = store_object(",
        "        from django_sitemaps_plus.storage import delete_object\n\n"
        "        if page.object:\n"
        "            delete_object(page.object)\n"
        "        name = store_object(",
        f"{_SWEEP}[edits_and_a_split-options1]",
    ),
    Mutant(
        "objects are written under their final name",
        "storage/filesystem.py",
        'tempfile.mkstemp(prefix=".", dir=target.parent)\n',
        "os.open(target, os.O_WRONLY | os.O_CREAT), str(target)\n",
        f"{_SWEEP}[first_build-options0]",
    ),
    Mutant(
        "one ETag for every encoding",
        "views.py",
        "{content.gzip_hash if is_gzip else content.plain_hash}",
        "{content.plain_hash}",
        f"{TESTS}/test_conditional.py",
    ),
    Mutant(
        "a split leaves its pieces clean",
        "building/reshape.py",
        "            built=1,\n            wanted=2,\n",
        "            built=1,\n            wanted=1,\n",
        f"{_DURING}[inside split]",
    ),
    Mutant(
        "pages are marked by an old plan",
        "tracking/marking.py",
        "        rows = Section.objects.filter(pk=section.pk, plan_version=version)\n",
        "        rows = Section.objects.filter(pk=section.pk)\n",
        f"{_LOST}::test_a_key_located_before_a_split_marks_the_page_that_owns_it",
    ),
    Mutant(
        "no shrink guard",
        "building/guard.py",
        "    if peak >= MIN_ENTRIES and entries <",
        "    if not peak and entries <",
        f"{_GUARD}::TestShrinkGuard",
    ),
    Mutant(
        "a hold that nobody remembers",
        "building/publisher.py",
        "        _hold_sections(held)\n",
        "",
        f"{_SWEEP}[deletions_and_merges-options2]",
    ),
    Mutant(
        "Last-Modified follows a clock that is set back",
        "building/publisher.py",
        'found["published_at"] = _publication_time(page, now)\n',
        'found["published_at"] = now\n',
        f"{TESTS}/test_conditional.py::"
        "test_a_clock_that_is_set_back_makes_no_false_304",
    ),
)


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
    mutants = [m for m in MUTANTS if not words or any(word in m.name for word in words)]
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
