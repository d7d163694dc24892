"""Builds show what other packages keep, and edits of it, with SOAK set."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

if "SOAK" in os.environ:  # the packages are installed for it

    @pytest.mark.parametrize("program", ["", ".translated"], ids=["trees", "languages"])
    def test_edits_are_shown_in_time(program: str) -> None:
        """The next build shows each edit, or one two minutes later."""
        command = [sys.executable, "-m", f"{__package__}{program}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
