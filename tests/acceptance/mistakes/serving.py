"""``runserver`` of a project on disk, and what it logs."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.servers.programs import Program, place

from .project import ROOT, Project


@contextmanager
def served(project: Project) -> Iterator[Program]:
    ours = {k: v for k, v in os.environ.items() if not k.startswith("DJANGO_")}
    with place("runserver") as (port, directory):
        command = [sys.executable, str(project.directory / "manage.py"), "runserver"]
        command += ["--noreload", "--skip-checks", f"127.0.0.1:{port}"]
        environment = {**ours, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
        server = Program(
            command, directory=Path(directory), environment=environment, port=port
        )
        with server.started():
            yield server


def logged(server: Program) -> list[str]:
    """Return the lines that it has logged, without those of each request."""
    lines = server.printed().rpartition("Quit the server with CONTROL-C.")[2]
    usual = ("HTTP/1.1", "Service Unavailable:", "Not Found:", "WARNING: This is a")
    lines = lines.partition("/howto/deployment/")[2] or lines
    return [x for x in lines.splitlines() if x and not any(u in x for u in usual)]
