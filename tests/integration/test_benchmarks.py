"""Benchmarks that take long run through, at sizes that say nothing."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.conftest import DATABASE
from tests.support.servers.workers import ROOT

WORDS = {
    "rows": "A first build of 1,000 rows",
    "pages": "| 100 pages |",
    "builders": "Pages a second",
}


@pytest.mark.skipif("SOAK" not in os.environ, reason="it runs with SOAK=1")
@pytest.mark.skipif(DATABASE == "mysql", reason="it makes rows of other databases")
@pytest.mark.parametrize("part", WORDS)
def test_how_far_it_goes(part):
    """Each part of it measures something, on a database of its own."""
    if part == "builders" and DATABASE != "postgresql":
        return
    command = [sys.executable, "-m", "tests.benchmarks.scale", "--parts", part]
    command += ["--rows", "1000", "--pages", "100", "--builders", "1", "2"]
    # A server of its own, since the database has the name of that of the tests.
    environment = {k: v for k, v in os.environ.items() if k != "TEST_POSTGRES_URL"}
    done = subprocess.run(
        [*command, "--seconds", "1"],
        cwd=ROOT,
        env=environment | {"TEST_DB": DATABASE},
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.returncode, done.stderr
    assert WORDS[part] in done.stdout
