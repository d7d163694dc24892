"""The example project as a site of its own: a database, files and a real server."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.documents import read_index
from tests.support.web import Answer, WebClient

ROOT = Path(__file__).parents[2]

#: The path of the index.
INDEX = "/sitemap.xml"

#: Seconds after which something has hung: ten times what it takes.
HANG = 600 if "SOAK" in os.environ else 150


class Site:
    """One example project on a port of its own."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        # Bound here and handed to the server, so nobody else can take the port.
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.base_url = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        self.environment = {
            **os.environ,
            "ACCEPTANCE_MEDIA_ROOT": str(directory / "media"),
            "BASE_URL": self.base_url,
            "DATABASE_URL": f"sqlite:///{directory / 'db.sqlite3'}",
            "DEBUG": "false",
            "DJANGO_SETTINGS_MODULE": "tests.acceptance.settings",
            "NO_PROXY": "*",
        }

    def run(self, *arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=HANG,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-4_000:]
        return done.stdout

    def manage(self, *arguments: str) -> str:
        return self.run("manage.py", *arguments)

    def load(self, *arguments: str) -> None:
        self.manage("migrate", "--verbosity", "0")
        self.manage("load_atlas", "--verbosity", "0", *arguments)

    def table(self) -> dict[str, str | None]:
        """Return URL and date of every row that should be listed."""
        found: dict[str, str | None] = json.loads(
            self.run("-m", "tests.acceptance.table")
        )
        return found

    def found_by(self, client: str) -> dict[str, str | None]:
        """Return URL and date of every entry that a client finds."""
        found: dict[str, str | None] = json.loads(
            self.run("-m", "tests.acceptance.clients", client, self.base_url)
        )
        return found

    def get(self, url: str, method: str = "GET", **headers: str) -> Answer:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return WebClient(self.base_url, HANG).ask(method, url, named)

    def published(self) -> dict[str, Answer]:
        """Return the index and all pages that it lists, by path."""
        index = self.get(INDEX)
        return {INDEX: index} | {
            url.removeprefix(self.base_url): self.get(url)
            for url in read_index(index.content)
        }

    @contextmanager
    def served(self, application: str = "example_project.wsgi") -> Iterator[Site]:
        """Serve it with gunicorn for the time of a ``with`` block."""
        descriptor = self.socket.fileno()
        configuration = Path(__file__).with_name("server.py")
        options = ["--bind", f"fd://{descriptor}", "--config", str(configuration)]
        with subprocess.Popen(
            [sys.executable, "-m", "gunicorn", *options, application],
            cwd=ROOT,
            env=self.environment,
            pass_fds=[descriptor],
        ) as server:
            try:
                self._await(server)
                yield self
            finally:
                server.terminate()
                server.wait(HANG)

    def close(self) -> None:
        self.socket.close()

    def _await(self, server: subprocess.Popen[Any]) -> None:
        deadline = time.monotonic() + HANG
        while self.get("/about/").status_code != 200:
            assert server.poll() is None, "the server has ended"
            assert time.monotonic() < deadline, "the server does not answer"
            time.sleep(0.05)


def atlas(factory: pytest.TempPathFactory, *arguments: str) -> Path:
    """Return a database with cities to copy; the first process that asks fills it."""
    base = factory.getbasetemp()
    directory = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    directory /= "-".join(["atlas", *arguments])
    directory.mkdir(exist_ok=True)
    database = directory / "db.sqlite3"
    with (directory / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (directory / "filled").exists():
            site = Site(directory)
            site.load(*arguments)
            site.close()
            with closing(sqlite3.connect(database)) as connection:  # into one file
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            (directory / "filled").touch()
    return database


@contextmanager
def built_site(factory: pytest.TempPathFactory, *arguments: str) -> Iterator[Site]:
    """Serve the example project with all of its sitemaps built."""
    site = Site(factory.mktemp("built"))
    shutil.copy(atlas(factory, *arguments), site.directory)
    site.manage("build_sitemaps", "--verbosity", "0")
    with site.served():
        yield site
    site.close()
