"""Django's tests of its sitemaps pass with the views of this app, with SOAK set."""

from __future__ import annotations

import os
import subprocess
import sys

if "SOAK" in os.environ:  # the source of Django is fetched for it

    def test_djangos_tests_of_its_sitemaps_pass() -> None:
        """Only the import of the views is another."""
        command = [sys.executable, "-m", f"{__package__}.django_sitemaps"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
