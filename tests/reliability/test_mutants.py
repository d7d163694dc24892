"""The mutants name attributes and tests that there are."""

import subprocess
import sys

import pytest

from . import mutants
from .mutants.planting import MUTANTS, find

assert mutants.builds  # all are registered once they are imported


@pytest.mark.parametrize("name", MUTANTS)
def test_the_attribute_of_a_mutant_exists(name):
    """Where one moves, so does the mutant."""
    find(MUTANTS[name].target)


def test_the_tests_of_mutants_exist():
    """Pytest finds each by its name."""
    tests = sorted({mutant.test for mutant in MUTANTS.values()})
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", *tests]
    found = subprocess.run(command, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout[-2_000:] + found.stderr
