"""Programs of others agree with this app, and so do their rows, with SOAK set."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

#: The trees of others, their languages, Django's tests, and a package of npm.
PROGRAMS = ["", ".translated", ".django_sitemaps", ".npm_sitemap"]

if "SOAK" in os.environ:  # what they need is fetched

    @pytest.mark.parametrize("program", PROGRAMS)
    def test_a_program_finds_nothing_wrong(program: str) -> None:
        command = [sys.executable, "-m", f"{__package__}{program}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
