"""Programs of others agree with this app, with SOAK set."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

if "SOAK" in os.environ:  # what they need is fetched

    @pytest.mark.parametrize("program", ["django_sitemaps", "npm_sitemap"])
    def test_a_program_of_others_agrees(program: str) -> None:
        """Django's tests of its sitemaps, and the npm package that checks sitemaps."""
        command = [sys.executable, "-m", f"{__package__}.{program}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
